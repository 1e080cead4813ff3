"""The public face: what `import judgelaw` offers, and what it costs."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import judgelaw
from judgelaw import errors
from judgelaw.cli.program import cli

SRC = Path(judgelaw.__file__).parent


def test_every_public_name_resolves_and_is_listed_once():
    assert len(set(judgelaw.__all__)) == len(judgelaw.__all__)
    for name in judgelaw.__all__:
        assert getattr(judgelaw, name) is not None
    assert set(judgelaw.__all__) == set(judgelaw._HOME)


def test_packages_are_reached_from_the_root():
    for name in judgelaw._PACKAGES:
        assert getattr(judgelaw, name).__name__ == f"judgelaw.{name}"
    for name, room in judgelaw._FORMER.items():
        assert getattr(judgelaw, name).__name__ == f"judgelaw.{room}"
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = judgelaw.nothing


def test_every_error_is_public():
    tree = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    assert tree <= set(judgelaw.__all__) | {"ClassVar"}


def test_the_package_only_reexports():
    """`__init__` defines no behaviour of its own beyond lazy loading."""
    source = (SRC / "__init__.py").read_text()
    assert source.count("\ndef ") == 2
    assert "\nclass " not in source


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
