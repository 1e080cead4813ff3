"""Probes in a study: a layer for each change, everything else byte for byte the same."""

import json
from collections import Counter
from itertools import count

import pytest

from judgelaw.acquire.verify import verify
from judgelaw.errors import InputError, StudyChangedError, StudyError
from judgelaw.study import (
    extend,
    freeze,
    left_out,
    load_study,
    open_run,
    payload_for,
    probe_notes,
    survey,
)

PROBES = "probes: [longer, strip-markdown, identity, {name: shout, append: '!!!'}]\n"


def calls_of(frozen, layer):
    return {
        (c.judge, c.item, c.prompt, c.order, c.repeat): c
        for c in frozen.iter_calls()
        if c.layer == layer
    }


def test_each_side_is_changed_alone_and_nothing_else_is(make_study, run):
    frozen = freeze(load_study(make_study(add=PROBES)), run)
    base = calls_of(frozen, "audit")
    for side, word in (("candidate_1", "first"), ("candidate_2", "second")):
        probed = calls_of(frozen, f"probe.shout.{side}")
        assert probed.keys() == base.keys()
        for key, call in probed.items():
            before, after = payload_for(frozen, base[key]), payload_for(frozen, call)
            number = call.item.removeprefix("i")
            assert after == before.replace(f"{word} {number}", f"{word} {number}!!!")
            assert call.gold is None
            assert call.stratum == base[key].stratum


def test_what_a_probe_leaves_as_it_is_is_not_asked_and_said(make_study, run):
    loaded = load_study(make_study(add=PROBES))
    frozen = freeze(loaded, run)
    layers = Counter(call.layer for call in frozen.iter_calls())
    assert "probe.strip-markdown.candidate_1" not in layers
    assert left_out(frozen.blueprint) == {"strip-markdown": 12}
    assert layers["probe.identity.candidate_1"] == layers["audit"]


def test_a_frozen_run_reads_back_and_verifies(make_study, run):
    frozen = freeze(load_study(make_study(add=PROBES)), run)
    again = open_run(run)
    assert again.changed == frozen.changed
    checks = {check.name: check.ok for check in verify(run).checks}
    assert checks["identity"]
    assert checks["payloads"]


def test_changed_texts_are_frozen_not_the_rule(make_study, run):
    freeze(load_study(make_study(add=PROBES)), run)
    path = run / "inputs" / "probes.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["candidate_1"] += " tampered"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    checks = {check.name: check for check in verify(run).checks}
    assert not checks["payloads"].ok


def test_another_change_is_another_study(make_study, run):
    freeze(load_study(make_study(add=PROBES)), run)
    with pytest.raises(StudyChangedError, match="probe"):
        freeze(load_study(make_study(add=PROBES.replace("!!!", "???"))), run)


def test_probes_deepen_with_their_layer(make_study, run):
    freeze(load_study(make_study(add=PROBES)), run)
    extend(run, 3)
    layers = Counter(call.layer for call in open_run(run).iter_calls())
    assert layers["probe.shout.candidate_2"] == layers["audit"] == 6 * 6 * 2 * 3
    with pytest.raises(InputError, match="as deep as their layer"):
        extend(run, 4, layer="probe.shout.candidate_2")


def test_a_layer_of_role_probe_sets_the_depth(make_study):
    layers = (
        "layers:\n  - {name: audit, role: audit, repeats: 3}\n"
        "  - {name: changed, role: probe, repeats: 2}\n"
    )
    study = load_study(make_study(add=PROBES + layers)).study
    depth = {layer.name: layer.repeats for layer in study.streams}
    assert depth["audit"] == 3
    assert depth["probe.longer.candidate_1"] == 2
    assert "changed" not in depth


@pytest.mark.parametrize(
    ("add", "words"),
    [
        ("probes: [lnoger]\n", "must be one of longer"),
        ("probes: [longer, longer]\n", "already used"),
        ("probes: [{name: own, append: 'see {candidate_b}'}]\n", "not filled in inside an answer"),
        ("probes: [{name: own, replace: {regex: '(?s).*'}}]\n", "leaves nothing of candidate_1"),
        ("probes: [{name: own, python: 'nowhere:f'}]\n", "nowhere"),
        (
            "probes: [longer]\nlayers: [{name: c, role: control, labels: 2}]\n",
            "audit or evaluation",
        ),
        ("layers: [{name: p, role: probe}]\n", "under probes:"),
        ("probes: [longer]\ngate: {probes: {injection: 0.05}}\n", "'injection', must be one of"),
    ],
)
def test_bad_probes_are_named_with_their_line(make_study, run, add, words):
    path = make_study(add=add)
    with pytest.raises(StudyError, match=words) as failure:
        freeze(load_study(path), run)
    assert "study.yaml:" in str(failure.value)
    assert not (run / "manifest.json").exists()


def test_one_repeat_is_refused(make_study):
    path = make_study(("repeats: 2", "repeats: 1"), add="probes: [longer]\n")
    with pytest.raises(StudyError, match="two repeats or more"):
        load_study(path)


def test_a_change_that_differs_each_time_is_refused(make_study, monkeypatch):
    numbers = count()
    monkeypatch.setattr("string.capwords", lambda text: f"{text} {next(numbers)}")
    path = make_study(add="probes: [{name: own, python: 'string:capwords'}]\n")
    with pytest.raises(StudyError, match="in another way each time"):
        survey(load_study(path))


def test_what_probes_leave_out_and_do_to_gold_is_said(make_study):
    own = "{name: same, replace: {regex: '^(first|second)', by: one}}"
    notes = probe_notes(survey(load_study(make_study(add=f"probes: [strip-markdown, {own}]\n"))))
    assert "probe strip-markdown: changes nothing in" in notes[0]
    assert notes[1].startswith("gold is about answers as they are: changed ones (same)")


def test_answers_that_become_alike_are_said(make_study):
    own = "{name: same, replace: {regex: '^second', by: first}}"
    (_, note, _) = probe_notes(survey(load_study(make_study(add=f"probes: [{own}]\n"))))
    assert "the same as another one (candidate_2 of item" in note
