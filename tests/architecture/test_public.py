"""The public face: what `import judgelaw` offers, and what it costs."""

import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import judgelaw
from judgelaw import errors
from judgelaw.cli.program import cli

SRC = Path(judgelaw.__file__).parent


FIRST_RELEASE = {
    *("BudgetReachedError", "DuplicateCallsError", "IncompleteDesignError", "IncompleteRunError"),
    *("InputError", "IntegrityError", "JudgelawError", "LeaseLostError", "MissingExtraError"),
    *("NotIdentifiedError", "ProviderRefusedError", "RunError", "RunLockedError", "StorageError"),
    *("StudyChangedError", "StudyError", "TableError"),
    *("Analysis", "Decomposition", "Run", "RunStatus", "VerdictTensor"),
    *("analyze", "decompose", "gate"),
}
ROOMS = ("analysis", "decide", "estimate", "replication", "tables", "uncertainty", "worlds")


def test_every_listed_name_loads():
    names = judgelaw.__all__
    assert len(set(names)) == len(names)
    assert set(dir(judgelaw)) == {*names, "__version__"}
    for name in names:
        assert getattr(judgelaw, name).__name__.endswith(name)
    assert callable(judgelaw.plan), "a function, and no module of the first release"


def test_what_is_listed_is_short():
    """A newcomer reads `dir(jl)`: functions, what they return, and errors as one name."""
    assert len(dir(judgelaw)) <= 40
    assert [name for name in dir(judgelaw) if name.endswith("Error")] == ["JudgelawError"]
    assert not set(ROOMS) & set(dir(judgelaw))
    assert judgelaw.errors is errors


def test_names_of_the_first_release_keep_importing():
    for name in FIRST_RELEASE:
        assert getattr(judgelaw, name).__name__ == name
    for name in ROOMS:
        assert getattr(judgelaw, name).__name__ == f"judgelaw.{name}"
    assert judgelaw.simulate is judgelaw.replication
    with pytest.raises(AttributeError, match="module 'judgelaw' has no attribute 'nothing'"):
        _ = judgelaw.nothing
    with pytest.raises(AttributeError, match="'_nothing'"):
        _ = judgelaw._nothing


def test_everything_can_be_imported_at_once():
    code = "from judgelaw import *; print(decompose.__name__, errors.__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["decompose", "judgelaw.errors"]


def test_every_error_is_offered_by_its_module_and_by_the_first_release():
    tree = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, Exception)
    }
    later = {"UnclearTableError", "JudgeFunctionError"}
    assert tree - FIRST_RELEASE == later, "those came later"


def test_the_package_only_reexports():
    """`__init__` defines no behaviour of its own; `doors` loads what it names."""
    source = (SRC / "__init__.py").read_text()
    assert "def " not in source
    assert "class " not in source


def test_lazy_names_load_from_an_archive(tmp_path):
    """A door reads its own source, which a zip has no file for."""
    archive = tmp_path / "judgelaw.zip"
    with zipfile.ZipFile(archive, "w") as z:
        for path in SRC.rglob("*.py"):
            z.write(path, Path("judgelaw") / path.relative_to(SRC))
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); import judgelaw\n"
        "from judgelaw.runs import Reading\n"
        "print(judgelaw.__file__, judgelaw.TableError.__name__, Reading.__module__)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    where, error, home = run.stdout.split()
    assert where.startswith(str(archive))
    assert (error, home) == ("TableError", "judgelaw.runs.reading_options")


def test_importing_loads_nothing_heavy():
    heavy = ("numpy", "scipy", "duckdb", "pydantic", "aiohttp", "altair", "narwhals", "rich")
    code = f"import sys, judgelaw; print([m for m in {heavy!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_help_loads_nothing_heavy():
    heavy = ("numpy", "scipy", "duckdb", "pydantic", "aiohttp", "altair", "narwhals")
    code = (
        "import sys\nfrom judgelaw.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr.strip() == "[]"
    assert "Commands:" in run.stdout


def _leaves(command, words):
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from _leaves(command.get_command(click.Context(command), name), [*words, name])
    else:
        yield words


@pytest.mark.parametrize("words", list(_leaves(cli, [])), ids=" ".join)
def test_every_command_has_an_example_in_its_help(words):
    shown = CliRunner().invoke(cli, [*words, "--help"], prog_name="judgelaw")
    assert shown.exit_code == 0
    assert f"judgelaw {' '.join(words)}" in shown.output.split("Example")[-1]
    assert "\\b" not in shown.output


def test_the_entry_points_of_other_tools_load_nothing_and_say_nothing_at_exit():
    """Every evaluation and every test run of the machine imports these, whatever it is about."""
    code = (
        "import sys, judgelaw.inspect_ext, judgelaw.pytest_plugin; "
        "heavy = {'duckdb', 'numpy', 'scipy', 'pydantic', 'aiohttp', 'narwhals'}; "
        "print(*sorted(heavy & {*sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout.strip(), run.stderr) == ("", "")
