"""What an import forgives, and what it refuses with the option that helps."""

import json
import shlex
import shutil

import pytest
from click.testing import CliRunner

from judgelaw.cli.program import cli
from judgelaw.errors import InputError, TableError
from judgelaw.tables import read_tensor, write_calls
from judgelaw.tables.importers import Rules, detect, import_log
from support.imports import FIXTURES

HEAD = "judge,item,prompt,order,verdict\n"


def write(path, *rows, head=HEAD):
    path.write_text(head + "".join(f"{row}\n" for row in rows))
    return path


def letters(path):
    return write(path, *(f"j,i,p,{o},{v}" for o in ("AB", "BA") for v in ("A", "B", "A")))


def test_letters_under_several_orders_are_refused_until_somebody_says_what_they_are(tmp_path):
    path = letters(tmp_path / "raw.csv")
    with pytest.raises(TableError) as error:
        import_log("csv", [path])
    said = str(error.value)
    assert f"{path}:2: " in said
    assert "--positions A,B" in said
    assert "--label A=candidate_1 --label B=candidate_2" in said
    restored = import_log("csv", [path], rules=Rules(positions=("A", "B"))).columns["verdict"]
    assert restored == [f"candidate_{n}" for n in (1, 2, 1, 2, 1, 2)]
    named = Rules(labels={"A": "candidate_1", "B": "candidate_2"})
    assert import_log("csv", [path], rules=named).columns["verdict"][3] == "candidate_1"


def test_an_order_is_known_by_what_it_says_and_one_refusal_names_both_options(tmp_path):
    head = "judge,item,prompt,shown,verdict\n"
    path = write(tmp_path / "raw.csv", "j,i,p,AB,A", "j,i,p,BA,B", head=head)
    with pytest.raises(TableError, match="several orders"):
        import_log("csv", [path])
    write(path, "j,i,p,AB,A", "j,i,p,BA,", head=head)
    with pytest.raises(
        TableError, match=r"(?s)--blank drop.*turn them into candidates: --positions A,B"
    ):
        import_log("csv", [path])


def test_words_for_positions_are_understood(tmp_path):
    rows = [f"j,i,p,{o},{v}" for o in ("AB", "BA") for v in ("First", "second", "draw")]
    rules = Rules(positions=("first", "second", "draw"))
    columns = import_log("csv", [write(tmp_path / "raw.csv", *rows)], rules=rules).columns
    assert columns["verdict"] == [
        *("candidate_1", "candidate_2", "tie"),
        *("candidate_2", "candidate_1", "tie"),
    ]


def test_a_parser_needs_no_positions():
    with pytest.raises(InputError, match="leave --positions out"):
        Rules(parser="first-line", positions=("A", "B"))


def test_an_imported_table_equals_the_one_that_was_read_with_positions(tmp_path):
    rows = [
        f"j,i{n},p{p},{o},{'AB'[(n + p + r) % 2]}"
        for n in range(3)
        for p in range(2)
        for o in ("AB", "BA")
        for r in range(2)
    ]
    raw = write(tmp_path / "raw.csv", *rows)
    imported = import_log("csv", [raw], rules=Rules(positions=("A", "B")))
    write_calls(tmp_path / "calls.parquet", imported.columns)
    ranked = [f"{row},{place % 2}" for place, row in enumerate(rows)]
    table = write(tmp_path / "table.csv", *ranked, head=HEAD[:-1] + ",repeat\n")
    direct = read_tensor(table, positions=("A", "B"))
    assert (read_tensor(tmp_path / "calls.parquet").counts == direct.counts).all()


@pytest.mark.parametrize("blank", ["", "  ", "NaN", "null"])
def test_blanks_are_refused_counted_or_left_out(tmp_path, blank):
    path = write(tmp_path / "raw.csv", "j,i,p,AB,candidate_1", f"j,i,p,AB,{blank}")
    with pytest.raises(TableError, match=r"raw.csv:3: the verdict .*is empty.*--blank invalid"):
        import_log("csv", [path])
    counted = import_log("csv", [path], rules=Rules(blank="invalid"))
    assert counted.columns["verdict"] == ["candidate_1", "invalid"]
    left = import_log("csv", [path], rules=Rules(blank="drop"))
    assert left.columns["verdict"] == ["candidate_1"]
    assert left.survey.not_calls == ("rows without a verdict: 1",)
    field = Rules(fields={"verdict": "verdict"})
    with pytest.raises(TableError, match="--blank invalid or --blank drop"):
        import_log("csv", [path], rules=field)
    named = Rules(fields={"verdict": "verdict"}, blank="invalid")
    assert import_log("csv", [path], rules=named).columns["verdict"][1] == "invalid"


def test_gold_is_checked_when_it_comes_in(tmp_path):
    path = write(
        tmp_path / "raw.csv",
        "j,i,p,AB,candidate_1,candidate_1",
        "j,k,p,AB,candidate_2,the second one",
        head=HEAD[:-1] + ",gold\n",
    )
    with pytest.raises(TableError, match=r"raw.csv:3: gold 'the second one' is no verdict"):
        import_log("csv", [path])


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("inspect-pairs.eval", "inspect"),
        ("inspect-pairs.json", "inspect"),
        ("promptfoo-fresh.json", "promptfoo"),
        ("openai-batch.jsonl", "openai-batch"),
        ("anthropic-batch.jsonl", "anthropic-batch"),
        ("lm-eval", "lm-eval"),
    ],
)
def test_the_tool_is_told_by_what_it_wrote(name, tool):
    assert detect(FIXTURES / name) == tool


def test_what_nobody_can_tell_is_asked_for(tmp_path):
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(InputError, match="nothing tells what wrote it; it has the fields 'a'") as e:
        detect(tmp_path / "x.json")
    assert "read with --from csv --verdict FIELD; else say what it is, --from inspect" in str(
        e.value
    )
    letters(tmp_path / "raw.csv")
    shutil.copy(FIXTURES / "openai-batch.jsonl", tmp_path)
    with pytest.raises(InputError, match="holds logs of csv and openai-batch: say which"):
        detect(tmp_path)


def test_a_folder_of_logs_is_read_whole(tmp_path):
    log = json.loads((FIXTURES / "inspect-pairs.json").read_text())
    first, second = tmp_path / "a.json", tmp_path / "deep" / "b.json"
    second.parent.mkdir()
    half = len(log["samples"]) // 2
    first.write_text(json.dumps({**log, "samples": log["samples"][:half]}))
    second.write_text(json.dumps({**log, "samples": log["samples"][half:]}))
    (tmp_path / "notes.txt").write_text("nothing")
    rules = Rules(parser="first-line")
    whole = import_log("inspect", [tmp_path], rules=rules).survey.judges[0].calls
    assert whole == len(log["samples"])
    with pytest.raises(TableError, match="no log of promptfoo is in this folder"):
        import_log("promptfoo", [tmp_path], rules=rules)


@pytest.mark.parametrize("suffix", ["csv", "yaml", "html"])
def test_other_exports_of_promptfoo_are_refused_with_the_command_that_helps(tmp_path, suffix):
    path = tmp_path / f"out.{suffix}"
    path.write_text("x")
    with pytest.raises(TableError, match=r"promptfoo eval -o results.json.*promptfoo export eval"):
        import_log("promptfoo", [path])


def test_the_command_restores_positions_and_counts_blanks(tmp_path):
    rows = [f"j,i,p,{o},{v}" for o in ("AB", "BA") for v in ("A", "B", "")]
    path, out = write(tmp_path / "raw.csv", *rows), tmp_path / "calls.parquet"
    options = ["--positions", "A,B", "--blank", "invalid", "-o", str(out)]
    done = CliRunner().invoke(cli, ["import", str(path), *options])
    assert done.exit_code == 0, done.output
    counts = read_tensor(out, incomplete="error").counts
    assert counts.sum(axis=(0, 1, 2)).tolist() == [2, 2, 0, 2]


def test_words_are_mapped_by_what_they_say_and_the_advice_works_when_copied(tmp_path):
    rows = [f"j,i,p,{o},{v}" for o in ("AB", "BA") for v in ("first", "second", "error", "draw")]
    path = write(tmp_path / "raw.csv", *rows)
    with pytest.raises(TableError) as error:
        import_log("csv", [path])
    shown, named = str(error.value).partition("turn them into candidates: ")[2].split("; if they")
    run = CliRunner(catch_exceptions=False).invoke
    for words, expected in (
        (shown, ["candidate_1", "candidate_2", "candidate_2", "candidate_1"]),
        (named.partition("say which:")[2], ["candidate_1", "candidate_2"] * 2),
    ):
        out = tmp_path / f"{len(words)}.csv"
        done = run(cli, ["import", str(path), "-o", str(out), *shlex.split(words)])
        assert done.exit_code == 0, done.output
        verdicts = [line.split(",")[-1] for line in out.read_text().splitlines()[1:]]
        assert [v for v in verdicts if v.startswith("candidate")] == expected
        assert verdicts.count("invalid") == verdicts.count("tie") == 2


def test_a_word_is_named_as_the_file_spells_it(tmp_path):
    path = write(tmp_path / "raw.csv", "j,i,p,AB,A", "j,i,p,BA,B", "j,i,p,BA,error", "j,i,p,BA,Odd")
    rules = Rules(positions=("A", "B"))
    with pytest.raises(TableError, match="verdict 'Odd' stands beside the positions") as error:
        import_log("csv", [path], rules=rules)
    assert "--label Odd=tie (or =invalid" in str(error.value), "error is known to be no verdict"
    labels = {"Odd": "tie"}
    found = import_log("csv", [path], rules=Rules(positions=("A", "B"), labels=labels))
    assert found.columns["verdict"] == ["candidate_1", "candidate_1", "invalid", "tie"]


def test_winners_that_were_restored_are_not_turned_again(tmp_path):
    head = HEAD[:-1] + ",gold\n"
    right = [f"j,i{n},p,{o},{'AB'[n % 2]},{'AB'[n % 2]}" for n in range(40) for o in ("AB", "BA")]
    path = write(tmp_path / "raw.csv", *right, head=head)
    with pytest.raises(TableError, match="40 of 40 calls in the order AB, and in 0 of 40") as error:
        import_log("csv", [path], rules=Rules(positions=("A", "B")))
    assert str(error.value).endswith("--label A=candidate_1 --label B=candidate_2")
    named = Rules(labels={"A": "candidate_1", "B": "candidate_2"})
    columns = import_log("csv", [path], rules=named).columns
    both = [*2 * ["candidate_1"], *2 * ["candidate_2"]]
    assert columns["verdict"] == columns["gold"] == 20 * both


def test_positions_that_gold_agrees_with_in_both_orders_are_turned(tmp_path):
    head = HEAD[:-1] + ",gold\n"
    shown = [
        f"j,i{n},p,{o},{'AB'[(n + (o == 'BA')) % 2]},{'AB'[n % 2]}"
        for n in range(40)
        for o in ("AB", "BA")
    ]
    path = write(tmp_path / "raw.csv", *shown, head=head)
    columns = import_log("csv", [path], rules=Rules(positions=("A", "B"))).columns
    both = [*2 * ["candidate_1"], *2 * ["candidate_2"]]
    assert columns["verdict"] == columns["gold"] == 20 * both
