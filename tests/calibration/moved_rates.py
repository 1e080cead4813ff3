"""How many of the items that are named as moved, or as contested, are so by chance; and power.

    python -m calibration.moved_rates [TABLES]      in tests/

Items roll dice alike under every prompt; in some one prompt flips the verdict, or half of the
prompts do. Contested items leave their commonest verdict in more than one call of ten.
"""

import sys

import numpy as np
from scipy.stats import binom

from judgelaw.streams import stream
from judgelaw.uncertainty import moved_items
from judgelaw.uncertainty.item_moves import FALSE_DISCOVERIES, discoveries

OTHERS = {
    "settled": [0.99],
    "coins": [0.5],
    "mixed": [0.5, 0.8, 0.95, 1.0],
    "ladder": [0.55, 0.65, 0.75, 0.85, 0.95],
}
"""The chance of a verdict on items that no prompt moves."""
PLANTED = ((40, 0, False), (40, 4, False), (40, 4, True), (100, 20, True))
"""Items, how many are moved, and whether by half of the prompts or by one."""


def table(rng, others, *, items, moved, prompts, calls, half):
    """Return calls (items, prompts, verdicts); the first `moved` items are moved."""
    law = rng.choice(OTHERS[others], size=(items, 1)) * np.ones((1, prompts))
    law[:moved] = 0.98
    if half:
        law[:moved, : prompts // 2] = 0.02
    else:
        law[np.arange(moved), rng.integers(0, prompts, moved)] = 0.02
    yes = rng.binomial(calls, law)
    return np.stack([yes, calls - yes], axis=-1)


def measure(others, tables, seed, **how):
    """Return the mean share of false discoveries, its error, and the power."""
    rng, moved = stream(seed, "moved", others, str(sorted(how.items()))), how["moved"]
    names = tuple(map(str, range(how["prompts"])))
    false, hits = [], 0
    for _ in range(tables):
        shown = moved_items(table(rng, others, **how), names).shown
        false.append(shown[moved:].sum() / max(shown.sum(), 1))
        hits += int(shown[:moved].sum())
    power = hits / (tables * moved) if moved else np.nan
    return float(np.mean(false)), float(np.std(false) / tables**0.5), power


def contested(tables, seed, *, items, share, calls):
    """Return the false discovery rate and power of contested items, planted at .35 beside .1."""
    rng = stream(seed, "contested", items, calls)
    planted, false, hits = round(items * share), [], 0
    for _ in range(tables):
        law = np.full(items, 0.1)
        law[:planted] = 0.35
        off = rng.binomial(calls, law)
        off = np.minimum(off, calls - off)
        p = np.where(off > 0, binom.sf(off - 1, calls, 0.1), 1.0)
        shown = discoveries(p, FALSE_DISCOVERIES)
        false.append(shown[planted:].sum() / max(shown.sum(), 1))
        hits += int(shown[:planted].sum())
    return float(np.mean(false)), hits / (tables * planted)


def main(tables):
    """Print the table."""
    for prompts, calls in ((6, 4), (6, 8), (2, 4), (2, 8), (3, 16)):
        for others in OTHERS:
            line = []
            for items, moved, half in PLANTED:
                how = {"items": items, "moved": moved, "prompts": prompts, "calls": calls}
                rate, error, power = measure(others, tables, 1, half=half, **how)
                line.append(f"{rate:.3f} ({error:.3f}) {power:.2f}")
            print(f"K = {prompts}, {calls} calls, {others}: " + " | ".join(line), flush=True)
    for calls in (8, 24, 48):
        rate, power = contested(tables, 1, items=40, share=0.1, calls=calls)
        print(f"contested, {calls} calls: {rate:.3f}, power {power:.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 700)
