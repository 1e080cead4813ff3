"""Every estimate a second time, by counting pairs of calls one by one.

This module shares no code with the estimators: no arrays, no moments, no identities. It writes out
the calls of every cell, walks over pairs of distinct calls, and averages agreement as the
definition says (paper S3.2). It is slow on purpose; `judgelaw verify --recompute` compares it with
what was reported.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

from judgelaw.tensor import VerdictTensor

Calls = list[list[list[int]]]
"""Verdicts of one item's calls by prompt, then order."""
Far = list[list[float]] | None
"""How far two verdicts are apart; None where they are the same or not."""
_NAMES = ("call", "prompt", "order", "interaction", "total")
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Recounted:
    """Components by pair counting: corrected, and plug-in with self-pairs."""

    corrected: Mapping[str, float]
    plugin: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What pair counting says of a reported analysis.

    Attributes:
        compared: how many figures were counted again.
        largest: the largest difference.
        mismatches: one sentence for each figure that differs by more than rounding.
    """

    compared: int
    largest: float
    mismatches: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every figure came out again."""
        return self.compared > 0 and not self.mismatches


def recount(
    tensor: VerdictTensor,
    *,
    design: str = "census",
    order_weights: Mapping[str, float] | None = None,
) -> Recounted:
    """Estimate the components of a table by counting pairs of calls."""
    return _macro(list(recount_items(tensor, design=design, order_weights=order_weights)))


def recount_items(
    tensor: VerdictTensor,
    *,
    design: str = "census",
    order_weights: Mapping[str, float] | None = None,
) -> Iterator[Recounted]:
    """Estimate the components of every item by counting pairs of its calls."""
    q = [1 / len(tensor.orders)] * len(tensor.orders)
    if order_weights is not None:
        q = [order_weights[name] for name in tensor.orders]
    apart = None if tensor.scale is None else tensor.scale.distances(tensor.verdicts)
    far = None if apart is None else apart.tolist()
    for item in _items(tensor):
        yield Recounted(
            corrected=_components(item, q, design, far, self_pairs=False),
            plugin=_components(item, q, design, far, self_pairs=True),
        )


def check_document(document: Mapping[str, Any], tensors: Mapping[Any, VerdictTensor]) -> Comparison:
    """Count every estimate of a `judgelaw.analysis/1` document again: each depth, stratum and item.

    `tensors` are the calls behind it, by (layer or None, judge).
    """
    declared = {key: document["settings"][key] for key in ("design", "order_weights")}
    compared, largest, mismatches = 0, 0.0, []
    for (layer, judge), tensor in tensors.items():
        stream = judge if layer is None else f"{judge} / {layer}"
        reported = _reported(document, layer, judge)
        if not reported:
            mismatches.append(f"{stream}: its calls are there, its estimates are not")
        for figure, value, counted in _figures(reported, tensor, declared):
            compared += 1
            gap = _gap(value, counted)
            largest = max(largest, gap)
            if gap > _ROUNDING:
                mismatches.append(f"{stream}, {figure}: reported {value}, counted {counted}")
    return Comparison(compared=compared, largest=largest, mismatches=tuple(mismatches))


def _items(tensor: VerdictTensor) -> Iterator[Calls]:
    """Write out the calls of every item from its counts."""
    for item in tensor.counts.tolist():
        yield [
            [[verdict for verdict, n in enumerate(cell) for _ in range(n)] for cell in prompt]
            for prompt in item
        ]


def _agreement(a: list[int], b: list[int], far: Far, *, same: bool, self_pairs: bool) -> float:
    """Return the share of agreeing pairs of a call of `a` and a call of `b`.

    Where both are the same cell a call is paired with itself only if `self_pairs` says so. Scores
    agree by 1 minus how far they are apart.
    """
    agree, pairs = 0.0, 0
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            if same and i == j and not self_pairs:
                continue
            pairs += 1
            agree += x == y if far is None else 1 - far[x][y]
    return agree / pairs


def _components(
    item: Calls, q: Sequence[float], design: str, far: Far, *, self_pairs: bool
) -> dict[str, float]:
    K, O = len(item), len(q)
    w = 1 / K

    def pair(k: int, o: int, l: int, p: int) -> float:
        key = min((k, o, l, p), (l, p, k, o))
        if key not in known:
            same = (k, o) == (l, p)
            known[key] = _agreement(item[k][o], item[l][p], far, same=same, self_pairs=self_pairs)
        return known[key]

    known: dict[tuple[int, int, int, int], float] = {}
    prompts, orders = range(K), range(O)
    H_XO = sum(w * q[o] * pair(k, o, k, o) for k in prompts for o in orders)
    H_X = sum(w * q[o] * q[p] * pair(k, o, k, p) for k in prompts for o in orders for p in orders)
    if design == "sampled":
        couples = [(k, l) for k in prompts for l in prompts if k != l]
        v = 1 / len(couples)
    else:
        couples = [(k, l) for k in prompts for l in prompts]
        v = w * w
    H_O = sum(v * q[o] * pair(k, o, l, o) for k, l in couples for o in orders)
    H_0 = sum(
        v * q[o] * q[p] * pair(k, o, l, p) for k, l in couples for o in orders for p in orders
    )
    one_prompt, one_order = K == 1, O == 1
    return {
        "call": 1 - H_XO,
        "prompt": nan if one_prompt else H_X - H_0,
        "order": nan if one_order else H_O - H_0,
        "interaction": nan if one_prompt or one_order else H_XO - H_X - H_O + H_0,
        "total": 1 - H_0,
    }


def _macro(items: Sequence[Recounted]) -> Recounted:
    return Recounted(
        corrected={c: sum(i.corrected[c] for i in items) / len(items) for c in _NAMES},
        plugin={c: sum(i.plugin[c] for i in items) / len(items) for c in _NAMES},
    )


def _reported(document: Mapping[str, Any], layer: str | None, judge: str) -> list[Any]:
    """Return every place where a stream is reported: the main layer stands twice."""
    places = [document.get("layers", {}).get(layer, {}).get(judge)]
    if layer == document.get("main_layer"):
        places.append(document["judges"].get(judge))
    return [place for place in places if place is not None]


Figure = tuple[str, float | None, float]
"""What it is, what was reported, what was counted."""


def _figures(
    reported: Sequence[Mapping[str, Any]], tensor: VerdictTensor, declared: Mapping[str, Any]
) -> Iterator[Figure]:
    items = list(recount_items(tensor, **declared))
    for place in reported:
        yield from _figures_of(place, items, tensor, declared)


def _figures_of(
    reported: Mapping[str, Any],
    items: list[Recounted],
    tensor: VerdictTensor,
    declared: Mapping[str, Any],
) -> Iterator[Figure]:
    yield from _components_shown("", reported["components"], _macro(items))
    for name, shown in reported["strata"].items():
        inside = [i for i, s in zip(items, tensor.strata or (), strict=True) if s == name]
        yield from _components_shown(f"stratum {name}, ", shown, _macro(inside))
    values = reported["item_values"]
    for at, (name, item) in enumerate(zip(tensor.items, items, strict=True)):
        for c in _NAMES:
            yield f"item {name}, {c}", values["estimates"][c][at], item.corrected[c]
            yield f"item {name}, plug-in {c}", values["plugin"][c][at], item.plugin[c]
    if tensor.ranked is not None:
        for depth, shown in reported["depths"].items():
            prefix = tensor.prefix(int(depth)).complete("drop")
            yield from _components_shown(f"R = {depth}, ", shown, recount(prefix, **declared))


def _components_shown(where: str, shown: Mapping[str, Any], again: Recounted) -> Iterator[Figure]:
    for name in _NAMES:
        component = shown[name]
        yield f"{where}{name}", component and component["estimate"], again.corrected[name]
        yield f"{where}plug-in {name}", component and component["plugin"], again.plugin[name]


def _gap(value: float | None, counted: float) -> float:
    """Return how far two figures are apart; absent in both is no distance."""
    if value is None or isnan(counted):
        return 0.0 if value is None and isnan(counted) else float("inf")
    return abs(value - counted)
