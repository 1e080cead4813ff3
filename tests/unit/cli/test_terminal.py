"""What commands share: JSON without nan, progress after two seconds."""

import json

import click
import pytest

from judgelaw.cli import terminal
from judgelaw.replication import ExactErrors


def test_what_does_not_exist_is_null(capsys):
    value = {
        "a": float("nan"),
        "b": (1, float("inf")),
        "c": ExactErrors(plugin_bias=1.0, plugin_mse=2.0, complete_mse=0.0),
    }
    terminal.write_json(value, "-")
    assert json.loads(capsys.readouterr().out) == {
        "a": None,
        "b": [1, None],
        "c": {"plugin_bias": 1.0, "plugin_mse": 2.0, "complete_mse": 0.0},
    }


@pytest.mark.parametrize(
    ("times", "lines"),
    [([0, 0.5, 1.9], 0), ([0, 1, 2.5, 3, 4], 1), ([0, 2.5, 4, 8, 9], 2)],
)
def test_progress_appears_after_two_seconds_and_stays_quiet_between(times, lines, capsys):
    clock = iter(times)
    with terminal.progress("working", 100, clock=lambda: next(clock)) as advance:
        for _ in times[1:]:
            advance(10)
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == lines
    assert all(line.startswith("working: ") for line in shown)


def test_a_terminal_gets_a_bar(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    clock = iter([0.0, 3.0, 4.0])
    with terminal.progress("working", 100, clock=lambda: next(clock)) as advance:
        advance(40)
        advance(40)
    assert "working" in capsys.readouterr().err


def narrow(monkeypatch):
    """Make stdout a terminal of 60 columns."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")


WORDS = "no word of this sentence is cut in two, wherever the line of the terminal ends"


def test_a_terminal_gets_words_folded_between_words(monkeypatch, capsys):
    narrow(monkeypatch)
    terminal.say(f"  ! {WORDS}\nnext")
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 3
    assert max(map(len, shown)) <= 60
    assert " ".join(line.strip() for line in shown) == f"! {WORDS} next"
    assert [len(line) - len(line.lstrip()) for line in shown] == [2, 4, 0]


def test_a_file_gets_a_sentence_as_one_line(capsys):
    terminal.say(WORDS)
    assert capsys.readouterr().out == WORDS + "\n"


def test_figures_of_a_narrow_table_stay_whole(monkeypatch, capsys):
    narrow(monkeypatch)
    columns = ("component", "band", "interval")
    rows = [["repeat-to-repeat noise of the judge", "[-0.0095, 0.0099]", "[-0.0099, 0.0099]"]]
    terminal.show_table(columns, rows, title="narrow")
    shown = click.unstyle(capsys.readouterr().out)
    assert "[-0.0095, 0.0099] [-0.0099, 0.0099]" in shown, "and columns stand close"
    assert max(map(len, shown.splitlines())) <= 60


def test_a_name_in_a_table_is_no_markup(capsys):
    terminal.show_table(("judge",), [["[bold]b[/bold] [link=x]"]], title="names")
    assert "[bold]b[/bold] [link=x]" in capsys.readouterr().out
