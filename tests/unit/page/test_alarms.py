"""A problem stands right under the answer, and where there is none nothing does."""

from dataclasses import replace
from html import unescape
from unittest.mock import patch

import numpy as np

from judgelaw import blocks
from judgelaw.diagnose import Finding
from judgelaw.page import build
from judgelaw.page.html import Page, render
from judgelaw.page.sections.checks import alarms
from support.reports import bare, report, tensor

EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def half_invalid():
    """Turn every second repeat of each cell into an invalid output."""
    calls = tensor()
    ranked = calls.ranked.copy()
    ranked[..., ::2] = calls.verdicts.index("invalid")
    counts = np.stack([(ranked == c).sum(axis=-1) for c in range(len(calls.verdicts))], axis=-1)
    return replace(calls, ranked=ranked, counts=counts)


def test_half_of_the_outputs_invalid_is_told_between_the_answer_and_the_contents():
    source = report({(None, "j"): half_invalid()})
    found = {f.name: f for f in source.analysis.diagnostics if f.verdict == "problem"}
    assert "invalid_outputs" in found
    with patch("vl_convert.vegalite_to_svg", return_value=EMPTY):
        html = build(source, title="t")
    start, end = html.index('class="alarms"'), html.index("<nav")
    assert html.index('class="answer"') < start < end
    shown = alarms(source)
    assert [view.headline for view in shown] == [f.headline for f in found.values()]
    assert 'href="#diagnostics"' in html[start:end]
    banner = unescape(html[start:end])
    assert shown[0].headline in banner
    assert shown[0].advice in banner


def page(*found: blocks.Finding) -> str:
    return render(Page(title="t", sections=(), version="1", alarms=found)).partition("</style>")[2]


def problem(n: int) -> blocks.Finding:
    return blocks.Finding(
        name="x", verdict="problem", subject=f"<j{n}>", headline=f"{n} & found", advice=f"do {n}"
    )


def test_without_a_problem_there_is_no_banner():
    assert "alarms" not in page()
    quiet = [
        Finding(name="x", verdict=v, headline="h", advice="a") for v in ("ok", "notice", "unknown")
    ]
    assert alarms(bare(quiet)) == ()
    assert alarms(bare()) == ()


def test_hostile_words_stay_text_in_the_banner():
    html = page(problem(2))
    assert "2 &amp; found" in html
    assert "&lt;j2&gt;" in html
    assert "do 2" in html


def test_each_kind_of_problem_speaks_once_and_counts_its_other_streams():
    def found(name, subject):
        said = f"{name} of {subject}"
        return Finding(name=name, verdict="problem", subject=subject, headline=said, advice="do")

    drifts = [found("rank_gap", f"j / {n}") for n in range(5)]
    views = alarms(bare([*drifts, found("invalid_outputs", "j / 0")]))
    assert [(v.subject, v.headline) for v in views] == [
        ("j / 0 (and 4 more)", "rank_gap of j / 0"),
        ("j / 0", "invalid_outputs of j / 0"),
    ]
