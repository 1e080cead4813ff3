"""Flags that no other test exercises: each shows its effect."""

import json

import pytest

import judgelaw.page
from judgelaw.cli import program
from judgelaw.ledger import postgres_schema
from judgelaw.study import open_run
from judgelaw.tables import write_calls
from judgelaw.tensor import VerdictTensor
from judgelaw.worlds import World
from servers.batches import BatchProvider
from servers.provider import Provider, say
from servers.study import chat_judge, simulated_judge, write_study
from support.streams import drawn

WORLD = World.from_effects(prompt=0.01, order=0.02)
QUICK = ("--draws", "60", "--permutations", "0")


@pytest.fixture
def ask(capsys):
    """Run a command in this process; return exit code, stdout and stderr."""

    def call(*words):
        capsys.readouterr()
        code = program._run([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def rows_of(tensor: VerdictTensor, layer: str) -> dict[str, list]:
    columns = {name: [] for name in ("judge", "layer", "item", "prompt", "order", "repeat")}
    columns["verdict"] = []
    for i, item in enumerate(tensor.items):
        for k, prompt in enumerate(tensor.prompts):
            for o, order in enumerate(tensor.orders):
                for r, code in enumerate(tensor.ranked[i, k, o]):
                    values = (tensor.judge, layer, item, prompt, order, r, tensor.verdicts[code])
                    for name, value in zip(columns, values, strict=True):
                        columns[name].append(value)
    return columns


def write(path, *blocks):
    write_calls(path, list(blocks))
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two judges in two layers."""
    blocks = [
        rows_of(drawn(world=WORLD, items=6, repeats=4, judge=judge, seed=seed), layer)
        for seed, (judge, layer) in enumerate(
            (judge, layer) for judge in "ab" for layer in ("evaluation", "reference")
        )
    ]
    return write(tmp_path_factory.mktemp("table") / "calls.parquet", *blocks)


@pytest.fixture(scope="module")
def holed(tmp_path_factory):
    """The same with an item of each judge that was asked once in one cell."""
    blocks = []
    for seed, judge in enumerate("ab"):
        block = rows_of(drawn(world=WORLD, items=6, repeats=4, judge=judge, seed=seed), "audit")
        first = (block["item"][0], block["prompt"][0], block["order"][0])
        cells = list(zip(block["item"], block["prompt"], block["order"], strict=True))
        keep = [i for i, cell in enumerate(cells) if cell != first or block["repeat"][i] == 0]
        blocks.append({name: [values[i] for i in keep] for name, values in block.items()})
    return write(tmp_path_factory.mktemp("holed") / "calls.parquet", *blocks)


@pytest.fixture
def look(ask, monkeypatch, tmp_path):
    """Run one of the four commands that read calls; return its exit code and what it found."""
    shown = []

    def undrawn(report, **_options):
        shown.append(report.document.found)
        return "<html></html>"

    monkeypatch.setattr(judgelaw.page, "build", undrawn)
    given = {
        "analyze": (*QUICK, "--json", "-"),
        "report": (*QUICK, "-o", tmp_path / "report.html"),
        "compare": (*QUICK[:2], "--json", "-"),
        "gate": ("--max", "prompt=0.5", "--json", "-"),
    }

    def call(command, source, *words):
        code, out, _ = ask(command, source, *given[command], *words)
        if command == "report":
            return code, shown.pop() if shown else None
        return code, json.loads(out) if out else None

    return call


def judges_in(found) -> set[str]:
    if "limits" in found:
        return {limit["judge"] for limit in found["limits"]}
    return set(found["judges"])


def prompt_of(found, judge="a") -> float:
    """The prompt estimate of one judge, wherever the command puts it."""
    if "limits" in found:
        return next(limit["estimate"] for limit in found["limits"] if limit["judge"] == judge)
    if "estimates" in found:
        return found["estimates"][judge]["prompt"]
    return found["judges"][judge]["components"]["prompt"]["estimate"]


def truth(table, *, layer="evaluation", repeats=None, design="census") -> float:
    from judgelaw.estimate import decompose

    tensor = VerdictTensor.from_table(table, judge="a", layer=layer, repeats=repeats)
    return float(decompose(tensor, design=design).macro().prompt)


READERS = ("analyze", "report", "compare", "gate")


@pytest.mark.parametrize("command", ["analyze", "report", "compare", "gate"])
def test_the_date_that_is_read_is_the_one_that_was_asked_for(look, command, tmp_path):
    """Two judges on two dates: the latest is read unless told."""
    dates = ("2026-05-03", "2026-05-10")
    blocks = []
    for seed, (judge, date) in enumerate((judge, date) for judge in "ab" for date in dates):
        tensor = drawn(world=WORLD, items=6, repeats=4, judge=judge, seed=seed)
        block = rows_of(tensor, "audit")
        blocks.append(block | {"date": [date] * len(block["item"])})
    path = write(tmp_path / "dated.parquet", *blocks)
    early = prompt_of(look(command, path, "--date", dates[0])[1])
    late = prompt_of(look(command, path)[1])
    assert early != late
    assert late == prompt_of(look(command, path, "--date", dates[1])[1])


@pytest.fixture
def rubric(tmp_path):
    """Two judges and two criteria, with gold."""
    blocks = []
    for seed, (judge, criterion) in enumerate((j, c) for j in "ab" for c in ("zesty", "bland")):
        tensor = drawn(world=WORLD, items=6, repeats=4, judge=judge, seed=seed)
        block = rows_of(tensor, "audit")
        rows = len(block["item"])
        named = {"criterion": [criterion] * rows, "gold": ["candidate_1"] * rows}
        blocks.append(block | named)
    return write(tmp_path / "rubric.parquet", *blocks)


@pytest.mark.parametrize("command", READERS)
def test_the_criterion_that_is_read_is_the_one_that_was_asked_for(command, rubric, look):
    for criterion, other in (("zesty", "bland"), ("bland", "zesty")):
        code, found = look(command, rubric, "--criterion", criterion)
        assert code == 0
        assert criterion in json.dumps(found)
        assert other not in json.dumps(found)
    assert look(command, rubric, "--criterion", "nice")[0] == 2


@pytest.mark.parametrize("command", ["advise", "score"])
def test_advice_and_scores_of_one_criterion(command, rubric, ask):
    code, out, _ = ask(command, rubric, "--criterion", "zesty", "--json", "-")
    assert code == 0
    assert {*json.loads(out)["judges"]["a"]["criteria"]} == {"zesty"}


@pytest.mark.parametrize("command", ["validate", "watch"])
def test_labels_and_dates_are_looked_at_on_one_criterion(command, rubric, ask):
    code, _, said = ask(command, rubric, "--judge", "a")
    assert code == 2
    assert "2 criteria, 'bland', 'zesty', and none is named" in said
    assert ask(command, rubric, "--judge", "a", "--criterion", "zesty")[0] != 2
    assert ask(command, rubric, "--judge", "a", "--criterion", "nice")[0] == 2


ONE_TABLE_TWO_JUDGES = {"compare": ("--judge", "a", "--judge", "b")}


@pytest.mark.parametrize("command", READERS)
def test_judge_reads_that_judge_only(command, table, look):
    asked = ONE_TABLE_TWO_JUDGES.get(command, ("--judge", "a"))
    assert judges_in(look(command, table)[1]) == {"a", "b"}
    assert judges_in(look(command, table, *asked)[1]) == set(asked[1::2])
    assert look(command, table, "--judge", "nobody")[0] == 2


@pytest.mark.parametrize("command", READERS)
def test_layer_repeats_and_design_say_which_calls_and_what_they_are(command, table, look):
    assert prompt_of(look(command, table)[1]) == pytest.approx(truth(table))
    for words, expected in (
        (("--layer", "reference"), truth(table, layer="reference")),
        (("--repeats", "2"), truth(table, repeats=2)),
        (("--design", "sampled"), truth(table, design="sampled")),
    ):
        code, found = look(command, table, *words)
        assert code in {0, 7}
        assert prompt_of(found) == pytest.approx(expected)
        assert prompt_of(found) != pytest.approx(truth(table))


@pytest.mark.parametrize("command", READERS)
def test_incomplete_items_are_dropped_on_demand(command, holed, look):
    assert look(command, holed)[0] == 2
    assert look(command, holed, "--incomplete", "drop")[0] in {0, 7}


@pytest.mark.parametrize("command", ["analyze", "report"])
def test_draws_seed_and_permutations_are_those_that_were_asked_for(command, table, look):
    words = ("--draws", "70", "--seed", "4", "--permutations", "9")
    settings = look(command, table, *words)[1]["settings"]
    assert (settings["draws"], settings["seed"], settings["permutations"]) == (70, 4, 9)


def test_draws_and_seed_move_the_bands_of_a_comparison_and_nothing_else(table, look):
    found = [look("compare", table, *words)[1] for words in ((), ("--seed", "1"), ("--draws", 90))]
    assert len({str(f["differences"][0]["band"]) for f in found}) == 3
    assert len({f["differences"][0]["estimate"] for f in found}) == 1


def test_a_gate_of_a_lower_level_has_a_lower_upper_bound(table, look):
    sure, less = (look("gate", table, "--level", level)[1]["limits"][0] for level in (0.99, 0.8))
    assert (sure["level"], less["level"]) == (0.99, 0.8)
    assert less["upper"] < sure["upper"]


def test_a_page_has_the_title_and_the_place_that_were_asked_for(table, ask, monkeypatch, tmp_path):
    monkeypatch.setattr(judgelaw.page, "build", lambda *_, title, **__: title)
    target = tmp_path / "mine.html"
    words = ("--title", "On a Monday", "--output", target, *QUICK)
    assert ask("report", table, *words)[0] == 0
    assert target.read_text() == "On a Monday"


def test_version_and_help(ask):
    assert ask("--version")[1].strip() == f"judgelaw, version {judgelaw.__version__}"
    for flag in ("--help", "-h"):
        assert "Commands:" in ask(flag)[1]


def test_audit_puts_the_run_where_it_is_told(tmp_path, ask, monkeypatch):
    monkeypatch.setattr(judgelaw.page, "build", lambda *_, **__: "page")
    study = write_study(tmp_path, [simulated_judge()], analysis={"draws": 50, "permutations": 9})
    code, out, _ = ask("audit", study, "--out", tmp_path / "there")
    assert code == 0
    assert (tmp_path / "there" / "report.html").read_text() == "page"
    assert out.splitlines()[-1] == f"report: {tmp_path / 'there' / 'report.html'}"


def test_tables_and_texts_are_there_as_asked(tmp_path, ask):
    """`audit` writes no table unless told, and a page with or without what was asked and said."""
    study = write_study(tmp_path, [simulated_judge()], analysis={"draws": 50, "permutations": 9})
    run = tmp_path / "run"
    assert ask("audit", study, "--out", run)[0] == 0
    assert not (run / "tables").exists()
    assert 'id="questions"' in (run / "report.html").read_text()
    assert 'id="text-0-0"' in (run / "report.html").read_text()
    assert ask("audit", study, "--out", run, "--tables", "--without-texts")[0] == 0
    assert (run / "tables" / "components.csv").is_file()
    for words in (("audit", study, "--out", run), ("report", run)):
        assert ask(*words, "--without-texts")[0] == 0
        page = (run / "report.html").read_text()
        assert 'id="questions"' not in page
        assert 'id="text-0-0"' not in page
    assert ask("verify", run)[0] == 0


def test_audit_writes_the_analysis_as_json(tmp_path, ask):
    study = write_study(tmp_path, [simulated_judge()], analysis={"draws": 50, "permutations": 9})
    code, out, err = ask("audit", study, "--json", "-")
    assert code == 0
    assert json.loads(out)["schema"] == "judgelaw.analysis/1"
    assert "16 calls are done" in err
    _, again, _ = ask("audit", study, "--json", tmp_path / "analysis.json")
    assert "report: " in again
    assert json.loads((tmp_path / "analysis.json").read_text()) == json.loads(out)


def test_quiet_leaves_only_the_answer(tmp_path, ask):
    """Before the name of a command and after it; an error is told all the same."""
    analysis = {"draws": 50, "permutations": 9}
    for number, words in enumerate((("-q", "audit"), ("audit", "--quiet"))):
        study = write_study(tmp_path / str(number), [simulated_judge()], analysis=analysis)
        code, out, err = ask(*words, study)
        assert (code, err) == (0, "")
        assert out.splitlines()[-1].startswith("report: ")
    code, _, err = ask("-q", "audit", tmp_path / "nothing.yaml")
    assert code == 2
    assert "nothing.yaml" in err


def test_verbose_shows_the_log(tmp_path, ask):
    study = write_study(tmp_path, [simulated_judge()], analysis={"draws": 50, "permutations": 9})
    assert "info: sim: 16 of 16 calls are open" in ask("audit", study, "--verbose")[2]
    assert "info: sim: 0 of 16 calls are open" in ask("-v", "audit", study)[2]
    assert "info:" not in ask("audit", study)[2], "the log is heard until the command ends"


@pytest.mark.parametrize("there", [True, False])
def test_a_page_is_opened_in_a_browser_where_there_is_one(table, tmp_path, ask, monkeypatch, there):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or there)
    page = tmp_path / "page.html"
    code, out, err = ask("report", table, "--judge", "a", "-o", page, "--open", *QUICK)
    assert (code, out) == (0, f"{page}\n")
    assert opened == [page.as_uri()]
    assert ("no browser was found" in err) is not there


def test_check_shows_json_and_probes_only_when_asked(tmp_path, ask):
    with Provider(say("B")) as provider:
        study = write_study(tmp_path, [chat_judge(provider.base_url)])
        assert json.loads(ask("check", study, "--json", "-")[1])["calls"] == 16
        assert not provider.seen
        assert ask("check", study, "--probe")[0] == 0
        assert len(provider.seen) == 1


def test_plan_takes_the_latency_of_a_call(tmp_path, ask):
    study = write_study(tmp_path, [simulated_judge()], transport={"concurrency": 1})
    seconds = [
        json.loads(ask("plan", study, "--latency", s, "--json", "-")[1])["judges"]["sim"]["seconds"]
        for s in (0.5, 2.0)
    ]
    assert seconds == [pytest.approx(8), pytest.approx(32)]


def test_cancelled_batches_are_not_submitted(tmp_path, ask):
    with BatchProvider() as provider:
        judge = chat_judge(provider.base_url, batch={"chunk": 8, "poll_s": 1})
        study = write_study(tmp_path, [judge])
        code, _, err = ask("run", study, "--out", tmp_path / "run", "--cancel-batches")
        assert code == 3, err
        assert not provider.batches
        assert "16 open" in err


@pytest.mark.parametrize(
    ("command", "target"),
    [("run", "acquire_shared"), ("worker", "work_on")],
)
def test_the_lease_reaches_the_session(command, target, tmp_path, ask, monkeypatch):
    leases = []

    def shared(*_arguments, lease_s, **_options):
        leases.append(lease_s)
        raise KeyboardInterrupt

    monkeypatch.setattr(f"judgelaw.acquire.{target}", shared)
    monkeypatch.setattr(postgres_schema.Address, "wait_until_up", lambda *_: None)
    study = write_study(tmp_path, [simulated_judge()])
    words = {"run": (study,), "worker": ("--run", "small")}[command]
    ledger = ("--ledger", "postgresql://me@127.0.0.1:1/none")
    assert ask(command, *words, *ledger, "--lease", "7")[0] == 130
    assert leases == [7.0]


def test_extend_raises_one_layer_or_the_prompts_of_a_generator(tmp_path, ask):
    layers = [{"name": "audit", "role": "audit"}, {"name": "reference", "role": "reference"}]
    generator = {"policy": "generator", "count": 3}
    study = write_study(tmp_path, [simulated_judge()], layers=layers, prompts=generator)
    run = tmp_path / "run"
    assert ask("run", study, "--out", run)[0] == 0
    assert open_run(run).count == 2 * 3 * 2 * 2 * 2
    assert ask("extend", run, "--repeats", "3", "--layer", "reference")[0] == 0
    assert open_run(run).count == 48 + 12
    assert ask("extend", run, "--prompts", "4")[0] == 0
    assert open_run(run).count == 60 // 3 * 4


def test_another_terminal_rule_reads_what_was_cut(tmp_path, ask):
    with Provider(say("A", finish="length")) as provider:
        study = write_study(tmp_path, [chat_judge(provider.base_url)], items=1)
        assert ask("run", study, "--out", tmp_path / "run")[0] == 0
    words = ("reparse", tmp_path / "run", "--parser", "first-line", "--json", "-")
    assert json.loads(ask(*words)[1])["judges"]["chat"]["changed"] == 0
    changed = json.loads(ask(*words, "--truncated", "parse")[1])["judges"]["chat"]["changes"]
    assert {c["from"] for c in changed} == {"invalid"}
    assert sum(c["count"] for c in changed) == 8


LOG = """\
who,where,thing,way,shown,n,kind,right,said,text
me,one,i1,p1,AB,0,easy,A,A,"A"
me,one,i1,p1,AB,1,easy,A,B,"B"
me,two,i1,p1,AB,0,easy,A,A,"TIE"
"""
NAMED = {
    "judge": "who",
    "layer": "where",
    "item": "thing",
    "prompt": "way",
    "order": "shown",
    "repeat": "n",
    "stratum": "kind",
    "gold": "right",
}


@pytest.fixture
def imported(tmp_path, ask):
    """Import the log with these words; return the rows of the table."""
    (tmp_path / "log.csv").write_text(LOG)

    def call(*words):
        import duckdb

        out = tmp_path / "out.parquet"
        code, _, err = ask("import", "--from", "csv", tmp_path / "log.csv", "-o", out, *words)
        assert code == 0, err
        read = duckdb.read_parquet(str(out))
        return [dict(zip(read.columns, row, strict=True)) for row in read.fetchall()]

    return call


def test_fields_of_a_log_are_named_one_by_one(imported):
    """--judge --layer --item --prompt --order --repeat --stratum --gold --verdict."""
    words = [word for name, field in NAMED.items() for word in (f"--{name}", field)]
    rows = imported(*words, "--verdict", "said")
    assert rows[1] == {
        "judge": "me",
        "layer": "one",
        "item": "i1",
        "stratum": "easy",
        "prompt": "p1",
        "order": "AB",
        "repeat": 1,
        "verdict": "candidate_2",
        "gold": "candidate_1",
    }
    assert [row["layer"] for row in rows] == ["one", "one", "two"]


def test_the_completion_may_stand_in_a_field_of_its_own(imported):
    words = [word for name, field in NAMED.items() for word in (f"--{name}", field)]
    rows = imported(*words, "--text", "text", "--parser", "first-line")
    assert [row["verdict"] for row in rows] == ["candidate_1", "candidate_2", "tie"]


def batch_line(custom_id: str, text: str, finish: str) -> str:
    choice = {"index": 0, "message": {"content": text}, "finish_reason": finish}
    body = {"id": custom_id, "model": "m", "choices": [choice]}
    return json.dumps({"custom_id": custom_id, "response": {"status_code": 200, "body": body}})


def test_custom_ids_of_a_batch_are_read_as_described_and_cut_answers_on_demand(tmp_path, ask):
    log, out = tmp_path / "batch.jsonl", tmp_path / "out.parquet"
    lines = [batch_line(f"p1~i1~AB~{n}", "A", f) for n, f in enumerate(("stop", "length"))]
    log.write_text("\n".join(lines))
    words = ("import", "--from", "openai-batch", log, "--parser", "first-line", "-o", out)
    pattern = r"(?P<prompt>\w+)~(?P<item>\w+)~(?P<order>AB|BA)~(?P<repeat>\d)"
    for rule, expected in (("invalid", 1), ("parse", 0)):
        code, shown, err = ask(*words, "--custom-id", pattern, "--truncated", rule, "--json", "-")
        assert code == 0, err
        (judge,) = json.loads(shown)["judges"]
        assert (judge["calls"], judge["outcomes"].get("invalid", 0)) == (2, expected)


SIMULATIONS = {
    "point": ("--items", "60"),
    "decision": ("--datasets", "12", "--items", "4", "--prompts", "3"),
    "panel": ("--experiments", "6", "--items", "4"),
    "sampled": ("--datasets", "6", "--items", "3", "--prompts", "4", "--repeats", "3"),
    "custom": ("--items", "50"),
}


@pytest.mark.parametrize("study", SIMULATIONS)
def test_sizes_and_seeds_of_simulations_are_those_that_were_asked_for(study, ask, tmp_path):
    """--items --datasets --experiments --prompts --repeats --seed --json."""
    world = tmp_path / "world.yaml"
    world.write_text("prompts: 3\n")
    where = (world,) if study == "custom" else ()
    sizes = SIMULATIONS[study]

    def found(*words):
        code, out, err = ask("simulate", study, *where, *sizes, *words, "--json", "-")
        assert code == 0, err
        return json.loads(out)

    first, again, other = found("--seed", "1"), found("--seed", "1"), found("--seed", "2")
    assert first == again
    assert first["rows"] != other["rows"]
    for flag, value in zip(sizes[::2], sizes[1::2], strict=True):
        name = flag.removeprefix("--")
        held = {**first["rows"][0], **first}.get(name)
        assert held in (int(value), [int(value)]), f"{flag} {value}: {held}"


def test_a_simulation_of_sampled_prompts_has_a_truth_and_a_family(ask):
    def rows(*words):
        sizes = SIMULATIONS["sampled"]
        return json.loads(ask("simulate", "sampled", *sizes, *words, "--json", "-")[1])["rows"]

    assert rows("--truth", "0.01")[0]["truth"] == pytest.approx(0.01)
    assert rows("--family", "skewed") != rows("--family", "uniform")


def test_a_rule_has_its_threshold(ask):
    def rows(tau):
        sizes = SIMULATIONS["decision"]
        return json.loads(ask("simulate", "decision", *sizes, "--tau", tau, "--json", "-")[1])

    assert rows("0.01")["rows"] != rows("0.05")["rows"]


def test_the_simulated_figure_stands_on_a_page(ask, tmp_path):
    page = tmp_path / "point.html"
    assert ask("simulate", "point", "--items", "60", "--html", page)[0] == 0
    assert "<svg" in page.read_text()


PAPER = ("--items", "400", "--datasets", "40", "--experiments", "10")


def test_the_paper_shows_what_agrees_too_and_takes_a_seed(ask):
    """--all --seed --items --datasets --experiments."""
    short = ask("paper", *PAPER)[1]
    assert len(ask("paper", *PAPER, "--all")[1].splitlines()) > len(short.splitlines())
    one, two = (
        [
            f["found"]
            for f in json.loads(ask("paper", *PAPER, "--seed", s, "--json", "-")[1])["findings"]
        ]
        for s in ("1", "2")
    )
    assert one != two


def test_prompts_of_a_comparison_are_chosen(table, look):
    tensor = VerdictTensor.from_table(table, judge="a", layer="evaluation")
    chosen = [word for prompt in tensor.prompts[:2] for word in ("--prompt", prompt)]
    assert prompt_of(look("compare", table, *chosen)[1]) != pytest.approx(truth(table))
