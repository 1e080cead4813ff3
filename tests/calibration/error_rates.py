"""How often a bound or a gate is wrong, over worlds that look like real judges.

    python tests/calibration/error_rates.py            the whole table, about half an hour
    python tests/calibration/error_rates.py --write    and put it into docs/explanation

`make calibrate` runs it; `test_error_rates.py` runs a part of it in short. The seed of the table
chose nothing: rules were settled on other seeds.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from os import cpu_count, environ
from pathlib import Path

environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from scipy.stats import binom

from judgelaw.estimate import COMPONENTS, Estimand
from judgelaw.streams import stream
from judgelaw.uncertainty import infer
from support import judges

SEED = 20261116
TRIALS = 500
SIDE, GATE = 0.975, 0.95
PAGE = Path(__file__).parents[2] / "docs/explanation/uncertainty.md"
BEGIN, END = "<!-- error rates: begin -->", "<!-- error rates: end -->"
ROUNDING = 1e-12
SCOPES = ("new", "fixed")


@dataclass(frozen=True, kw_only=True, order=True)
class Setting:
    """One world at one design."""

    world: str
    prompts: int
    orders: int
    items: int
    repeats: int

    @property
    def limits(self) -> tuple[float, float]:
        """Least coverage of a 95% interval, and most wrong passes or failures of a gate."""
        return (0.93, 0.07) if self.repeats >= 4 else (0.90, 0.09)


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Events over trials, (scopes, components): covered, passed wrongly, failed wrongly."""

    setting: Setting
    trials: int
    covered: np.ndarray
    passed: np.ndarray
    failed: np.ndarray

    def misses(self, sure: float) -> list[str]:
        """Name the cells whose count is not believable under the rate that is allowed."""
        coverage, wrong = self.setting.limits
        found = []
        for s, scope in enumerate(SCOPES):
            for c, name in enumerate(COMPONENTS):
                if binom.cdf(self.covered[s, c], self.trials, coverage) < sure:
                    rate = self.covered[s, c] / self.trials
                    found.append(f"{scope} {name} covers {rate:.3f}")
                for what, events in (("passes", self.passed), ("fails", self.failed)):
                    if binom.sf(events[s, c] - 1, self.trials, wrong) < sure:
                        rate = events[s, c] / self.trials
                        found.append(f"{scope} {name} {what} falsely {rate:.3f}")
        return found


def settings() -> Iterator[Setting]:
    """Return the settings of the table."""
    for world in judges.WORLDS:
        for items in (10, 20, 50, 150):
            for repeats in (2, 4, 8):
                yield Setting(world=world, prompts=6, orders=2, items=items, repeats=repeats)
        for prompts, orders in ((2, 2), (6, 1), (2, 1)):
            for items in (20, 50):
                yield Setting(world=world, prompts=prompts, orders=orders, items=items, repeats=4)


def measure(setting: Setting, trials: int = TRIALS, seed: int = SEED) -> Rates:
    """Draw studies from a world and hold every bound against the truth."""
    s = setting
    pool = judges.pool(s.world, s.prompts, s.orders, seed=seed)
    rng = stream(seed, "error rates", s.world, s.prompts, s.orders, s.items, s.repeats)
    covered, passed, failed = np.zeros((3, len(SCOPES), len(COMPONENTS)), dtype=int)
    for _ in range(trials):
        rows = pool.draw(s.items, rng)
        found = infer(judges.counts(pool.laws[rows], s.repeats, rng))
        truths = (pool.truth.mean(axis=0), pool.truth[rows].mean(axis=0))
        for at, (scope, truth) in enumerate(zip(SCOPES, truths, strict=True)):
            for c, name in enumerate(COMPONENTS):
                if np.isnan(truth[c]):
                    covered[at, c] += 1
                    continue
                low, high = found.bounds(name, SIDE, scope)
                covered[at, c] += low - ROUNDING <= truth[c] <= high + ROUNDING
                low, high = found.bounds(name, GATE, scope)
                passed[at, c] += high < truth[c] - ROUNDING
                failed[at, c] += low > truth[c] + ROUNDING
    return Rates(setting=s, trials=trials, covered=covered, passed=passed, failed=failed)


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """How often the interval of the prompt component covers, where prompts were drawn."""

    family: str
    prompts: int
    items: int
    trials: int
    covered: tuple[int, int]


def measure_drawn(family: str, prompts: int, items: int, trials: int, seed: int = SEED) -> Drawn:
    """Draw prompts and items from a family, and hold the prompt interval against the truth."""
    laws = judges.generated(family, items=300, prompts=300, seed=seed)
    distances = _distances(laws)
    rng = stream(seed, "drawn prompts", family, prompts, items)
    covered = [0, 0]
    for _ in range(trials):
        rows, chosen = rng.integers(0, 300, size=items), rng.choice(300, prompts, replace=False)
        calls = judges.counts(laws[np.ix_(rows, chosen)], 4, rng)
        found = infer(calls, Estimand(design="sampled"), draws=4_000)
        for at, (scope, truth) in enumerate(
            zip(SCOPES, (distances.mean(), distances[rows].mean()), strict=True)
        ):
            low, high = found.bounds("prompt", SIDE, scope)
            covered[at] += low - ROUNDING <= truth <= high + ROUNDING
    return Drawn(
        family=family, prompts=prompts, items=items, trials=trials, covered=(covered[0], covered[1])
    )


def _distances(laws: np.ndarray) -> np.ndarray:
    """Return the true prompt component of every item, over all prompts of the family."""
    P = laws[:, :, 0]
    K = P.shape[1]
    own, mean = (P**2).sum(axis=-1).mean(axis=-1), P.mean(axis=1)
    return (own - (mean**2).sum(axis=-1)) * K / (K - 1)


def _drawn_table(drawn: list[Drawn], misses: list[str]) -> list[str]:
    columns = "| family of prompts | K | N | new items: covers | these items: covers |"
    lines = [
        f"Prompt component, prompts drawn, R = 4, {drawn[0].trials} studies each.",
        "",
        columns,
        "|---|---:|---:|---:|---:|",
    ]
    for d in drawn:
        rates = " | ".join(f"{x / d.trials:.3f}" for x in d.covered)
        lines.append(f"| {d.family} | {d.prompts} | {d.items} | {rates} |")
        for scope, x in zip(SCOPES, d.covered, strict=True):
            if binom.cdf(x, d.trials, 0.93) < 0.05 / (2 * len(drawn)):
                misses.append(f"{d.family} prompts, K = {d.prompts}, {scope}: {x / d.trials:.3f}")
    return lines


def table(found: list[Rates], drawn: list[Drawn]) -> tuple[str, list[str]]:
    """Return the table in Markdown, and the cells that miss."""
    cells = len(found) * len(SCOPES) * len(COMPONENTS) * 3
    sure = 0.05 / cells
    misses: list[str] = []
    about = (
        f"{len(found)} settings, {found[0].trials:,} studies each. Worst of the components: least "
        "coverage of the 95% interval, most wrong passes and most wrong failures of a gate whose "
        "limit is exactly the truth. A miss is a count that the allowed rate (.93 and .07; .90 and "
        f".09 at R = 2) does not explain at {sure:.1e}, which allows for {cells:,} cells."
    )
    columns = (
        "| world | K x O | N | R | new items: covers | passes | fails "
        "| these items: covers | passes | fails | |"
    )
    lines = [about, "", columns, "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|"]
    for r in sorted(found, key=lambda r: r.setting):
        s = r.setting
        numbers = []
        for at in range(len(SCOPES)):
            numbers += [r.covered[at].min(), r.passed[at].max(), r.failed[at].max()]
        wrong = r.misses(sure)
        misses += [f"{s}: {w}" for w in wrong]
        rates = " | ".join(f"{x / r.trials:.3f}" for x in numbers)
        lines.append(
            f"| {s.world} | {s.prompts} x {s.orders} | {s.items} | {s.repeats} | {rates} "
            f"| {'; '.join(f'miss: {w}' for w in wrong)} |"
        )
    parts = [*lines, "", *_drawn_table(drawn, misses)]
    return "\n".join(parts), misses


def main() -> int:
    """Measure everything, print it, and put it into the documentation if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    asked = parser.parse_args()
    with ProcessPoolExecutor(cpu_count()) as workers:
        jobs = [workers.submit(measure, s, asked.trials) for s in settings()]
        families = [
            workers.submit(measure_drawn, family, prompts, items, asked.trials)
            for family in ("shared", "skewed", "alike")
            for prompts in (5, 10)
            for items in (20, 50)
        ]
        rates, drawn = ([job.result() for job in part] for part in (jobs, families))
        text, misses = table(rates, drawn)
    git = ["git", "-C", str(PAGE.parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    stamp = f"Measured on {datetime.now(UTC):%Y-%m-%d} at commit {commit}, seed {SEED}."
    text = f"{stamp} {text}"
    print(text)
    if asked.write:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
    for miss in misses:
        print(f"MISS {miss}")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
