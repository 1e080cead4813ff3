"""Whole-item bands against drawing the random integers alone, and against other bootstraps."""

import json
import subprocess
import tempfile
from itertools import count
from pathlib import Path

import numpy as np

from benchmarks.figure import at_least, at_most, best, in_turn
from benchmarks.peers.environment import NotInstalled, python_with
from judgelaw.uncertainty import item_bands

STRATA, ITEMS, QUANTITIES = 10, 369, 7
ARCH_SCRIPT = Path(__file__).parent / "peers" / "arch_bands.py"

INTEGERS = at_most("bands over random integers", 4)
SCIPY = at_least("bands against scipy.stats.bootstrap", 3)
ARCH = at_least("bands against arch.bootstrap.IIDBootstrap", 3)
GROWTH = at_most("bands, growth", 12)
TARGETS = (INTEGERS, SCIPY, ARCH, GROWTH)


_SEEDS = count(1)


def fresh(values: np.ndarray, **how) -> None:
    """Band under a seed of its own: draws of small tables are kept, and a second turn has them."""
    item_bands(values, seed=next(_SEEDS), **how)


def run(quick: bool = False):
    draws, times = (2_000, 5) if quick else (20_000, 15)
    rng = np.random.default_rng(0)
    values = rng.random((ITEMS, QUANTITIES))
    strata = [f"s{i % STRATA}" for i in range(ITEMS)]
    sizes = [strata.count(name) for name in sorted(set(strata))]

    def integers():
        for n in sizes:
            rng.integers(0, n, size=(draws, n))

    alone, ours = in_turn(integers, lambda: fresh(values, strata=strata, draws=draws), times=times)
    what = f"{ITEMS} items, {STRATA} strata, {draws:,} draws, {QUANTITIES} quantities"
    return [
        INTEGERS.found(
            ours / alone,
            f"{what}: {1e3 * ours:.0f} ms against {1e3 * alone:.0f} ms for the integers alone, "
            f"best of {times} in turn",
        ),
        _scipy(values, draws),
        _arch(values, draws, quick=quick),
        _growth(values, draws // 10),
    ]


def _scipy(values: np.ndarray, draws: int):
    from scipy.stats import bootstrap

    def theirs():
        bootstrap(
            (values,),
            np.mean,
            axis=0,
            n_resamples=draws,
            method="percentile",
            batch=200,  # without batches it holds every resample at once: 413 MB
            rng=np.random.default_rng(0),
        )

    return _faster(SCIPY, *in_turn(lambda: fresh(values, draws=draws), theirs, times=3))


def _arch(values: np.ndarray, draws: int, *, quick: bool):
    """Time arch in an environment of its own, our turns between its turns."""
    try:
        python = python_with("arch", install=not quick)
    except NotInstalled as error:
        return ARCH.absent(str(error))
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "values.npy", values)
        command = [python, ARCH_SCRIPT, f"{folder}/values.npy", str(draws)]
        ours, theirs, versions = [], [], ""
        for _ in range(3):
            ours.append(best(lambda: fresh(values, draws=draws), 2))
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            theirs.append(found["seconds"])
            versions = f"; arch {found['arch']}, numpy {found['numpy']}"
    return _faster(ARCH, min(ours), min(theirs), versions)


def _faster(target, ours: float, theirs: float, versions: str = ""):
    """Peers do not stratify, so the same seven means are banded without strata."""
    return target.found(
        theirs / ours,
        f"times faster for the same seven means: {1e3 * ours:.0f} against {1e3 * theirs:.0f} ms, "
        f"best of 3 in turn{versions}",
    )


def _growth(values: np.ndarray, draws: int):
    many = np.tile(values, (10, 1))
    few_s, many_s = in_turn(
        lambda: fresh(values, draws=draws), lambda: fresh(many, draws=draws), times=3
    )
    return GROWTH.found(
        many_s / few_s, f"from {len(values):,} to {len(many):,} items at {draws:,} draws"
    )
