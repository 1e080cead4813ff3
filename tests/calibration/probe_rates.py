"""How often probes are wrong: false calls of judges without effects, and coverage of shifts.

    python tests/calibration/probe_rates.py [studies]

Beside our test stands the rule of tools that count flips: a probe is called a bias if more than
one verdict in ten differs between a call without and a call with the change.
"""

import sys

import numpy as np

from judgelaw.diagnose import probe_p_values, shift_interval
from support.probed import pull_for, study

WORLDS = ("open, effects", "95% settled", "flips by order", "rare noise")
SHIFTS = (0.05, 0.10, 0.20)
FLIPS = 0.10
LEVEL = 0.05
SEED = 770_000
STUDIES = 2_000


def false_calls(world, *, studies, N=50, R=4, probes=5, seed=SEED):
    """Count the audits without effects in which any probe is called real, by rule."""
    ours = flips = 0
    for number in range(studies):
        baseline, probed, _ = study(world, N=N, R=R, seed=seed + number, probes=probes)
        ours += min(probe_p_values(baseline, probed, seed=number).values()) <= LEVEL
        flips += any(_flips(baseline, sides[0].calls) > FLIPS for sides in probed.values())
    return ours, flips


def _flips(before, after):
    """Return how often two calls differ, one without and one with the change."""
    p, q = (t.counts / t.counts.sum(axis=-1, keepdims=True) for t in (before, after))
    return 1 - float((p * q).sum(axis=-1).mean())


def coverage(world, wanted, *, studies, N=50, R=4, seed=SEED):
    """Count the audits whose intervals, for these items and for new ones, hold the true shift."""
    by = pull_for(world, wanted)
    asked = new = 0
    for number in range(studies):
        baseline, probed, truth = study(world, by=by, N=N, R=R, seed=seed + number)
        ((name, sides),) = probed.items()
        these, others = (
            shift_interval(baseline, name, sides, scope=scope, level=0.95)
            for scope in ("fixed", "new")
        )
        asked += these.low <= truth <= these.high
        new += others.low <= wanted <= others.high
    return asked, new


def reachable(world, wanted):
    """Whether a world can be shifted so far: answers that win already cannot win more often."""
    return pull_for(world, wanted) < 1


def main():
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES
    for world in WORLDS:
        ours, flips = false_calls(world, studies=studies)
        line = f"{world:16} false calls {ours / studies:.3f}, by flips {flips / studies:.3f};"
        for wanted in SHIFTS:
            if reachable(world, wanted):
                asked, new = coverage(world, wanted, studies=studies)
                line += f" {wanted:.2f}: these {asked / studies:.3f} new {new / studies:.3f};"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
