"""Judges whose laws have the component profiles that the paper prints."""

from dataclasses import replace
from math import ceil, floor, sqrt

import numpy as np

from judgelaw.replication import published
from judgelaw.tensor import DEFAULT_VERDICTS, VerdictTensor
from judgelaw.worlds import components_of, draw_ranked

QWEN, K, O = "Qwen3.6-27B", 6, 2
JUDGES = {
    QWEN: "Qwen/Qwen3.6-27B",
    "GPT-OSS-120B": "gpt-oss-120b",
    "Gemma-3-27B-IT": "gemma-3-27b-it",
    "Claude Haiku 4.5": "claude-haiku-4-5",
}
PARTS = ("prompt", "order", "interaction")
SIGNS = {
    "prompt": np.repeat([1, 1, 1, -1, -1, -1], O).reshape(K, O),
    "order": np.tile([1, -1], (K, 1)),
    "interaction": np.outer([1, 1, 1, -1, -1, -1], [1, -1]),
}


def profile(judge):
    """The printed components of a judge; a law has no negative one."""
    row = published()["tab:cross-model-components"].row(judge=judge)
    return {part: max(float(row[part]), 0.0) for part in ("call", *PARTS)}


def layer_profile(label, layer, repeats):
    rows = published()[label].rows
    chosen = [r for r in rows if (r["layer"], r["repeats"]) == (layer, repeats)]
    return {r["component"]: float(r["estimate"]) for r in chosen}


def laws_of(components, items, failing=(0, 0.0), ties=0):
    """Laws (items, prompts, orders, 4) whose mean components are these.

    An unsettled item has two verdicts at one half, moved by effects whose squares add up to e: its
    components are the effects and call 1/2 - e. So items x total x 2 of them are needed; one item
    takes what is left as call. The effects lie on as many items as they fit in.

    `failing` are otherwise settled items whose calls end invalid at a rate; as many unsettled ones
    as `ties` answer tie in place of the second candidate.
    """
    total = sum(components[part] for part in ("call", *PARTS))
    broken, rate = failing
    total -= broken / items * 2 * rate * (1 - rate)
    unsettled = floor(2 * items * total)
    found = (with_effects(components, items, unsettled, m) for m in (8, 4, 3, 2, 1.5, 1.2, 1))
    shift = next(shift for shift in found if np.abs(shift).max() <= 0.5)
    shift[unsettled] = sqrt(1 - 2 * (items * total - unsettled / 2)) / 2
    shift[unsettled + 1 :] = 0.5
    # Every second item prefers the other candidate, so that both are as frequent.
    shift[1::2] *= -1
    laws = np.zeros((items, K, O, 4))
    laws[..., 0], laws[..., 1] = 0.5 + shift, 0.5 - shift
    laws[:ties, ..., 2], laws[:ties, ..., 1] = laws[:ties, ..., 1], 0.0
    laws[items - broken :] *= 1 - rate
    laws[items - broken :, ..., 3] = rate
    true = components_of(laws)
    for part in ("call", *PARTS):
        assert abs(getattr(true, part) - components[part]) < 1e-9
    return laws


def with_effects(components, items, unsettled, multiple):
    """Order effects on the first unsettled items, the others on the last ones."""
    shift, last = np.zeros((items, K, O)), unsettled
    for part in PARTS:
        n = min(unsettled, ceil(multiple * 2 * items * components[part]))
        if not n:
            continue
        at = slice(n) if part == "order" else slice(max(last - n, 0), max(last, n))
        last -= n * (part != "order")
        shift[at] += sqrt(items * components[part] / n / 2) * SIGNS[part]
    return shift


def drawn(laws, repeats, rng, chosen):
    codes = draw_ranked(laws[chosen], repeats, rng)
    strata = tuple("abcde"[i % 5] for i in chosen)
    tensor = VerdictTensor.from_ranked(
        codes, verdicts=DEFAULT_VERDICTS, items=tuple(f"i{i}" for i in chosen)
    )
    # The candidate that a judge prefers is the right one for about three items of four.
    wrong = (chosen // 2) % 4 == 3
    gold = tuple(DEFAULT_VERDICTS[(i % 2) ^ int(w)] for i, w in zip(chosen, wrong, strict=True))
    return replace(tensor, strata=strata, gold=gold)


def fresh_calls(seed, *, share=1.0, changed=None):
    """Calls of the whole protocol by judges of the published laws.

    `changed` is {judge: {component: what is added to it in the panel}}; `share` of the items are
    drawn at random from those of the laws.
    """
    rng = np.random.default_rng(seed)
    matched = np.sort(rng.choice(50, round(50 * share), replace=False))
    broad = np.sort(rng.choice(369, round(369 * share), replace=False))
    deep = layer_profile("tab:decomposition", "reference", "16")
    null = {**deep, "prompt": 0.0, "interaction": 0.0}
    wide = layer_profile("tab:supp_broad_decomposition", "broad", "4")
    laws = laws_of(with_change(deep, changed, QWEN), 50, (2, 0.1), ties=3)
    qwen = JUDGES[QWEN]
    null = laws_of(null, 50, (8, 0.09))
    wide = laws_of(with_change(wide, changed, QWEN), 369, (40, 0.05), ties=15)
    found = {
        ("control", qwen): drawn(null, 8, rng, matched),
        ("evaluation", qwen): drawn(laws, 8, rng, matched),
        ("reference", qwen): drawn(laws, 16, rng, matched),
        ("broad", qwen): drawn(wide, 4, rng, broad),
    }
    for judge, name in JUDGES.items():
        if judge != QWEN:
            own = laws_of(with_change(profile(judge), changed, judge), 50)
            found["panel", name] = drawn(own, 4, rng, matched)
    return found


def with_change(components, changed, judge):
    added = (changed or {}).get(judge, {})
    return {part: components[part] + added.get(part, 0.0) for part in ("call", *PARTS)}
