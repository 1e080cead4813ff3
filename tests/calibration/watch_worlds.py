"""Judges over dates whose law is known: false alarms of stable ones, and moves that are caught.

    python -m calibration.watch_worlds [SERIES]      in tests/: the figures of the documentation
    python -m calibration.watch_worlds null [SERIES] false alarms at 12, 26, 52 and 104 looks
    python -m calibration.watch_worlds first         moves that alarm at their first date

Forty items, three calls a date. An item's chance of a verdict has the logit of a normal law with
spread 3: most items are settled, some are not.
"""

import sys

import numpy as np

from judgelaw.labels.alarm import PERMUTATIONS, THRESHOLDS, limits, look, step
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
    chart, limit = (0.0, 0.0), limits(LOOKS)
    for t in range(looks):
        if t == after:
            logit = move(logit, rng)
        now = wave(logit, rng, shock)
        p = look(now, before, SCORE, draws=DRAWS, random=rng).p
        chart = step(chart, p)
        if limit.alarmed(chart, p):
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


STABLE = {
    "16 settled items": (np.full(16, 0.01), 4),
    "eight coins": (np.full(8, 0.5), 3),
    "40 items, 1% slips": (np.full(40, 0.01), 4),
}
"""Judges that do not change: the chance of a verdict on each item, and calls a date."""


def stable_alarms(name, series, seed, looks=104):
    """Count series of a stable judge that alarm within each declared number of looks."""
    law, repeats = STABLE[name]
    rng = stream(seed, "null", name)
    found = dict.fromkeys((n for n in THRESHOLDS if n <= looks), 0)
    for _ in range(series):
        yes = rng.binomial(repeats, law, size=(looks + 1, len(law)))
        waves = np.stack([repeats - yes, yes], axis=-1)
        chart, open_ = (0.0, 0.0), set(found)
        before = waves[0].copy()
        for t in range(1, looks + 1):
            p = look(waves[t], before, SCORE, draws=DRAWS, random=rng).p
            chart = step(chart, p)
            before += waves[t]
            for n in [n for n in open_ if t <= n and limits(n).alarmed(chart, p)]:
                found[n] += 1
                open_.discard(n)
            if not open_:
                break
    return found


def at_once(share, series, seed, *, items=50, repeats=4, earlier=1, slip=0.01, coins=False):
    """Count moves that alarm at their first date: verdicts of a share of items turn round."""
    rng = stream(seed, "at once", str(share), items, repeats, earlier, str(coins))
    limit, caught_ = limits(LOOKS), 0
    for _ in range(series):
        law = np.full((earlier + 1, items), slip)
        law[-1, : round(share * items)] = 0.5 if coins else 1 - slip
        yes = rng.binomial(repeats, law)
        waves = np.stack([repeats - yes, yes], axis=-1)
        chart = (0.0, 0.0)
        for t in range(1, earlier + 1):
            p = look(waves[t], waves[:t].sum(axis=0), SCORE, draws=DRAWS, random=rng).p
            chart = step(chart, p)
        caught_ += limit.alarmed(chart, p)
    return caught_


def _tell_null(series):
    for name in STABLE:
        rates = {n: k / series for n, k in stable_alarms(name, series, 1).items()}
        print(f"{name}: false alarms {rates}", flush=True)


def _tell_first(series=100):
    for items, repeats in ((50, 4), (16, 4), (50, 8), (200, 4)):
        for earlier in (1, 5):
            rates = [
                at_once(share, series, 1, items=items, repeats=repeats, earlier=earlier) / series
                for share in (0.05, 0.2, 0.5)
            ]
            print(
                f"N = {items}, R = {repeats}, {earlier} earlier: 5%, 20%, 50%: {rates}", flush=True
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["null"]:
        _tell_null(int(sys.argv[2]) if len(sys.argv) > 2 else 5_000)
        sys.exit()
    if sys.argv[1:2] == ["first"]:
        _tell_first()
        sys.exit()
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for name in MOVES:
        print(
            f"{name}: caught within {WITHIN} looks {caught(name, count, 1) / count:.3f}", flush=True
        )
    print(f"stable: false alarms {false_alarms(count, 1) / count:.3f}", flush=True)
    shocks = false_alarms(count // 2, 1, shock=0.15)
    print(f"stable with shared shocks: alarms {shocks / (count // 2):.3f}", flush=True)
