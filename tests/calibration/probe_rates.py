"""How often probes are wrong: false calls of judges without effects, and coverage of shifts.

    python tests/calibration/probe_rates.py [studies]

Beside our test stands the rule of tools that count flips: a probe is called a bias if more than
one verdict in ten differs between a call without and a call with the change.
"""

import sys

import numpy as np

from judgelaw.diagnose import probe_effects
from support.probed import pull_for, study

WORLDS = ("open, effects", "95% settled", "flips by order", "rare noise")
SHIFTS = (0.05, 0.10, 0.20)
FLIPS = 0.10
SEED = 770_000


def false_calls(world, *, studies, N=50, R=4, probes=5, seed=SEED):
    """Return the shares of audits without effects in which any probe is called real, by rule."""
    ours = flips = 0
    for number in range(studies):
        baseline, probed, _ = study(world, N=N, R=R, seed=seed + number, probes=probes)
        effects = probe_effects(baseline, probed, seed=number)
        ours += any(effect.real for effect in effects)
        flips += any(_flips(baseline, sides[0].calls) > FLIPS for sides in probed.values())
    return ours / studies, flips / studies


def _flips(before, after):
    """Return how often two calls differ, one without and one with the change."""
    p, q = (t.counts / t.counts.sum(axis=-1, keepdims=True) for t in (before, after))
    return 1 - float((p * q).sum(axis=-1).mean())


def coverage(world, wanted, *, studies, N=50, R=4, seed=SEED):
    """Return how often the intervals for these items and for new ones hold the true shift."""
    by = pull_for(world, wanted)
    asked = new = 0
    for number in range(studies):
        baseline, probed, truth = study(world, by=by, N=N, R=R, seed=seed + number)
        (effect,) = probe_effects(baseline, probed, draws=39)
        asked += effect.shift_asked.low <= truth <= effect.shift_asked.high
        new += effect.shift.low <= wanted <= effect.shift.high
    return asked / studies, new / studies


def reachable(world, wanted):
    """Whether a world can be shifted so far: answers that win already cannot win more often."""
    return pull_for(world, wanted) < 1


def main():
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    for world in WORLDS:
        ours, flips = false_calls(world, studies=studies)
        line = f"{world:16} false calls {ours:.3f}, by flips {flips:.3f};"
        for wanted in SHIFTS:
            if reachable(world, wanted):
                asked, new = coverage(world, wanted, studies=studies)
                line += f" {wanted:.2f}: these {asked:.3f} new {new:.3f};"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
