"""Which model answered, from the wire to the findings of an audit."""

import pytest

from judgelaw.acquire import acquire
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.runs import Run
from servers.provider import Provider, say
from servers.study import chat_judge, frozen_study


def findings(tmp_path, names):
    """Audit a judge whose replies name these models in turn; return findings and flags."""
    names = iter(names)

    async def in_turn(seen, request):
        return await say(model=next(names))(seen, request)

    with Provider(in_turn) as provider:
        judge = chat_judge(provider.base_url, model="gpt-4.1-mini")
        frozen = frozen_study(tmp_path, [judge], items=4, repeats=2)
        acquire(frozen).raise_if_open()
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        flagged, (summary,) = view.flagged(), view.summaries()
    analysis = Run(frozen.path).analysis(permutations=0, draws=50)
    found = {finding.name: finding for finding in analysis.diagnostics}
    return found, flagged, summary


def test_an_alias_is_recorded_and_raises_no_alarm(tmp_path):
    found, flagged, summary = findings(tmp_path, ["gpt-4.1-mini-2025-04-14"] * 32)
    assert found["replay"].verdict == "ok"
    assert found["model"].verdict == "ok"
    assert "gpt-4.1-mini-2025-04-14" in found["model"].headline
    assert (flagged, summary.flags) == (0, {})
    assert summary.models == {"gpt-4.1-mini-2025-04-14": 32}


@pytest.mark.parametrize("second", ["gpt-4.1-mini-2025-06-01", "gpt-3.5"])
def test_a_change_within_a_run_is_found(tmp_path, second):
    names = ["gpt-4.1-mini-2025-04-14"] * 16 + [second] * 16
    found, flagged, _ = findings(tmp_path, names)
    assert found["model"].verdict == "problem"
    assert second in found["model"].headline
    assert flagged > 0


def test_another_model_throughout_is_found(tmp_path):
    found, flagged, summary = findings(tmp_path, ["gpt-3.5"] * 32)
    assert found["model"].verdict == "problem"
    assert found["replay"].verdict == "ok"
    assert (flagged, summary.flags) == (32, {"model": 32})
