"""The probes of every judge: which layers hold them, what they show, and that in one sentence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import ceil, isnan
from typing import Any

import numpy as np

from judgelaw.analysis.values import JudgeAnalysis, Key
from judgelaw.arrays import Floats
from judgelaw.blocks import Place, Run, Value, joined
from judgelaw.diagnose import Changed, ProbeEffect, Where, probe_effects, shift_interval
from judgelaw.errors import InputError
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import Interval, Scope
from judgelaw.words import probed_by, visible

Tensors = Mapping[Key, VerdictTensor]
Sides = dict[str, list[Changed]]
"""The changed sides of every probe, by its name."""

_FAVOURABLE = {"pass", "yes", "true", "good", "correct", "accept", "safe"}
_TIE = "tie"
_DOES = {
    "longer": "making an answer longer",
    "shorter-whitespace": "removing blank space",
    "add-markdown": "adding markdown",
    "strip-markdown": "removing markdown",
    "authority": "adding an expert's name",
    "name": "adding a model's name",
    "hint": "saying that the user preferred it",
    "injection": "telling the judge to choose it",
    "typos": "adding typos",
    "identity": "changing nothing (the control)",
}


def without_probes(tensors: Tensors) -> Tensors:
    """Return the streams that ask about answers as they are; all, where there are no such."""
    plain = {key: tensor for key, tensor in tensors.items() if probed_by(key[0]) is None}
    return plain or tensors


def find_effects(
    tensors: Tensors, main: str | None, *, seed: int = 0
) -> dict[str, dict[str, ProbeEffect]]:
    """Return what the probes of each judge show, held against the main layer, by name.

    All judges, and all criteria, are one family.
    """
    if probed_by(main) is not None:
        return {}
    probed = {
        judge: probes for judge, probes in _probes(tensors).items() if (main, judge) in tensors
    }
    return {
        judge: {
            effect.probe: effect
            for effect in probe_effects(
                tensors[main, judge], probes, families=len(probed), seed=seed
            )
        }
        for judge, probes in probed.items()
    }


def probe_interval(
    tensors: Tensors, main: str | None, judge: str, probe: str, *, scope: Scope, level: float
) -> Interval:
    """Return the shift of one probe of one judge.

    Raises:
        InputError: the calls hold no such probe.
    """
    known = _probes(tensors).get(judge, {})
    if probe not in known:
        there = ", ".join(known) or "none"
        raise InputError(
            f"no probe is called {probe!r} for {judge}: there are {there}; list it under probes: "
            "in the study"
        )
    return shift_interval(tensors[main, judge], probe, known[probe], scope=scope, level=level)


def _probes(tensors: Tensors) -> dict[str, Sides]:
    found: dict[str, Sides] = {}
    for (layer, judge), tensor in tensors.items():
        if (probed := probed_by(layer)) is not None:
            probe, side = probed
            changed = Changed(side=side, calls=tensor, scores=_scores(tensor.verdicts, side))
            found.setdefault(judge, {}).setdefault(probe, []).append(changed)
    return found


def _scores(verdicts: Sequence[str], side: str) -> Floats:
    """Return the score of each verdict, from 0 to 1, seen from the changed answer."""
    if side != "answer":
        return np.array([1.0 if v == side else 0.5 if v == _TIE else 0.0 for v in verdicts])
    numbers = {v: _number(v) for v in verdicts if v != INVALID}
    scale = [x for x in numbers.values() if x is not None]
    if len(scale) == len(numbers) and len(set(scale)) > 1:
        low, high = min(scale), max(scale)
        placed = {v: x for v, x in numbers.items() if x is not None}
        return np.array([placed.get(v, low) - low for v in verdicts]) / (high - low)
    return np.array([float(v.lower() in _FAVOURABLE) for v in verdicts])


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if isnan(value) else value


def probe_sentence(judge: JudgeAnalysis, place: Place) -> Run:
    """Say what the probes show: what moves verdicts and how far, and how little the rest can.

    `place` is where the document holds the probes.
    """
    effects = [*judge.probes.values()]
    span = None if judge.scores is None else judge.scores.scale[-1] - judge.scores.scale[0]
    rest = [effect for effect in effects if not effect.real]
    said = [_moves(effect, span, place.at(effect.probe)) for effect in effects if effect.real]
    if rest:
        said.append(_at_most(rest, span, place))
    items = max(effect.items for effect in effects)
    return (f"On these {items} items, ", *joined(said, "; ", "; "), ".")


def _moves(effect: ProbeEffect, span: float | None, place: Place) -> Run:
    """Say how far a probe moves verdicts, or scores of so wide a scale."""
    does, shift = _does(effect), effect.shift_asked
    if isnan(shift.estimate) or shift.low <= 0 <= shift.high:
        return (f"{does} changes verdicts, in no direction that is shown",)
    up = shift.estimate > 0
    at = place.at("shift_asked")

    def size(key: str) -> Value:
        x = abs(getattr(shift, key))
        return at.at(key).said(f"{100 * x:.0f}" if span is None else f"{span * x:.2f}")

    ends = ("low", "high") if up else ("high", "low")
    low, high = map(size, ends)
    if span is not None:
        way = "raises" if up else "lowers"
        return (
            f"{does} {way} the score by ",
            size("estimate"),
            " points (",
            low,
            " to ",
            high,
            ")",
        )
    toward = "toward" if up else "away from"
    return (
        f"{does} moves ",
        size("estimate"),
        f" of 100 verdicts {toward} the changed answer (",
        low,
        " to ",
        high,
        ")",
    )


def _at_most(effects: Sequence[ProbeEffect], span: float | None, place: Place) -> Run:
    listed = ", ".join(_does(effect) for effect in effects)
    bounded = [effect for effect in effects if not isnan(effect.at_most)]
    if not bounded:
        return (f"no effect is shown of {listed}",)
    most = max(bounded, key=lambda effect: effect.at_most)
    x = most.at_most
    bound = f"{ceil(100 * x)}" if span is None else f"{ceil(100 * span * x) / 100:.2f}"
    unit = " of 100" if span is None else " points"
    at = place.at(most.probe, "at_most").said(bound)
    return (f"no effect is shown of {listed}: at most ", at, unit)


def where_largest(effect: ProbeEffect, place: Place) -> Run:
    """Say under which prompt, in which stratum and on which items a real shift is largest."""
    if not effect.real or isnan(effect.shift.estimate):
        return ()

    def placed(group: str, i: int, at: Where) -> Run:
        shift = place.at(group, i, "shift").said(points_of_100(at.shift))
        return (f"{visible(at.name)} (", shift, ")")

    parts: list[Run] = [
        *(("under prompt ", *placed("by_prompt", 0, at)) for at in effect.by_prompt[:1]),
        *(("in stratum ", *placed("by_stratum", 0, at)) for at in effect.by_stratum[:1]),
    ]
    shown = [placed("by_item", i, x) for i, x in enumerate(effect.by_item) if x.shown]
    if shown:
        parts.append(("on items ", *joined(shown, last=", ")))
    if not parts:
        return ()
    sure = "; of items named so 1 in 20 at most is by chance" if shown else ""
    return (
        f"{visible(effect.probe)} changes most ",
        *joined(parts, last=", "),
        f"; points of 100{sure}.",
    )


def points_of_100(shift: float) -> str:
    """Write a shift with its sign; what rounds to zero has none of its own."""
    return f"{round(100 * shift, 1) + 0.0:+.1f}"


def _does(effect: ProbeEffect) -> str:
    return _DOES.get(effect.probe, f"the change {effect.probe!r}")


def encode_effects(effects: Sequence[ProbeEffect]) -> dict[str, Any]:
    """Return the probes of a judge as plain values, by name."""
    return {effect.probe: dict(_encoded(effect)) for effect in effects}


def _encoded(effect: ProbeEffect) -> Iterator[tuple[str, Any]]:
    for name, value in vars(effect).items():
        if isinstance(value, Interval):
            yield name, {"estimate": value.estimate, "low": value.low, "high": value.high}
        elif isinstance(value, tuple):
            yield name, [asdict(part) for part in value]
        else:
            yield name, value
