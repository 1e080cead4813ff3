"""A layer may hold calls of another layer: asked once, counted in both."""

import re
from collections import Counter

import pytest

from judgelaw.errors import InputError, StudyChangedError, StudyError
from judgelaw.study import extend, freeze, load_study, survey
from support.studies import SECOND

REUSE = """\
layers:
  - {name: evaluation, role: evaluation, judges: [j], repeats: 4}
  - {name: panel, role: audit, reuse: {layer: evaluation, judge: j, repeats: 2}}
"""


def changed(old, new):
    assert old in REUSE
    return SECOND + REUSE.replace(old, new)


def test_reused_calls_are_planned_once(make_study, run):
    frozen = freeze(load_study(make_study(add=SECOND + REUSE)), run)
    planned = Counter((call.layer, call.judge) for call in frozen.iter_calls())
    assert planned == {("evaluation", "j"): 6 * 12 * 4, ("panel", "k"): 6 * 12 * 2}
    panel = frozen.study.streams[1]
    assert (panel.repeats, panel.reuse.repeats) == (2, 2)


def test_the_items_of_the_layer_reused_are_the_panels_too(make_study):
    chosen = "selections: {few: {per_stratum: 1}, rest: {complement_of: few}}"
    selections = ("  path: items.jsonl", f"  path: items.jsonl\n  {chosen}")
    add = SECOND + REUSE.replace("judges: [j]", "judges: [j], items: few")
    study = make_study(selections, add=add)
    members = survey(load_study(study)).members
    assert len(members["panel"]) == 2
    assert members["panel"] == members["evaluation"]
    study = make_study(selections, add=add.replace("role: audit", "role: audit, items: rest"))
    words = r"reuse\.layer: 'evaluation', lacks 4 of the 4 items of this layer \(i\d"
    with pytest.raises(StudyError, match=words):
        survey(load_study(study))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("layer: evaluation, judge", "layer: elsewhere, judge", "must be another layer"),
        ("layer: evaluation, judge", "layer: panel, judge", "must be another layer"),
        ("judge: j, repeats", "judge: k, repeats", "'k', is not asked in layer 'evaluation'"),
        ("judge: j, repeats: 2", "judge: j, repeats: 5", "5, layer 'evaluation' has 4"),
        ("role: audit", "role: audit, repeats: 3", "2, the layer has 3"),
        ("role: audit", "role: audit, judges: [j, k]", "'j', is asked anew by this layer too"),
        ("role: evaluation", "role: control, labels: 6", "hidden labels stand in the place of"),
    ],
)
def test_what_cannot_be_reused_is_named_with_its_line(make_study, old, new, words):
    with pytest.raises(StudyError, match=re.escape(words)) as raised:
        load_study(make_study(add=changed(old, new)))
    assert re.search(r"study\.yaml:2\d: layers\[1\]\.reuse", str(raised.value))


def test_a_panel_is_extended_with_the_layer_that_it_reuses(make_study, run):
    freeze(load_study(make_study(add=SECOND + REUSE)), run)
    with pytest.raises(
        InputError, match=r"'panel' reuses calls of 'evaluation', which has 4 .* not 6"
    ):
        extend(run, 6, layer="panel")
    frozen = extend(run, 4, layer="panel")
    panel = frozen.study.streams[1]
    assert (panel.repeats, panel.reuse.repeats) == (4, 4)
    assert Counter(call.layer for call in frozen.iter_calls()) == {"evaluation": 288, "panel": 288}


def test_another_reuse_is_another_study(make_study, run):
    freeze(load_study(make_study(add=SECOND + REUSE)), run)
    more = SECOND + REUSE.replace("judges: [j], repeats: 4", "repeats: 4")
    freeze(load_study(make_study(add=more)), run.with_name("other"))
    swapped = more.replace("judge: j, repeats", "judge: k, repeats")
    with pytest.raises(StudyChangedError, match=r"layers\.panel\.reuse\.judge: 'j' -> 'k'"):
        freeze(load_study(make_study(add=swapped)), run.with_name("other"))
