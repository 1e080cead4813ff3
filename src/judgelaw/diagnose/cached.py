"""Caches: are later calls of a cell served from memory, and not drawn?

A reply that a cache serves comes at once, and says what the first one said. Within a cell, let a
call stand out if it took more than three times the median of the others. Where times are drawn
alike, each of the R calls is as likely as the others to be one that stands out, whatever the law of
times is: with k_u of the R_u calls of cell u, the first that was asked is one with probability
k_u / R_u, so that the number of such cells has an exact law. Cells are of one item, prompt and
order; a cache that does not look at the prompt is found where all calls of an item are one cell.

Times drift as well: a server that was cold makes first calls slow. So first calls have to be slower
than later ones of the same stretch of the run, and the later ones have to say the same.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT, Floats
from judgelaw.diagnose.family import UNTESTABLE, Bundle, Test, severity
from judgelaw.diagnose.finding import Finding, untestable
from judgelaw.diagnose.registry import Diagnostic, Stream

_TIMES = 3.0
"""How much longer a drawn reply takes than one from memory, at the least."""
_FEWEST = 20
"""Groups of calls that a cache is looked for in, at the least."""
_SHARE = 0.3
"""Share of the groups in which the first call has to stand out."""
_SAME = 0.98
"""Share of their fast calls that have to say what most of the same group say."""
_MATCHED = 0.5
"""Share of pairs of one stretch in which the first call is that much slower, less the reverse."""
_STRETCHES = 10
_GROUPS = ("cell", "item")
_MOST_GROUPS = 4_000
"""Groups whose law is worked out; of more, an even sample."""


@dataclass(frozen=True, kw_only=True)
class Cached:
    """What the times of a stream say, with calls grouped in one way.

    Attributes:
        groups: groups of calls whose times are known.
        expected: the chance that the first call of a group is one that stands out; of groups with
            a call that does.
        first: in how many of them it is.
        same: share of fast later calls that say what most of their group say, where the first
            call stands out.
        matched: how much more often, among calls of one stretch of the run, a first call is the
            slower one by that much than the faster one, as a share of pairs.
        slow, fast: median seconds of first and of later calls where the first stands out.
    """

    groups: int
    expected: Floats
    first: int
    same: float
    matched: float
    slow: float
    fast: float

    @property
    def share(self) -> float:
        """The share of all groups in which the first call stands out."""
        return self.first / self.groups if self.groups else 0.0

    @property
    def material(self) -> bool:
        """Whether this is what a cache does."""
        return self.share >= _SHARE and self.same >= _SAME and self.matched >= _MATCHED

    @property
    def p(self) -> float:
        """The chance of so many first calls, where times are drawn alike."""
        return float(_law(self.expected)[self.first :].sum())

    @property
    def least(self) -> float:
        """The smallest p value that these times allow.

        inf where there is too little to test, and where nothing is like a cache: a test that could
        not speak does not make the others pay.
        """
        if self.groups < _FEWEST or not self.expected.size or not self.material:
            return inf
        return float(np.exp(np.log(self.expected).sum()))


def _law(chances: Floats) -> Floats:
    """Return the law of the number of successes of independent trials."""
    law = np.ones(1)
    for chance in chances:
        law = np.append(law * (1 - chance), 0.0) + np.append(0.0, law * chance)
    return law


def look(of: Stream, group: str) -> Cached | None:
    """Return what the times of a stream say; None where they or the ranks are not known."""
    ranked, started, took = of.tensor.ranked, of.seconds, of.latency
    if ranked is None or started is None or took is None:
        return None
    N = ranked.shape[0]
    cells = (N, -1) if group == "item" else (-1, ranked.shape[-1])
    said, at, t = ranked.reshape(cells), started.reshape(cells), took.reshape(cells)
    known = (said != ABSENT) & np.isfinite(at) & np.isfinite(t)
    usable = known.sum(axis=1) >= 3  # noqa: PLR2004 - a call and the median of two others
    rows = np.flatnonzero(usable)
    if rows.size > _MOST_GROUPS:
        rows = rows[np.linspace(0, rows.size - 1, _MOST_GROUPS).astype(int)]
    return _look(said[rows], at[rows], t[rows], known[rows])


def _look(said: NDArray[np.integer], at: Floats, t: Floats, known: NDArray[np.bool_]) -> Cached:
    rows = np.arange(len(t))
    first = np.where(known, at, np.inf).argmin(axis=1)
    others = np.stack([_median_without(t, known, j) for j in range(t.shape[1])], axis=1)
    stands_out = known & (t > _TIMES * others)
    k, n = stands_out.sum(axis=1), known.sum(axis=1)
    found = stands_out[rows, first]
    later = known.copy()
    later[rows, first] = False
    # Calls that were under way at once are drawn, each: only what came fast is from the cache.
    fast = later & (t * _TIMES < t[rows, first][:, None]) & found[:, None]
    counts = np.stack(
        [((said == v) & fast).sum(axis=1) for v in np.unique(said[fast])] or [rows * 0]
    )
    several = fast.sum(axis=1) > 1
    there = fast[several].sum()
    return Cached(
        groups=len(t),
        expected=np.asarray((k / np.maximum(n, 1))[k > 0]),
        first=int(found.sum()),
        same=float(counts.max(axis=0)[several].sum() / there) if there else 0.0,
        matched=_matched(at, t, known, first),
        slow=float(np.median(t[rows, first][found])) if found.any() else np.nan,
        fast=float(np.median(t[fast])) if there else np.nan,
    )


def _median_without(t: Floats, known: NDArray[np.bool_], j: int) -> Floats:
    """Return the median time of the calls of each group but one."""
    rest = np.where(known, t, np.nan)
    rest[:, j] = np.nan
    return np.asarray(np.nanmedian(rest, axis=1))


def _matched(at: Floats, t: Floats, known: NDArray[np.bool_], first: NDArray[np.intp]) -> float:
    """Compare first calls with later ones that were asked in the same stretch of the run."""
    is_first = np.zeros_like(known)
    is_first[np.arange(len(t)), first] = True
    began, took, marks = at[known], t[known], is_first[known]
    place = np.argsort(began, kind="stable")
    slower = pairs = 0
    for some in np.array_split(place, _STRETCHES):
        a, b = np.sort(took[some][marks[some]]), np.sort(took[some][~marks[some]])
        if not (a.size and b.size):
            continue
        slower += int(np.searchsorted(b, a / _TIMES, side="left").sum())
        slower -= int(np.searchsorted(a, b / _TIMES, side="left").sum())
        pairs += a.size * b.size
    return slower / pairs if pairs else 0.0


def _looks(of: Stream) -> dict[str, Cached]:
    found = {group: look(of, group) for group in _GROUPS}
    return {group: seen for group, seen in found.items() if seen is not None}


def _bundle(of: Stream) -> Bundle | None:
    looks = of.once(_looks)
    if not looks:
        return None
    return Bundle(
        least={group: seen.least for group, seen in looks.items()},
        run=lambda names, _: [looks[name].p for name in names],
    )


def _finding(of: Stream, tests: dict[str, Test]) -> Finding:
    looks = of.once(_looks)
    if not any(seen.groups >= _FEWEST for seen in looks.values()):
        said = "How long calls took is not known of enough cells, so caches cannot be looked for."
        advice = "Analyse the run folder, whose timing.parquet has it."
        return untestable("cached", said, advice, of.name)
    for group, seen in looks.items():
        test = tests.get(group, UNTESTABLE)
        if severity(test) == "problem" and seen.material:
            return _found(of, group, seen)
    seen = next(iter(looks.values()))
    return Finding(
        name="cached",
        verdict="ok",
        headline="Later calls of a cell take as long as the first: nothing points to a cache.",
        advice="Nothing to do.",
        subject=of.name,
        figures={"first_slow": seen.share},
    )


def _found(of: Stream, group: str, seen: Cached) -> Finding:
    what = "a cell" if group == "cell" else "an item, whatever the prompt,"
    return Finding(
        name="cached",
        verdict="problem",
        headline=(
            f"Replies come from a cache: in {seen.first:,} of {seen.groups:,} the first call of "
            f"{what} took {_time(seen.slow)}, and later ones {_time(seen.fast)}, all alike."
        ),
        advice=(
            "A cached reply is no new sample: switch the cache off, or make call.repeat (or "
            "call.seed) part of its key, and ask anew."
        ),
        subject=of.name,
        figures={"first_slow": seen.share, "same": seen.same, "matched": seen.matched},
    )


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


DIAGNOSTICS = (
    Diagnostic(
        name="cached",
        place=45,
        find=lambda of, tests: [_finding(of, dict(tests))],
        test=_bundle,
        worthless="Replies come from a cache, and a cached reply is no new sample",
    ),
)
