"""`init`, `check`, `schema` and `extend` as people call them."""

import json
from pathlib import Path

import jsonschema
import pytest

from judgelaw.cli import main
from judgelaw.cli.init import PROVIDERS, TASKS
from judgelaw.replication import protocol_files
from judgelaw.replication.paper_protocol import STRATA
from judgelaw.study import freeze, load_study, open_run, preview
from judgelaw.study.problems import read_yaml
from servers.provider import Provider, say
from servers.study import simulated_judge, write_study

EXAMPLES = Path(__file__).parents[3] / "examples"
PAIRS = EXAMPLES / "pairs/study.yaml"

SIMULATED = """\
version: 1
name: known
seed: 1
items: {source: jsonl, path: items.jsonl}
prompts: paper-six
repeats: 3
judges:
  - name: known
    provider: simulated
    model: law
    law: {verdicts: {candidate_1: 1}}
"""


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    out, err = capsys.readouterr()
    return stop.value.code or 0, out, err


@pytest.fixture
def known(tmp_path) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(SIMULATED)
    item = {"id": "a", "instruction": "q", "candidate_1": "x", "candidate_2": "y"}
    (tmp_path / "items.jsonl").write_text(json.dumps(item) + "\n")
    return path


def test_init_writes_the_papers_protocol(tmp_path, capsys):
    path = tmp_path / "new" / "study.yaml"
    code, out, _ = run(capsys, "init", "--study", "paper", "--out", str(path))
    assert code == 0
    assert "live.yaml" in out
    example = Path(__file__).parents[3] / "examples/paper"
    for name in ("study.yaml", "live.yaml", "items.jsonl"):
        assert (path.parent / name).read_bytes() == (example / name).read_bytes()
    code, out, _ = run(capsys, "check", str(path))
    assert code == 0
    assert "44,112 calls" in out or "44112 calls" in out
    code, _, err = run(capsys, "init", "--study", "paper", "--out", str(path))
    assert code == 2
    assert "exists" in err
    _, schema, _ = run(capsys, "schema")
    for name in ("study.yaml", "live.yaml"):
        jsonschema.validate(read_yaml((path.parent / name).read_text()).data, json.loads(schema))


def test_the_live_protocol_plans_the_papers_calls(tmp_path):
    """With LLMBar and the templates in their places, which are not ours to ship."""
    _, live, _ = protocol_files().values()
    (tmp_path / "live.yaml").write_text(live)
    (tmp_path / "llmbar").mkdir()
    row = {"input": "q", "output_1": "x", "output_2": "y", "label": 1}
    for subset, count in STRATA.items():
        (tmp_path / "llmbar" / f"{subset}.json").write_text(json.dumps([row] * count))
    text = "{% for m in messages %}{{ m.content }}{% endfor %}"
    for judge in ("qwen", "gpt-oss", "gemma"):
        (tmp_path / "templates" / judge).mkdir(parents=True)
        (tmp_path / "templates" / judge / "chat_template.jinja").write_text(text)
    config = json.dumps({"chat_template": "<bos>" + text, "bos_token": "<bos>"})
    (tmp_path / "templates/gemma/tokenizer_config.json").write_text(config)
    planned = preview(load_study(tmp_path / "live.yaml")).planned
    assert sum(block.count for block in planned) == 44_112
    assert {b.judge.name: b.count for b in planned if b.layer.name == "panel"} == {
        "gpt-oss": 2_400,
        "gemma": 2_400,
        "claude": 2_400,
    }


@pytest.mark.parametrize("provider", PROVIDERS)
def test_init_writes_a_study_that_passes_check_and_schema(tmp_path, capsys, provider):
    path = tmp_path / "my study" / "study.yaml"
    code, out, _ = run(capsys, "init", "--provider", provider, "--out", str(path))
    assert code == 0
    assert f"wrote {path}" in out
    code, out, _ = run(capsys, "check", str(path))
    assert code == 0
    assert "96 calls" in out
    _, schema, _ = run(capsys, "schema")
    jsonschema.validate(read_yaml(path.read_text()).data, json.loads(schema))
    assert load_study(path).study.name == "my-study"


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("provider", ["embedded", "anthropic"])
def test_init_writes_a_study_of_every_task_that_passes_check_and_schema(
    tmp_path, capsys, task, provider
):
    path = tmp_path / "study.yaml"
    asked = ("--task", task, "--provider", provider, "--out", str(path))
    assert run(capsys, "init", *asked)[0] == 0
    code, out, _ = run(capsys, "check", str(path))
    assert code == 0
    assert " calls" in out
    _, schema, _ = run(capsys, "schema")
    jsonschema.validate(read_yaml(path.read_text()).data, json.loads(schema))
    grammar = load_study(path).study.judges[0].grammar
    assert (grammar is not None) is (provider == "embedded")


@pytest.mark.parametrize(("task", "words"), [("pointwise", "itself."), ("choose", "every answer.")])
def test_init_says_how_often_probes_ask_in_this_task(tmp_path, capsys, task, words):
    path = tmp_path / "study.yaml"
    run(capsys, "init", "--task", task, "--provider", "vllm", "--probes", "--out", str(path))
    (line,) = (x for x in path.read_text().splitlines() if "as the study itself" in x)
    assert words in line
    assert "either" not in line


def test_init_takes_the_model_as_it_is(tmp_path, capsys):
    path = tmp_path / "study.yaml"
    model = 'odd: "name" # {x}'
    assert run(capsys, "init", "--provider", "vllm", "--model", model, "-o", str(path))[0] == 0
    assert load_study(path).study.judges[0].model == model


def test_init_offers_probes(tmp_path, capsys):
    for name, wanted in (("plain", False), ("probed", True)):
        path = tmp_path / f"{name}.yaml"
        asked = ("--probes",) if wanted else ()
        assert run(capsys, "init", "--provider", "embedded", *asked, "-o", str(path))[0] == 0
        assert bool(load_study(path).study.probes) is wanted


def test_init_overwrites_nothing_and_asks_only_on_a_terminal(tmp_path, capsys):
    path = tmp_path / "study.yaml"
    code, _, err = run(capsys, "init", "--out", str(path))
    assert code == 2
    assert "--provider is needed" in err
    path.write_text("mine")
    code, _, err = run(capsys, "init", "--provider", "vllm", "--out", str(path))
    assert code == 2
    assert "exists" in err
    assert path.read_text() == "mine"


def test_init_asks_on_a_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers = iter(["ollama", "llama3.2"])
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(answers))
    path = tmp_path / "study.yaml"
    assert run(capsys, "init", "--out", str(path))[0] == 0
    assert load_study(path).study.judges[0].model == "llama3.2"


def test_check_shows_what_would_run_and_writes_nothing(tmp_path, capsys, known):
    before = sorted(tmp_path.rglob("*"))
    code, out, err = run(capsys, "check", str(known))
    assert code == 0
    assert "36 calls" in out
    assert "e3_eq_06" in out
    assert '{"model":"law","prompt":"Decide' in out
    assert "call standard errors need 4 repeats" in err
    assert sorted(tmp_path.rglob("*")) == before


def test_check_writes_json_alone_to_stdout(capsys):
    code, out, _ = run(capsys, "check", str(PAIRS), "--json", "-")
    facts = json.loads(out)
    assert code == 0
    assert facts["schema"] == "judgelaw.check/1"
    assert (facts["items"], facts["calls"]) == (19, 1152)
    assert facts["strata"] == {"arithmetic": 5, "format": 5, "facts": 5, "instructions": 4}
    assert [block["calls"] for block in facts["blocks"]] == [768, 384]


def test_check_lists_problems_with_exit_code_two(capsys, known):
    known.write_text(SIMULATED.replace("repeats: 3", "repeats: x").replace("seed: 1", "sed: 1"))
    code, out, err = run(capsys, "check", str(known))
    assert (code, out) == (2, "")
    assert f"{known}:3: sed: unknown key; did you mean seed?" in err
    assert f"{known}:6: repeats: 'x'" in err


def test_check_says_which_key_is_not_set(capsys, known, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    judge = "provider: openai-chat\n    base_url: http://127.0.0.1:9\n    api_key: env:NO_SUCH_KEY"
    text = SIMULATED.replace("provider: simulated", judge)
    known.write_text(text[: text.index("    law:")])
    code, _, err = run(capsys, "check", str(known))
    assert code == 0
    assert "NO_SUCH_KEY is not set" in err


def test_probe_asks_every_judge_once(capsys, known):
    code, out, _ = run(capsys, "check", str(known), "--probe", "--json", "-")
    (probe,) = json.loads(out)["probes"]
    assert code == 0
    assert (probe["ok"], probe["verdict"], probe["said"]) == (True, "candidate_1", "A")
    code, out, _ = run(capsys, "check", str(known), "--probe")
    assert "probe known: candidate_1 in" in out


PARSERS = {
    "first-line": ("first-line", "first-line wants exactly A, B or TIE in the first line"),
    "regex": ("{regex: '(A|C)'}", "regex wants a match of (A|C)"),
    "json": ("{json: winner, labels: {x: A, y: B}}", "the field winner that reads x, y"),
}


@pytest.mark.parametrize("kind", PARSERS)
def test_probe_says_why_a_reply_counts_as_invalid(capsys, known, kind):
    parser, wants = PARSERS[kind]
    with Provider(say("**B**\n\x1b[2J")) as provider:
        judge = f"provider: openai-chat\n    base_url: {provider.base_url}\n    parser: {parser}"
        text = SIMULATED.replace("provider: simulated", judge)
        known.write_text(text[: text.index("    law:")])
        code, out, _ = run(capsys, "check", str(known), "--probe")
    assert code == 0
    assert "s: **B**\\n⟨U+001B⟩[2J\n  it counts as invalid (no label): " in out
    assert f"{wants}; see parser of judge known in the study" in out
    assert "\x1b" not in out


def test_probe_of_a_server_that_is_not_there_exits_with_three(capsys, known):
    judge = "provider: openai-chat\n    base_url: http://127.0.0.1:9"
    text = SIMULATED.replace("provider: simulated", judge)
    known.write_text(text[: text.index("    law:")])
    code, out, _ = run(capsys, "check", str(known), "--probe")
    assert code == 3
    assert "probe known: FAILED" in out


def test_extend_adds_repeats(capsys, known, tmp_path):
    folder = tmp_path / "run"
    freeze(load_study(known), folder)
    code, out, _ = run(capsys, "extend", str(folder), "--repeats", "5")
    assert code == 0
    assert "24 calls added to 36" in out
    assert open_run(folder).count == 60
    # A command that was killed behind its last write is repeated as it is.
    code, out, _ = run(capsys, "extend", str(folder), "--repeats", "5")
    assert code == 0
    assert "it is that deep already, nothing is added to its 60 calls" in out
    assert open_run(folder).count == 60


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say what to add"),
        (("--repeats", "2"), "nothing to add"),
        (("--prompts", "9"), "changes what is estimated"),
    ],
)
def test_extend_says_what_it_cannot_do(capsys, known, tmp_path, arguments, words):
    folder = tmp_path / "run"
    freeze(load_study(known), folder)
    code, _, err = run(capsys, "extend", str(folder), *arguments)
    assert code == 2
    assert words in err


@pytest.mark.parametrize("command", ["init", "check", "schema", "extend"])
def test_every_command_shows_an_example(capsys, command):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert f"judgelaw {command}" in out[out.index("Example") :]


def test_schema_goes_to_a_file(capsys, tmp_path):
    path = tmp_path / "schema.json"
    assert run(capsys, "schema", "-o", str(path))[0] == 0
    assert json.loads(path.read_text())["title"] == "Study"


@pytest.fixture
def hasty(monkeypatch):
    """Give patterns half their time: the longest of the short replies takes a tenth of that."""
    monkeypatch.setattr("judgelaw.wire.bounded.SECONDS", 0.5)


@pytest.mark.parametrize(
    ("pattern", "code", "said"),
    [
        ("(A+)+$", 2, "it backtracks, and such a reply could not be read"),
        (r"(\w+)\s*:", 0, "its pattern ran out of time on a reply of 100,000 characters"),
    ],
)
@pytest.mark.usefixtures("hasty")
def test_check_tries_the_pattern_of_a_parser(tmp_path, capsys, pattern, code, said):
    study = write_study(tmp_path, [simulated_judge(parser={"regex": pattern})])
    found, _, err = run(capsys, "check", str(study))
    assert found == code
    assert said in err
    if code:
        line = 1 + study.read_text().split("\n").index('   "parser": {')
        assert f"{study}:{line}:" in err


def test_every_key_of_the_schema_has_a_description_and_the_schema_an_id(capsys):
    schema = json.loads(run(capsys, "schema")[1])
    assert schema["$id"].startswith("urn:judgelaw:study:")
    bare = [
        f"{name}.{key}"
        for name, model in {"study": schema, **schema["$defs"]}.items()
        for key, spec in model.get("properties", {}).items()
        if not spec.get("description")
    ]
    assert bare == []


@pytest.mark.parametrize(
    "study", sorted(EXAMPLES.rglob("study*.yaml")), ids=lambda p: p.parent.name
)
def test_every_example_fits_the_schema(capsys, study):
    schema = json.loads(run(capsys, "schema")[1])
    jsonschema.validate(read_yaml(study.read_text()).data, schema)


@pytest.mark.parametrize("provider", ["python", "command"])
def test_a_judge_of_ones_own_answers_as_init_writes_it(tmp_path, capsys, provider, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "init", "--provider", provider, "--task", "labels")[0] == 0
    first, *_ = Path("study.yaml").read_text().splitlines()
    assert first == "# yaml-language-server: $schema=study.schema.json"
    assert json.loads(Path("study.schema.json").read_text())["$id"]
    code, out, err = run(capsys, "run", "study.yaml", "--out", "run")
    assert code == 0, err
    code, out, _ = run(capsys, "status", "run", "--json", "-")
    assert json.loads(out)["failed"] == 0
