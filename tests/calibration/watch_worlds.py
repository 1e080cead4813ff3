"""Judges over dates whose law is known: false alarms of stable ones, and moves that are caught.

    python -m calibration.watch_worlds [SERIES]      in tests/: the figures of the documentation

Forty items, three calls a date. An item's chance of a verdict has the logit of a normal law with
spread 3: most items are settled, some are not.
"""

import sys

import numpy as np

from judgelaw.labels.alarm import PERMUTATIONS, look, step, threshold
from judgelaw.streams import stream

ITEMS, REPEATS, LOOKS, BEFORE, WITHIN = 40, 3, 52, 12, 4
DRAWS = PERMUTATIONS
SCORE = np.array([0.0, 1.0])


def laws(rng):
    """Draw the chance of each item."""
    return 3 * rng.standard_normal(ITEMS)


def shifted(logit, _rng):
    """All items lean further to one side."""
    return logit + 1.0


def heated(logit, _rng):
    """The judge is asked at three times the temperature."""
    return logit / 3


def flipped(logit, rng):
    """Three items turn round."""
    moved = logit.copy()
    which = rng.choice(ITEMS, size=3, replace=False)
    moved[which] = -moved[which]
    return moved


MOVES = {"shift": shifted, "temperature": heated, "three items": flipped}


def wave(logit, rng, shock=0.0):
    """Draw the calls of one date, (items, verdicts)."""
    p = 1 / (1 + np.exp(-(logit + shock * rng.standard_normal())))
    yes = rng.binomial(REPEATS, p)
    return np.stack([REPEATS - yes, yes], axis=1)


def alarms(rng, *, move=None, after=LOOKS, looks=LOOKS, shock=0.0):
    """Return the look at which a series alarms, None where it never does.

    Args:
        rng: the stream.
        move: what happens to the judge.
        after: looks before it happens.
        looks: looks made.
        shock: spread of a harmless shock that all calls of a date share, on the logit.
    """
    logit = laws(rng)
    before = wave(logit, rng, shock)
    chart, limit = (0.0, 0.0), threshold(LOOKS)
    for t in range(looks):
        if t == after:
            logit = move(logit, rng)
        now = wave(logit, rng, shock)
        chart = step(chart, look(now, before, SCORE, draws=DRAWS, random=rng).p)
        if max(chart) >= limit:
            return t
        before = before + now
    return None


def false_alarms(series, seed, shock=0.0):
    """Count stable series that alarm."""
    rng = stream(seed, "stable", str(shock))
    return sum(alarms(rng, shock=shock) is not None for _ in range(series))


def caught(name, series, seed):
    """Count moves that are caught within four looks; a false alarm before does not count."""
    rng = stream(seed, "moved", name)
    found = (
        alarms(rng, move=MOVES[name], after=BEFORE, looks=BEFORE + WITHIN) for _ in range(series)
    )
    return sum(t is not None and t >= BEFORE for t in found)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for name in MOVES:
        print(
            f"{name}: caught within {WITHIN} looks {caught(name, count, 1) / count:.3f}", flush=True
        )
    print(f"stable: false alarms {false_alarms(count, 1) / count:.3f}", flush=True)
    shocks = false_alarms(count // 2, 1, shock=0.15)
    print(f"stable with shared shocks: alarms {shocks / (count // 2):.3f}", flush=True)
