"""A dozen small tables, one of each kind, drawn by hashes: the same on every machine."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from judgelaw.analysis import Analysis, analyze
from judgelaw.estimate import Estimand
from judgelaw.scale import ScoreScale
from judgelaw.tensor import DEFAULT_VERDICTS, VerdictTensor
from judgelaw.words import candidate_names, stream_name

LABELS = ("pass", "fail", "invalid")
SCORES = ("1", "2", "3", "4", "5", "invalid")
Law = Callable[[int, int, int], tuple[float, ...]]
"""Shares of the verdicts of an item under a prompt and an order."""


def unit(*place: object) -> float:
    """Return a number in [0, 1) that belongs to a place."""
    digest = hashlib.sha256("/".join(map(str, place)).encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


def drawn(
    law: Law,
    *,
    items: int = 6,
    prompts: tuple[str, ...] = ("plain", "xml", "strict"),
    orders: tuple[str, ...] = ("AB", "BA"),
    repeats: int = 4,
    verdicts: tuple[str, ...] = DEFAULT_VERDICTS,
    seed: int = 0,
    **labels: object,
) -> VerdictTensor:
    """Draw every call by the hash of its place."""
    ranked = np.empty((items, len(prompts), len(orders), repeats), dtype=int)
    for i, k, o, r in np.ndindex(ranked.shape):
        edges = np.cumsum(law(i, k, o))
        ranked[i, k, o, r] = int((unit(seed, i, k, o, r) >= edges[:-1] / edges[-1]).sum())
    calls = VerdictTensor.from_ranked(
        ranked,
        items=[f"item-{i}" for i in range(items)],
        prompts=prompts,
        orders=orders,
        verdicts=verdicts,
    )
    return replace(calls, **labels)


def pairs(i: int, k: int, o: int) -> tuple[float, ...]:
    """Lean to a candidate by item, to the first by order, and away under the third prompt."""
    p = 0.15 + 0.7 * unit("item", i) + (0.1 if o == 0 else -0.1)
    p = 1 - p if k == 2 and i % 2 else p
    return (min(0.93, max(0.02, p)), 1 - min(0.93, max(0.02, p)), 0.06, 0.03)


def _gold(items: int, verdicts: tuple[str, ...] = DEFAULT_VERDICTS) -> tuple[str, ...]:
    return tuple(verdicts[i % 2] for i in range(items))


def _labels(i: int, k: int, _: int) -> tuple[float, ...]:
    p = (0.9 if i % 3 else 0.3) - 0.1 * k
    return (p, 1 - p, 0.02)


def _scores(i: int, k: int, _: int) -> tuple[float, ...]:
    at = 1 + 4 * unit("score", i) + 0.4 * k
    return (*(max(0.02, 1 - abs(at - s)) for s in range(1, 6)), 0.02)


def _slots(i: int, _: int, o: int) -> tuple[float, ...]:
    shares = [0.2 + unit("slot", i, c) for c in range(3)]
    shares["ABC".index(("ABC", "BCA", "CAB")[o][0])] += 0.6
    return (*shares, 0.1, 0.05)


def _crossed(i: int, k: int, o: int) -> tuple[float, ...]:
    return pairs(i, 2 if k // 2 else 0, o)


def _with_vectors(tensor: VerdictTensor, law: Law) -> VerdictTensor:
    soft = np.empty((*tensor.ranked.shape, len(tensor.verdicts)))
    for i, k, o, r in np.ndindex(tensor.ranked.shape):
        shares = np.array(law(i, k, o)) * [1 + 0.2 * unit("move", i, k, o, r), 1, 1, 1]
        soft[i, k, o, r] = shares / shares.sum()
    return replace(tensor, soft=soft)


def _pulled(side: int) -> Law:
    def law(i: int, k: int, o: int) -> tuple[float, ...]:
        shares = list(pairs(i, k, o))
        moved = 0.6 * shares[1 - side]
        shares[side] += moved
        shares[1 - side] -= moved
        return tuple(shares)

    return law


def _same(i: int, *_: int) -> tuple[float, ...]:
    return pairs(i, 0, 0)


def _loud(i: int, k: int, o: int) -> tuple[float, ...]:
    shares = pairs(i, k, o)
    return (*shares[:3], 3.0) if k == 1 else shares


def _probed() -> dict:
    names = ("probe.longer.candidate_1", "probe.longer.candidate_2")
    more = {
        (name, "j"): drawn(_pulled(side), prompts=("plain", "xml"), seed=8 + side, layer=name)
        for side, name in enumerate(names)
    }
    return {("audit", "j"): drawn(pairs, prompts=("plain", "xml"), layer="audit"), **more}


def worlds() -> Mapping[str, dict]:
    """Return the tables by name, as arguments of `analyze`."""
    gold, strata = _gold(6), ("a", "b") * 3
    three = candidate_names(3)
    crossed = tuple(f"wrapper={a},language={b}" for a in ("plain", "xml") for b in ("en", "de"))
    scale = ScoreScale(values=(1.0, 2.0, 3.0, 4.0, 5.0))
    of_pairs = drawn(pairs, gold=gold, strata=strata)
    return {
        "pairs": {"tensors": {(None, "j"): of_pairs}},
        "no gold, three calls": {"tensors": {(None, "j"): drawn(pairs, repeats=3)}},
        "two judges": {
            "tensors": {
                (None, "a"): of_pairs,
                (None, "b"): drawn(pairs, gold=gold, strata=strata, seed=5),
            }
        },
        "criteria": {
            "tensors": {
                (None, stream_name("j", name)): drawn(
                    _labels,
                    orders=("only",),
                    verdicts=LABELS,
                    gold=_gold(6, LABELS),
                    seed=seed,
                    criterion=name,
                )
                for seed, name in enumerate(("safe", "polite"))
            }
        },
        "scores": {
            "tensors": {
                (None, "j"): drawn(
                    _scores,
                    orders=("only",),
                    verdicts=SCORES,
                    scale=scale,
                    gold=tuple(SCORES[i % 5] for i in range(6)),
                )
            }
        },
        "choose": {
            "tensors": {
                (None, "j"): drawn(
                    _slots,
                    prompts=("plain", "xml"),
                    orders=("ABC", "BCA", "CAB"),
                    verdicts=(*three, "tie", "invalid"),
                    gold=tuple(three[i % 3] for i in range(6)),
                )
            }
        },
        "factors": {"tensors": {(None, "j"): drawn(_crossed, prompts=crossed)}},
        "drawn prompts": {
            "tensors": {(None, "j"): of_pairs},
            "estimand": Estimand(design="sampled"),
        },
        "layers": {
            "tensors": {
                (layer, "j"): drawn(
                    _same if layer == "control" else pairs,
                    repeats=8 if layer == "reference" else 4,
                    seed=seed,
                    gold=gold,
                    layer=layer,
                )
                for seed, layer in enumerate(("evaluation", "reference", "control"))
            },
        },
        "probes": {"tensors": _probed()},
        "token probabilities": {"tensors": {(None, "j"): _with_vectors(drawn(pairs), pairs)}},
        "one call": {"tensors": {(None, "j"): drawn(pairs, repeats=1, gold=gold)}},
        "many invalid": {"tensors": {(None, "j"): drawn(_loud, gold=gold)}},
    }


def analysed(world: dict) -> Analysis:
    """Analyse with few draws, which are seeded."""
    return analyze(**world, draws=50, permutations=9, seed=1)
