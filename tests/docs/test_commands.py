"""Every shell block of the documentation runs, in its order, with the exit code that it promises.

A page's commands share one folder, which is prepared as the page supposes it: a study, a run, logs.
Nothing is asked of the world: endpoints are servers on this machine, and studies of the packaged
model are cut to two items and, but for the quickstart, to its first layers, so that it answers in
seconds.
"""

import gzip
import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from glob import glob
from pathlib import Path
from unittest.mock import patch

import duckdb
import pytest
from ruamel.yaml import YAML

from judgelaw.cli import program
from judgelaw.errors import MissingExtraError
from judgelaw.study import load_study
from servers.provider import Provider, say
from servers.study import simulated_judge, write_study
from support.criteria import simulated as simulated_criteria, write_criteria_study
from support.imports import FIXTURES
from support.model import shallow_model
from support.pages import PAGES, ROOT, Command, blocks, commands

QUICKSTART = ROOT / "examples" / "quickstart"
LANGUAGES = {
    "python": "tests/docs/test_pages.py runs it",
    "sh": "run here",
    "yaml": "checked here as part of a study",
    "json": "checked here as an item",
    "text": "nothing to run",
    "{toctree}": "Sphinx",
    "{eval-rst}": "Sphinx",
    "{literalinclude}": "a file of examples/, which tests run",
}

After = Callable[[Command], None]


def nothing(_command: Command) -> None:
    """Leave the folder as the command left it."""


# What each page supposes. A context manager that prepares the folder and yields what is to be done
# after a command.


def _require_model() -> None:
    from judgelaw.judges.embedded import check_runtime, locate_model

    try:
        check_runtime()
        locate_model()
    except MissingExtraError as missing:
        pytest.skip(str(missing))


def _write_study(there: Path, *changes: tuple[str, str], whole: bool = False) -> None:
    """Write a study anew: shorter, of a model with two layers and one thread, which is less work.

    `whole` asks the model as it is packaged.
    """
    text = (there / "study.yaml").read_text()
    model = "provider: embedded\n    threads: 1"
    if not whole:
        model += f"\n    model_path: {shallow_model(layers=2)}"
    for old, new in (*changes, ("provider: embedded", model)):
        assert old in text
        text = text.replace(old, new)
    (there / "study.yaml").write_text(text)


@contextmanager
def quickstart(folder: Path) -> Iterator[After]:
    """A clone with four items, so that the real model is done in seconds."""
    _require_model()
    there = folder / "examples" / "quickstart"
    there.mkdir(parents=True)
    rows = (QUICKSTART / "items.jsonl").read_text().splitlines(keepends=True)
    (there / "items.jsonl").write_text("".join(rows[:4]))
    shutil.copy(QUICKSTART / "study.yaml", there)
    _write_study(there, whole=True)
    shutil.copy(ROOT / "Makefile", folder)
    with endpoint(folder) as after:
        yield after


@contextmanager
def single_answers(folder: Path) -> Iterator[After]:
    """The two examples, cut to two items, so that the model is done in seconds."""
    _require_model()
    for name in ("scores", "pass-fail"):
        there = folder / "examples" / name
        shutil.copytree(ROOT / "examples" / name, there, ignore=shutil.ignore_patterns("runs"))
        rows = (there / "items.jsonl").read_text().splitlines(keepends=True)
        (there / "items.jsonl").write_text("".join(rows[:2]))
        _write_study(there)
    yield nothing


@contextmanager
def endpoint(folder: Path) -> Iterator[After]:
    """A server in the place of the one that `init` supposes."""
    with Provider(say("A", model="Qwen/Qwen3-8B")) as provider:

        def after(command: Command) -> None:
            if command.words[1] == "init":
                study = folder / "study.yaml"
                text = study.read_text()
                assert "http://127.0.0.1:8000/v1" in text
                study.write_text(text.replace("http://127.0.0.1:8000/v1", provider.base_url))

        yield after
        assert len(provider.seen) == 1 + 96, "one probe, and every call once"


@contextmanager
def pilot(folder: Path) -> Iterator[After]:
    write_study(folder, [simulated_judge()], repeats=4)
    assert program._run(["run", "study.yaml", "--out", "runs/pilot"]) == 0
    yield nothing


@contextmanager
def fewer(folder: Path) -> Iterator[After]:
    """The files of the example."""
    shutil.copytree(ROOT / "examples" / "fewer", folder, dirs_exist_ok=True)
    yield nothing


@contextmanager
def probed(folder: Path) -> Iterator[After]:
    """A study with two probes."""
    write_study(folder, [simulated_judge()], name="probed", items=3, probes=["longer", "identity"])
    yield nothing


@contextmanager
def rubric(folder: Path) -> Iterator[After]:
    """A study of two criteria, with gold for one of them."""
    gold = {"safe": "safe"}
    write_criteria_study(folder, [simulated_criteria()], items=12, repeats=4, gold=gold)
    yield nothing


@contextmanager
def listing(folder: Path) -> Iterator[After]:
    """A judge that returns the probabilities of its verdicts."""
    law = {"candidate_1": 0.6, "candidate_2": 0.2, "tie": 0.1, "invalid": 0.1}
    judge = simulated_judge(law={"verdicts": law}, logprobs=20)
    write_study(folder, [judge], items=6, repeats=2)
    yield nothing


@contextmanager
def example(name: str, folder: Path) -> Iterator[After]:
    """A clone of an example with two items and two repeats, so that the model is done soon."""
    _require_model()
    there = folder / "examples" / name
    shutil.copytree(ROOT / "examples" / name, there)
    rows = (there / "items.jsonl").read_text().splitlines(keepends=True)
    (there / "items.jsonl").write_text("".join(rows[:2]))
    _write_study(there, ("repeats: 4", "repeats: 2"))
    yield nothing


def choosing(folder: Path) -> AbstractContextManager[After]:
    return example("choose", folder)


def factors(folder: Path) -> AbstractContextManager[After]:
    return example("factors", folder)


@contextmanager
def nightly(folder: Path) -> Iterator[After]:
    """A finished run of a steady judge, the tests of examples/ci, and a log of Inspect."""
    law = {"candidate_1": 0.96, "candidate_2": 0.04}
    write_study(folder, [simulated_judge(law={"verdicts": law})], items=40, repeats=8)
    assert program._run(["run", "study.yaml", "--out", "runs/nightly"]) == 0
    shutil.copytree("runs/nightly", "runs/last-week")
    shutil.copy(ROOT / "examples" / "ci" / "test_judge.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "logs").mkdir()
    shutil.copy(FIXTURES / "inspect-crossed.eval", folder / "logs" / "crossed.eval")
    yield nothing


@contextmanager
def systems(folder: Path) -> Iterator[After]:
    """The example table, one with two systems, and one of systems compared two at a time."""
    (folder / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "calls.csv.gz", folder / "examples")
    rows = [
        f"j,q{i},plain,{r},{system},{'pass' if (i + r) % every else 'fail'}"
        for system, every in (("old", 2), ("new", 5))
        for i in range(30)
        for r in range(3)
    ]
    header = "judge,item,prompt,repeat,system,verdict"
    (folder / "systems.csv").write_text("\n".join([header, *rows]) + "\n")
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    rows = [
        f"j,q{i},plain,{r},{','.join(pairs[i % 3])},candidate_{1 if (i + r) % 4 else 2}"
        for i in range(60)
        for r in range(3)
    ]
    header = "judge,item,prompt,repeat,model_a,model_b,verdict"
    (folder / "battles.csv").write_text("\n".join([header, *rows]) + "\n")
    yield nothing


@contextmanager
def jury(folder: Path) -> Iterator[After]:
    """Three judges of one table, right on three items of four, each in its own way."""
    rows = [
        f"j{j},q{i},plain,{r},{'pass' if (i + 3 * j) % 4 else 'fail'},{'pass' if i % 2 else 'fail'}"
        for j in range(3)
        for i in range(24)
        for r in range(3)
    ]
    header = "judge,item,prompt,repeat,verdict,gold"
    (folder / "calls.csv.gz").write_bytes(gzip.compress("\n".join([header, *rows, ""]).encode()))
    yield nothing


@contextmanager
def people(folder: Path) -> Iterator[After]:
    """One verdict and one label a row, and items that nobody labelled."""
    kinds = [("fail", "fail", 46), ("pass", "fail", 4), ("pass", "pass", 190), ("fail", "pass", 10)]
    kinds += [("fail", "", 30), ("pass", "", 70)]
    said = [(v, h) for v, h, n in kinds for _ in range(n)]
    rows = [f"i{i},{v},{h}\n" for i, (v, h) in enumerate(said)]
    (folder / "verdicts.csv").write_text("item,verdict,label\n" + "".join(rows))
    yield nothing


@contextmanager
def dates(folder: Path) -> Iterator[After]:
    """A study of anchors, and a table with dates."""
    write_study(folder, [simulated_judge()], items=12, repeats=3).rename(folder / "anchors.yaml")
    rows = [
        f"2026-05-{day:02},i{i},{r},{'yes' if (i + r) % 3 else 'no'}\n"
        for day in (3, 10, 17)
        for i in range(20)
        for r in range(3)
    ]
    (folder / "waves.csv").write_text("date,item,repeat,verdict\n" + "".join(rows))
    yield nothing


@contextmanager
def logs(folder: Path) -> Iterator[After]:
    there = folder / "logs"
    there.mkdir()
    for name, log in {
        "pairs.eval": "inspect-pairs.eval",
        "pairs.json": "inspect-pairs.json",
        "cached.eval": "inspect-cached.eval",
        "promptfoo.json": "promptfoo-repeats.json",
        "openai-batch.jsonl": "openai-batch.jsonl",
        "anthropic-batch.jsonl": "anthropic-batch.jsonl",
    }.items():
        shutil.copy(FIXTURES / log, there / name)
    shutil.copytree(FIXTURES / "lm-eval" / "judge-1", there / "lm-eval")
    rows = [f"i,p,{o},[[{w}]]\n" for o in ("as-is", "swapped") for w in "AAB"]
    (there / "raw.csv").write_text("item,prompt,shown,winner\n" + "".join(rows))
    yield nothing


@contextmanager
def machines(folder: Path) -> Iterator[After]:
    """A database, an object store and a folder of tables."""
    from judgelaw.tables import write_calls
    from support.calls import columns, table
    from support.postgres import clean_database

    write_study(folder, [simulated_judge()], name="nightly", items=4)
    (folder / "calls").mkdir()
    for part in range(2):
        write_calls(folder / "calls" / f"{part}.parquet", columns(table(items=6)[part::2]))
    with (
        object_store("judges/calls", sorted((folder / "calls").iterdir())) as settings,
        pytest.MonkeyPatch.context() as patch,
    ):
        # A store is made known to a database, so each command starts its own.
        patch.setattr(duckdb, "connect", duckdb.connect.__wrapped__)
        os.environ.update(settings, JUDGELAW_LEDGER=clean_database())
        yield nothing


@contextmanager
def object_store(prefix: str, files: list[Path]) -> Iterator[dict[str, str]]:
    s3fs = pytest.importorskip("s3fs", reason="needs the extra s3")
    server = pytest.importorskip("moto.server", reason="needs moto[server]")
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    os.environ.update(settings)
    s3fs.S3FileSystem.clear_instance_cache()
    store = s3fs.S3FileSystem()
    store.mkdir(prefix.split("/", maxsplit=1)[0])
    for file in files:
        store.put(str(file), f"{prefix}/{file.name}")
    try:
        yield settings
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        moto.stop()


@contextmanager
def protocol(folder: Path) -> Iterator[After]:
    """The paper's protocol, cut to a few items and repeats once `init` has written it.

    The hundred charts of its page stay blank: those of other pages are drawn.
    """

    def after(command: Command) -> None:
        if command.words[1] != "init":
            return
        text = (folder / "study.yaml").read_text()
        for old, new in (
            ("per_stratum: 10", "per_stratum: 2"),
            ("draws: 20000", "draws: 200, permutations: 99"),
            ("repeats: 16", "repeats: 8"),
        ):
            assert old in text
            text = text.replace(old, new)
        (folder / "study.yaml").write_text(text)
        rows = (folder / "items.jsonl").read_text().splitlines(keepends=True)
        few = [row for row in rows if re.search(r'-00[0-3]"', row)]
        (folder / "items.jsonl").write_text("".join(few))

    blank = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
    with patch("vl_convert.vegalite_to_svg", return_value=blank):
        yield after


@contextmanager
def bare(_folder: Path) -> Iterator[After]:
    yield nothing


# README and tutorial tell one story, so they share a folder: the second audit has nothing to ask.
STORIES = {
    "quickstart": (quickstart, ("README.md", "docs/tutorial/quickstart.md")),
    "scores": (single_answers, ("docs/howto/scores.md",)),
    "endpoint": (endpoint, ("docs/howto/endpoint.md",)),
    "budget": (pilot, ("docs/howto/budget.md",)),
    "fewer calls": (fewer, ("docs/howto/fewer_calls.md",)),
    "choose": (choosing, ("docs/howto/choose.md",)),
    "factors": (factors, ("docs/howto/factors.md",)),
    "probes": (probed, ("docs/howto/probes.md",)),
    "criteria": (rubric, ("docs/howto/criteria.md",)),
    "probabilities": (listing, ("docs/howto/probabilities.md",)),
    "ci": (nightly, ("docs/howto/ci.md",)),
    "advise": (systems, ("docs/howto/advise.md",)),
    "panel": (jury, ("docs/howto/panel.md",)),
    "people": (people, ("docs/howto/people.md",)),
    "dates": (dates, ("docs/howto/dates.md",)),
    "import": (logs, ("docs/howto/import.md",)),
    "machines": (machines, ("docs/howto/machines.md",)),
    "shell": (bare, ("docs/howto/shell.md",)),
    "paper": (protocol, ("docs/howto/paper.md",)),
    "uncertainty": (bare, ("docs/explanation/uncertainty.md",)),
}


# How a command is run. In this process where it is ours: an interpreter a line would take minutes.


def run_judgelaw(command: Command) -> int:
    words = [found for word in command.words[1:] for found in (_files(word) or [word])]
    return program._run(words)


def _files(word: str) -> list[str]:
    """Expand a glob as a shell would; quoting is not kept, so names that exist decide."""
    if "*" not in word or "://" in word or word.endswith("*.parquet"):
        return []
    return sorted(glob(word))  # noqa: PTH207 - relative names, as a shell gives them


MAKE_TEST = ("ruff check", "mypy", "basedpyright", "lint-imports", "sphinx-build", "pytest")


def run_make(command: Command) -> int:
    """Run what make would run; its set-up is that of the environment that the tests run in."""
    # Under `make test` another make is above this one, and would have it name its folder.
    dry = [shutil.which("make"), "-n", "--no-print-directory"]
    ready = ["-o", ".venv/.can-run", "-o", ".venv/.ready"]
    shown = subprocess.run(
        [*dry, *ready, *command.words[1:]],
        capture_output=True,
        text=True,
        check=True,
    )
    if command.words[1:] == ("test",):
        # These very tests, among others: that the parts are there is what can go wrong here.
        assert [part for part in MAKE_TEST if f".venv/bin/{part}" not in shown.stdout] == []
        return 0
    (line,) = shown.stdout.splitlines()
    assert line == ".venv/bin/judgelaw audit examples/quickstart/study.yaml"
    return program._run(line.split()[1:])


def run_export(command: Command) -> int:
    """Take the address of the test's database for the one of the page."""
    (assignment,) = command.words[1:]
    name, _, value = assignment.partition("=")
    assert name in os.environ, f"{name}: the page sets a variable that no preparation knows"
    assert value.startswith("postgresql://")
    return 0


def run_pytest(command: Command) -> int:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *command.words[1:]]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert re.search(r"\b2 passed", done.stdout), done.stdout + done.stderr
    return done.returncode


def check_pip(command: Command) -> int:
    """Installing takes minutes: that the extra exists is what can go wrong in a page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (wanted,) = command.words[2:]
    name, extra = re.fullmatch(r"([\w-]+)\[([\w-]+)\]", wanted).groups()
    assert name == project["name"]
    assert extra in project["optional-dependencies"]
    return 0


def check_inspect(command: Command) -> int:
    """Hold the task against its entry point: inspect_ai lives in an environment of its own.

    Its log, which the page reads next, is one that the real tool wrote.
    """
    from judgelaw import inspect_ext

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    _, verb, task, *options = command.words
    package, function = task.split("/")
    assert verb == "eval"
    assert project["entry-points"]["inspect_ai"][package] == "judgelaw.inspect_ext"
    taken = inspect.signature(getattr(inspect_ext, function)).parameters
    given = [options[i + 1].split("=")[0] for i, word in enumerate(options) if word == "-T"]
    assert set(given) <= set(taken)
    return 0


RUNNERS = {
    "judgelaw": run_judgelaw,
    "make": run_make,
    "export": run_export,
    "pytest": run_pytest,
    "pip": check_pip,
    "inspect": check_inspect,
}


@pytest.mark.parametrize("story", STORIES)
def test_the_commands_of_a_page_run_in_their_order(story, tmp_path, monkeypatch, capsys):
    prepare, pages = STORIES[story]
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        stack.enter_context(_environment())
        after = stack.enter_context(prepare(tmp_path))
        capsys.readouterr()
        for page in pages:
            for command in commands(PAGES[page].read_text()):
                code = RUNNERS[command.words[0]](command)
                said = capsys.readouterr()
                where = f"{page}:{command.line}: {command}"
                assert code == command.exit_code, f"{where}\n{said.out}\n{said.err}"
                after(command)


@contextmanager
def _environment() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.mark.parametrize("name", PAGES)
def test_every_block_is_of_a_kind_that_a_test_knows(name):
    for block in blocks(PAGES[name].read_text()):
        assert block.language in LANGUAGES, (
            f"{name}:{block.line}: {block.language or 'an indented block'}: fence it, and say what "
            f"it is, one of {', '.join(LANGUAGES)}"
        )


@pytest.mark.parametrize("name", PAGES)
def test_every_command_is_run_by_a_test(name):
    told = {page for _, pages in STORIES.values() for page in pages}
    for command in commands(PAGES[name].read_text()):
        assert name in told, f"{name}:{command.line}: {command}: no story runs this page"
        assert command.words[0] in RUNNERS, f"{name}:{command.line}: {command}: nothing runs it"


STUDY = """
version: 1
name: page
seed: 1
items: {source: jsonl, path: items.jsonl}
prompts: paper-six
judges: [{name: j, provider: openai-chat, base_url: "http://127.0.0.1:1/v1", model: m}]
"""


@pytest.mark.parametrize("name", PAGES)
def test_parts_of_studies_are_accepted(name, tmp_path):
    """A YAML block is a part of a study, or of a judge where the study has no such key."""
    (tmp_path / "prompts").mkdir()
    for at in "ab":
        text = f"{at} {{instruction}} {{candidate_a}} {{candidate_b}}"
        (tmp_path / "prompts" / f"{at}.txt").write_text(text)
    item = '{"id": "i", "instruction": "q", "candidate_1": "x", "candidate_2": "y"}\n'
    for block in blocks(PAGES[name].read_text()):
        (tmp_path / "items.jsonl").write_text(block.text if block.language == "json" else item)
        study = YAML(typ="safe").load(STUDY)
        if block.language == "yaml":
            part = YAML(typ="safe").load(block.text)
            judged = {key: part.pop(key) for key in list(part) if key == "price"}
            study |= part
            study["judges"][0] |= judged
            # A budget in dollars needs the price that the page declares next.
            if "usd" in part.get("budget", {}):
                study["judges"][0]["price"] = {"input_per_mtok": 1, "output_per_mtok": 1}
        if block.language in {"yaml", "json"}:
            with (tmp_path / "study.yaml").open("w") as file:
                YAML(typ="safe").dump(study, file)
            loaded = load_study(tmp_path / "study.yaml")
            assert loaded.study.name == "page", f"{name}:{block.line}"
