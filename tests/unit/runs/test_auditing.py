"""An audit from Python: silent unless somebody is handed in to show it."""

import json
from contextlib import contextmanager, nullcontext

import pytest

from judgelaw.acquire import Silent
from judgelaw.cli.demo import _written
from judgelaw.runs import ANALYSIS, Shown, audit_study


@pytest.fixture
def study(tmp_path):
    return _written(tmp_path / "demo")


def test_nothing_is_shown_by_default_and_everything_is_written(study, tmp_path, capfd):
    audited = audit_study(study, tmp_path / "run")
    assert capfd.readouterr() == ("", "")
    written = json.loads((audited.run / ANALYSIS).read_text())
    assert written == json.loads(json.dumps(audited.analysis.to_json()))
    sums = (audited.run / "SHA256SUMS").read_text()
    assert {"results/analysis.json", "report.html"} <= {
        line.split()[1] for line in sums.split("\n") if line
    }


def test_bars_calls_and_words_reach_who_is_handed_in(study, tmp_path):
    bars, words, seen = {}, [], []

    @contextmanager
    def bar(what, total):
        bars[what] = [total, 0]

        def advance(steps):
            bars[what][1] += steps

        yield advance

    class Seen(Silent):
        def show(self, tally, now):
            seen.append((tally, now))

    shown = Shown(bar=bar, observer=lambda: nullcontext(Seen()), say=words.append)
    audit_study(study, tmp_path / "run", shown=shown)
    assert list(bars) == ["freezing calls", "analysing", "advising", "drawing"]
    assert all(done == total for total, done in bars.values()), bars
    assert seen
    assert len(words) == 1
    assert words[0].endswith("calls are done")
