"""`stop:` and repeats by item in a study: what is refused, with its line, and what is frozen."""

import pytest

from judgelaw.errors import InputError, StudyChangedError, StudyError
from judgelaw.study import LookRecord, blocks, extend, freeze, load_study, open_run, record_looks
from support.studies import LAYERS, SECOND, make_study

STOP = "stop: {component: prompt, limit: 0.05, looks: [4, 8, 16]}\n"
LINE = 14


def looked(judge="j", depth=4, action="continue", **fields):
    values = dict.fromkeys(("estimate", "lower", "upper", "pass_level", "fail_level"), 0.5)
    return LookRecord(
        **{
            "judge": judge,
            "depth": depth,
            "action": action,
            "verdict": "inconclusive",
            **values,
            "reason": "because",
            **fields,
        }
    )


def refused(folder, *changes, add=STOP, **fields):
    with pytest.raises(StudyError) as error:
        load_study(make_study(folder, *changes, add=add, **fields))
    return str(error.value)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("{component: prompt, limit: 0.05, looks: [2, 4]}", "looks[0]: 2, a look needs 4 repeats"),
        ("{component: prompt, limit: 0.05, looks: [8, 4]}", "looks[1]: 4 after 8"),
        ("{component: prompt, limit: 0.05, looks: [4, 4]}", "write them growing"),
        ("{component: prompt, limit: 0.05, looks: []}", "must not be empty"),
        ("{component: prompt, looks: [4, 8]}", "must name limit or half_width"),
        ("{component: prompt, limit: 0.1, half_width: 0.1, looks: [4]}", "one of them; choose"),
        ("{component: dice, limit: 0.05, looks: [4, 8]}", "component: 'dice'"),
        ("{component: prompt, limit: 1.5, looks: [4, 8]}", "limit: 1.5, must be at most 1"),
        ("{component: prompt, limit: 0.05}", "looks: missing"),
        ("{component: prompt, limit: 0.05, look: [4]}", "did you mean looks?"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_line(tmp_path, rule, words):
    said = refused(tmp_path, add=f"stop: {rule}\n")
    assert words in said
    assert f"study.yaml:{LINE}: stop" in said


def test_a_depth_beyond_the_last_look_is_refused(tmp_path):
    said = refused(tmp_path, ("repeats: 2", "repeats: 32"))
    assert "study.yaml:8: repeats: 32, the last look is at 16 repeats" in said
    layers = LAYERS.replace("repeats: 3", "repeats: 32")
    assert "layers[0].repeats: 32" in refused(tmp_path, add=STOP + layers)


def test_looks_say_how_deep_the_main_layer_begins(tmp_path):
    study = load_study(make_study(tmp_path, add=STOP + LAYERS)).study
    assert study.depth == {"evaluation": 4, "reference": 5, "control": 4}
    assert study.main.name == "evaluation"


def test_an_analysis_depth_beside_looks_is_refused(tmp_path):
    said = refused(tmp_path, add=STOP + "analysis: {depth: 4}\n")
    assert "analysis.depth: 4, looks say how deep" in said


@pytest.mark.parametrize("component", ["order", "interaction"])
def test_a_component_that_the_design_lacks_is_refused(tmp_path, component):
    rule = STOP.replace("prompt", component)
    loaded = load_study(make_study(tmp_path, ("repeats: 2", "orders: {AB: 1}"), add=rule))
    with pytest.raises(StudyError, match=rf"stop.component: '{component}', cannot be known with"):
        freeze(loaded, tmp_path / "run")


def test_a_rule_changed_after_freezing_is_refused_with_its_line(tmp_path):
    freeze(load_study(make_study(tmp_path, add=STOP)), tmp_path / "run")
    for other in (STOP.replace("0.05", "0.06"), STOP.replace("16]", "32]"), ""):
        with pytest.raises(StudyChangedError) as error:
            freeze(load_study(make_study(tmp_path, add=other)), tmp_path / "run")
        said = str(error.value)
        assert "stop" in said
        assert "study.yaml" in said
        assert "fixed before the first call" in said
        assert "--out" in said


def test_a_rule_added_after_freezing_is_refused(tmp_path):
    freeze(load_study(make_study(tmp_path)), tmp_path / "run")
    with pytest.raises(StudyChangedError, match="fixed before the first call"):
        freeze(load_study(make_study(tmp_path, add=STOP)), tmp_path / "run")


def test_a_look_adds_the_calls_of_those_that_go_on(tmp_path):
    study = make_study(tmp_path, add=SECOND + STOP)
    first = freeze(load_study(study), tmp_path / "run")
    assert first.undecided == {"j": 4, "k": 4}
    found = record_looks(first.path, [looked("j"), looked("k", action="stop", verdict="pass")])
    cells = 6 * 6 * 2
    assert found.undecided == {"j": 8}
    assert found.count == cells * (4 + 4 + 4)
    assert {b.judge.name: len(b.repeats) for b in blocks(found.blueprint)} == {"j": 8, "k": 4}
    assert [(s.kind, s.calls) for s in found.record.sessions] == [
        ("freeze", 8 * cells),
        ("look", 4 * cells),
    ]
    calls = list(found.iter_calls())
    assert len({call.call_id for call in calls}) == len(calls) == found.count
    assert {call.judge for call in calls if call.repeat >= 4} == {"j"}
    # What was frozen first stays where it was.
    assert [c.call_id for c in calls[: first.count]] == [c.call_id for c in first.iter_calls()]


def test_a_look_is_taken_once(tmp_path):
    freeze(load_study(make_study(tmp_path, add=STOP)), tmp_path / "run")
    once = record_looks(tmp_path / "run", [looked()])
    again = record_looks(tmp_path / "run", [looked(action="stop")])
    assert again.record == once.record
    assert open_run(tmp_path / "run").last_looks["j"].action == "continue"


def test_the_last_look_ends_it(tmp_path):
    freeze(load_study(make_study(tmp_path, add=STOP)), tmp_path / "run")
    for depth in (4, 8):
        record_looks(tmp_path / "run", [looked(depth=depth)])
    found = record_looks(tmp_path / "run", [looked(depth=16, action="exhausted")])
    assert found.undecided == {}
    assert found.reached == {"j": 16}


def test_a_run_that_stops_by_looks_is_not_extended_by_hand(tmp_path):
    freeze(load_study(make_study(tmp_path, add=STOP)), tmp_path / "run")
    with pytest.raises(InputError, match="stops by its own looks"):
        extend(tmp_path / "run", 32)


def test_looks_and_dates_do_not_go_together(tmp_path):
    loaded = load_study(make_study(tmp_path, add=STOP))
    with pytest.raises(StudyError, match=rf"study.yaml:{LINE}: stop: is about a study that is"):
        freeze(loaded, tmp_path / "run", date="2026-11-16")


def test_an_amendment_keeps_the_looks(tmp_path):
    freeze(load_study(make_study(tmp_path, add=STOP)), tmp_path / "run")
    record_looks(tmp_path / "run", [looked()])
    amended = make_study(tmp_path, add=STOP + "gate: {prompt: 0.1}\n")
    found = freeze(load_study(amended), tmp_path / "run")
    assert found.reached == {"j": 8}
    assert found.study.gate.prompt == 0.1


BY_ITEM = ("repeats: 2", "repeats: {from: runs/earlier, min: 4, max: 16}")


@pytest.mark.parametrize(
    ("repeats", "words"),
    [
        ("{from: r, min: 1, max: 4}", "repeats.min: 1, a cell needs two calls"),
        ("{from: r, min: 4, max: 4}", "repeats.max: 4, must be above min (4)"),
        ("{from: r, min: 4, max: 8, mean: 20}", "repeats.mean: 20, must lie between"),
        ("{min: 4, max: 8}", "repeats.from: missing"),
        ("{from: r, min: 4, maximum: 8}", "did you mean max?"),
        ("0", "repeats: 0"),
        ("many", "repeats: 'many', must be a whole number"),
    ],
)
def test_wrong_repeats_are_refused_with_their_line(tmp_path, repeats, words):
    said = refused(tmp_path, ("repeats: 2", f"repeats: {repeats}"), add="")
    assert words in said
    assert "study.yaml:8" in said


def test_looks_and_repeats_by_item_do_not_go_together(tmp_path):
    assert "keep one of them" in refused(tmp_path, BY_ITEM)


def test_repeats_by_item_belong_to_the_main_layer(tmp_path):
    said = refused(tmp_path, BY_ITEM, add=LAYERS)
    assert "layers[0].repeats: repeats by item are those of this layer" in said


def test_items_are_asked_as_often_as_was_chosen(tmp_path):
    loaded = load_study(make_study(tmp_path, BY_ITEM))
    chosen = {f"i{n}": 4 + 4 * (n % 2) for n in range(6)}
    found = freeze(loaded, tmp_path / "run", choose=lambda _: ({"j": chosen}, "for a reason"))
    asked = {}
    for call in found.iter_calls():
        asked.setdefault(call.item, set()).add(call.repeat)
    assert {item: len(ranks) for item, ranks in asked.items()} == chosen
    assert found.count == sum(chosen.values()) * 12
    assert (found.record.repeats, found.record.repeats_reason) == ({"j": chosen}, "for a reason")
    with pytest.raises(InputError, match="repeats by item, chosen before"):
        extend(found.path, 32)
    # Nothing is chosen again: the same study goes on, another one does not.
    assert freeze(loaded, tmp_path / "run").record == found.record
    other = load_study(make_study(tmp_path, ("repeats: 2", BY_ITEM[1].replace("16", "12"))))
    with pytest.raises(StudyChangedError, match=r"repeats_by_item\.max: 16 -> 12"):
        freeze(other, tmp_path / "run")


def test_repeats_by_item_need_somebody_who_chooses(tmp_path):
    with pytest.raises(StudyError, match="repeats by item need the calls of an earlier run"):
        freeze(load_study(make_study(tmp_path, BY_ITEM)), tmp_path / "run")


def test_waves_of_a_run_keep_the_repeats_of_their_items(tmp_path):
    loaded = load_study(make_study(tmp_path, BY_ITEM))
    chosen = {f"i{n}": 2 + n for n in range(6)}
    freeze(loaded, tmp_path / "run", date="2026-11-01", choose=lambda _: ({"j": chosen}, ""))
    found = freeze(loaded, tmp_path / "run", date="2026-11-08")
    assert found.count == 2 * sum(chosen.values()) * 12
