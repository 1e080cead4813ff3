"""The probes of every judge: which layers hold them, what they show, and that in one sentence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import ceil, isnan
from typing import Any

import numpy as np

from judgelaw.analysis.values import Key
from judgelaw.arrays import Floats
from judgelaw.diagnose import Changed, ProbeEffect, probe_effects, shift_interval
from judgelaw.errors import InputError
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import Interval, Scope
from judgelaw.words import probed_by

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
    """Return what the probes of each judge show, held against the main layer, by name."""
    return {
        judge: {e.probe: e for e in probe_effects(tensors[main, judge], probes, seed=seed)}
        for judge, probes in _probes(tensors).items()
        if (main, judge) in tensors and probed_by(main) is None
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


def probe_sentence(effects: Sequence[ProbeEffect]) -> str:
    """Say what the probes show: what moves verdicts and how far, and how little the rest can."""
    real = [effect for effect in effects if effect.real]
    rest = [effect for effect in effects if not effect.real]
    said = [*map(_moves, real), *([_at_most(rest)] if rest else [])]
    items = max(effect.items for effect in effects)
    return f"On these {items} items, {'; '.join(said)}."


def _moves(effect: ProbeEffect) -> str:
    does, shift = _does(effect), effect.shift_asked
    if isnan(shift.estimate) or shift.low <= 0 <= shift.high:
        return f"{does} changes verdicts, in no direction that is shown"
    toward = "toward" if shift.estimate > 0 else "away from"
    low, high = sorted((abs(100 * shift.low), abs(100 * shift.high)))
    return (
        f"{does} moves {abs(100 * shift.estimate):.0f} of 100 verdicts {toward} the changed answer "
        f"({low:.0f} to {high:.0f})"
    )


def _at_most(effects: Sequence[ProbeEffect]) -> str:
    listed = ", ".join(_does(effect) for effect in effects)
    bounds = [effect.at_most for effect in effects if not isnan(effect.at_most)]
    if not bounds:
        return f"no effect is shown of {listed}"
    return f"no effect is shown of {listed}: at most {ceil(100 * max(bounds))} of 100"


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
