"""What commands share: JSON without nan, progress after two seconds."""

import json

import pytest

from judgelaw.cli import _output
from judgelaw.simulate import ExactErrors


def test_what_does_not_exist_is_null(capsys):
    value = {
        "a": float("nan"),
        "b": (1, float("inf")),
        "c": ExactErrors(plugin_bias=1.0, plugin_mse=2.0, complete_mse=0.0),
    }
    _output.write_json(value, "-")
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
    with _output.progress("working", 100, clock=lambda: next(clock)) as advance:
        for _ in times[1:]:
            advance(10)
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == lines
    assert all(line.startswith("working: ") for line in shown)


def test_a_terminal_gets_a_bar(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    clock = iter([0.0, 3.0, 4.0])
    with _output.progress("working", 100, clock=lambda: next(clock)) as advance:
        advance(40)
        advance(40)
    assert "working" in capsys.readouterr().err
