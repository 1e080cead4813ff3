"""`judgelaw import`: a table in a file, what it can tell on stdout."""

import json

import pytest

from judgelaw.cli import main
from support.imports import FIXTURES

LOG = str(FIXTURES / "inspect-pairs.eval")
BATCH = str(FIXTURES / "openai-batch.jsonl")


@pytest.fixture
def judgelaw(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*argv):
        with pytest.raises(SystemExit) as stop:
            main(list(argv))
        captured = capsys.readouterr()
        return stop.value.code or 0, captured.out, captured.err

    return run


def test_a_log_becomes_a_table_that_is_analysed(judgelaw):
    code, out, err = judgelaw("import", "--from", "inspect", LOG, "--parser", "first-line")
    assert code == 0
    assert out.splitlines() == [
        (
            "openai-api/local/judge-1: 2 items x 2 prompts x 2 orders, 3 repeats in each cell, "
            "24 calls."
        ),
        "  identified: call, prompt, order, interaction, total",
        "  missing: an exact error of the calls: it needs 4 repeats (inspect eval --epochs 4)",
    ]
    assert err == "24 calls in calls.parquet; next: judgelaw analyze calls.parquet\n"
    code, out, _ = judgelaw("analyze", "calls.parquet", "--json", "-", "--permutations", "9")
    judge = json.loads(out)["judges"]["openai-api/local/judge-1"]
    assert (judge["items"], judge["prompts"], judge["orders"], judge["repeats"]) == (2, 2, 2, 3)


def test_a_table_that_nobody_named_is_not_written_over(judgelaw, tmp_path):
    (tmp_path / "calls.parquet").write_text("mine")
    command = ("import", "--from", "openai-batch", BATCH, "--parser", "first-line")
    code, _, err = judgelaw(*command)
    assert (code, (tmp_path / "calls.parquet").read_text()) == (2, "mine")
    assert "-o FILE" in err
    assert judgelaw(*command, "-o", "calls.parquet")[0] == 0


def test_json_says_the_same(judgelaw):
    command = ("import", "--from", "openai-batch", BATCH, "--parser", "first-line")
    code, out, _ = judgelaw(*command, "-o", "b.csv", "--json", "-")
    found = json.loads(out)
    assert (code, found["schema"], found["table"]) == (0, "judgelaw.import/1", "b.csv")
    (judge,) = found["judges"]
    assert judge["repeats"] == [3, 3]
    assert judge["prompts"] == ["plain", "terse"]
    assert sum(judge["outcomes"].values()) == judge["calls"] == 24


def test_copies_end_with_an_error_unless_one_of_each_is_asked_for(judgelaw, tmp_path):
    log = str(FIXTURES / "inspect-cached.eval")
    command = ("import", "--from", "inspect", log, "--parser", "first-line")
    code, out, err = judgelaw(*command)
    assert (code, out) == (2, "")
    assert "8 of 12 calls are copies of other responses, not repeats" in err
    assert not (tmp_path / "calls.parquet").exists()
    code, out, _ = judgelaw(*command, "--drop-copies")
    assert code == 0
    assert "left out: 8 copies of other responses" in out
    assert "with one call in a cell no component is identified" in out
    code, out, _ = judgelaw("analyze", "calls.parquet", "--json", "-")
    (judge,) = json.loads(out)["judges"].values()
    assert judge["components"]["call"] is None, "and analysis says no more"


def test_fields_labels_orders_and_choices_come_from_options(judgelaw, tmp_path):
    (tmp_path / "raw.csv").write_text(
        "item,prompt,shown,winner,run\n"
        + "".join(f"i,p,{o},{w},1\n" for o in ("as-is", "swapped") for w in ("[[A]]", "[[C]]"))
        + "i,p,as-is,[[A]],0\n"
    )
    code, out, _ = judgelaw(
        *("import", "--from", "csv", "raw.csv", "--judge", "=me", "--order", "shown"),
        *("--verdict", "winner", "--label", "[[A]]=A", "--label", "[[C]]=TIE"),
        *("--map-order", "as-is=AB", "--map-order", "swapped=BA", "--where", "run=1"),
        *("--repeat", "run", "--json", "-"),
    )
    assert code == 2, "ranks that are stated twice are refused"
    code, out, _ = judgelaw(
        *("import", "--from", "csv", "raw.csv", "--judge", "=me", "--order", "shown"),
        *("--verdict", "winner", "--label", "[[A]]=A", "--label", "[[C]]=TIE"),
        *("--map-order", "as-is=AB", "--map-order", "swapped=BA", "--where", "run=1"),
        *("--json", "-"),
    )
    (judge,) = json.loads(out)["judges"]
    assert code == 0
    assert judge["judge"] == "me"
    assert judge["outcomes"] == {"candidate_1": 1, "candidate_2": 1, "tie": 2}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--label", "A"), "'A': write VALUE=MEANING"),
        (("--map-order", "=AB"), "write VALUE=MEANING"),
        (("--parser", "last-line"), "write first-line"),
        (("--custom-id", "x"), "inspect logs have no custom_id"),
        (("--order", "metadata.ordr"), "did you mean 'metadata.order'?"),
    ],
)
def test_bad_options_are_usage_errors(judgelaw, options, words):
    parser = () if "--parser" in options else ("--parser", "first-line")
    code, _, err = judgelaw("import", "--from", "inspect", LOG, *parser, *options)
    assert code == 2
    assert words in " ".join(err.split())


def test_help_has_an_example_for_every_way_in(judgelaw):
    code, out, _ = judgelaw("import", "--help")
    assert code == 0
    assert out.count("judgelaw import --from") == 4
