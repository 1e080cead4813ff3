"""Exchangeable repeats: is one repeat rank different from the others?

Under independent calls of one law the verdicts of a cell are exchangeable over its ranks. Given the
verdicts of every cell, which rank got which is then a random permutation, with exact moments:

    verdicts:   Q = (R-1)/R sum_r D_r' V^- D_r,  D_r the verdicts of rank r over all cells minus
                what they expect, V = sum_u (diag p_u - p_u p_u'); chi-square with (R-1) rank(V)
                degrees (the generalised Cochran-Mantel-Haenszel statistic, cells as strata)
    agreement:  z_r, how often rank r agrees with the other ranks of its cell; largest |z| by
                Bonferroni
    copies:     z_rs, how often two ranks agree; largest z by Bonferroni

These p values are those of large numbers. What decides is the smallest of the three, held against
the smallest of the three in shuffles of the calls (`shuffles`), which is exact for few cells too.
"""

from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT, PAIR, Floats, count_ranked
from judgelaw.diagnose.family import Test, by_chance, rate, severity
from judgelaw.diagnose.finding import Finding, Severity, untestable
from judgelaw.diagnose.registry import Diagnostic, ShuffleTest, Stream
from judgelaw.diagnose.shuffles import MixedCells, Shuffled, Statistic
from judgelaw.tensor import VerdictTensor

_CELLS_AT_ONCE = 1 << 16


@dataclass(frozen=True, kw_only=True, eq=False)
class RankTest:
    """How far the repeat ranks are from exchangeable.

    Attributes:
        cells: cells with a call at every rank.
        frequencies: share of each verdict at each rank, (ranks, verdicts).
        agreement: how often each rank agrees with the others of its cell.
        statistic, df, p_verdicts: the Cochran-Mantel-Haenszel test.
        p_agreement: of the rank that agrees most unusually.
        odd_rank: the rank whose verdicts are furthest from the others'.
        p_copy, copied: of the pair of ranks that agrees most, and the pair.
        copy_rate: how often that pair agrees.
        mixed: cells that are not unanimous: the only ones that tell.
    """

    cells: int
    frequencies: Floats
    agreement: Floats
    statistic: float
    df: int
    p_verdicts: float
    p_agreement: float
    odd_rank: int
    p_copy: float
    copied: tuple[int, int]
    copy_rate: float
    mixed: int

    @property
    def p(self) -> float:
        """The p value of one rank being different, by verdicts or by agreement."""
        return min(1.0, 2 * min(self.p_verdicts, self.p_agreement))


def rank_test(tensor: VerdictTensor) -> RankTest | None:
    """Compare ranks with each other; None without ranks, or if every cell is unanimous."""
    from scipy.special import chdtrc, ndtr  # noqa: PLC0415 - scipy loads when it is needed

    if tensor.ranked is None or tensor.ranked.shape[-1] < PAIR:
        return None
    R = tensor.ranked.shape[-1]
    found = _sums(tensor.ranked.reshape(-1, R), len(tensor.verdicts))
    if not found.mixed:
        return None
    inverse, df = _verdict_form(found, R)
    D = found.verdicts - found.shares
    distances = np.einsum("rc,cd,rd->r", D, inverse, D)
    Q = (R - 1) / R * float(distances.sum())
    copied, z_copy = _closest_pair(found)
    pairs = R * (R - 1) // 2
    return RankTest(
        cells=found.cells,
        frequencies=found.verdicts / found.cells,
        agreement=found.agreement / found.cells,
        statistic=Q,
        df=df,
        p_verdicts=float(chdtrc(df, Q)),
        p_agreement=min(1.0, 2 * R * float(ndtr(-np.abs(_scores(found)).max()))),
        odd_rank=int(distances.argmax()),
        p_copy=min(1.0, pairs * float(ndtr(-z_copy))),
        copied=copied,
        copy_rate=float(found.same[copied] / found.mixed),
        mixed=found.mixed,
    )


def rank_least(mixed: MixedCells) -> float:
    """Return the chance of the clearest pattern of ranks, at the least.

    One cell may stand as it stands, since no rank is named beforehand: the others have to follow.
    """
    ways = mixed.complete.arrangements
    return float(np.exp(ways.max() - ways.sum())) if ways.size else 1.0


def rank_statistic(mixed: MixedCells) -> Statistic:
    """Return how unusual the most unusual rank or pair of ranks is, of shuffled calls.

    The same three p values as in `rank_test`; the smallest one, with its sign turned.
    """
    from scipy.special import chdtrc, ndtr  # noqa: PLC0415 - scipy loads when it is needed

    R = mixed.complete.codes.shape[1]
    found = _sums(mixed.complete.codes, mixed.verdicts)
    inverse, df = _verdict_form(found, R)
    ends = np.zeros((R * (R - 1) // 2, R))
    for at, pair in enumerate(combinations(range(R), 2)):
        ends[at, pair] = 1 / (R - 1)

    def statistic(shuffled: Shuffled) -> Floats:
        D = shuffled.counts - found.shares
        Q = (R - 1) / R * np.einsum("brc,cd,brd->b", D, inverse, D)
        smallest = np.asarray(2 * chdtrc(df, Q))
        if R > PAIR:
            agreement = shuffled.same @ ends
            off = np.abs(agreement - agreement.mean(axis=1, keepdims=True)).max(axis=1)
            surplus = shuffled.same.max(axis=1) - found.expected
            odd = 4 * R * ndtr(-off / sqrt(found.spread)) if found.spread > 0 else smallest
            copied = smallest
            if found.variance > 0:  # it is 0 where no two calls of a cell say the same
                copied = len(ends) * ndtr(-surplus / sqrt(found.variance))
            smallest = np.minimum(np.minimum(smallest, odd), copied)
        return -smallest

    return statistic


@dataclass(kw_only=True)
class _Sums:
    """Sums over cells with all R ranks; what is said of pairs, over those not unanimous.

    Attributes:
        cells: how many there are.
        mixed: how many are not unanimous.
        shares: of each verdict, summed; (C,).
        products: of the shares, summed; (C, C).
        verdicts: of each rank, counted; (R, C).
        agreement: of each rank with the others of its cell; (R,).
        off: the same less the mean of the cell; (R,).
        spread: mean square of it.
        same: how often two ranks agree; (R, R).
        expected: chance that two calls of a cell agree.
        variance: of that agreement.
    """

    shares: Floats
    products: Floats
    verdicts: Floats
    agreement: Floats
    off: Floats
    same: Floats
    cells: int = 0
    mixed: int = 0
    spread: float = 0.0
    expected: float = 0.0
    variance: float = 0.0


def _sums(ranked: NDArray[np.int16], verdicts: int) -> _Sums:
    """Sum over cells in blocks: what is held for a block is many times as large as its calls."""
    R, C = ranked.shape[1], verdicts
    total = _Sums(
        shares=np.zeros(C),
        products=np.zeros((C, C)),
        verdicts=np.zeros((R, C)),
        agreement=np.zeros(R),
        off=np.zeros(R),
        same=np.zeros((R, R)),
    )
    for start in range(0, len(ranked), _CELLS_AT_ONCE):
        z = ranked[start : start + _CELLS_AT_ONCE]
        _add(total, z[(z != ABSENT).all(axis=1)], C)
    return total


def _add(total: _Sums, z: NDArray[np.int16], verdicts: int) -> None:
    R = z.shape[1]
    n = count_ranked(z, verdicts).astype(float)
    mixed = n.max(axis=1, initial=0) < R
    p = n / R
    w = (np.take_along_axis(n, z.astype(np.intp), axis=1) - 1) / (R - 1)
    off = w - w.mean(axis=1, keepdims=True)
    total.cells += len(z)
    total.mixed += int(mixed.sum())
    total.shares += p.sum(axis=0)
    total.products += p.T @ p
    total.verdicts += count_ranked(z.T, verdicts)
    total.agreement += w.sum(axis=0)
    total.off += off.sum(axis=0)
    total.spread += float((off**2).mean(axis=1).sum())
    m = n[mixed]
    a = (m * (m - 1)).sum(axis=1) / (R * (R - 1))
    total.expected += float(a.sum())
    total.variance += float((a * (1 - a)).sum())
    columns = np.ascontiguousarray(z[mixed].T)
    for r, s in combinations(range(R), 2):
        total.same[r, s] += np.count_nonzero(columns[r] == columns[s])


def _verdict_form(found: _Sums, R: int) -> tuple[Floats, int]:
    """Return V^- and the degrees of freedom of Q."""
    V = np.diag(found.shares) - found.products
    df = (R - 1) * int(np.linalg.matrix_rank(V, hermitian=True))
    return np.asarray(np.linalg.pinv(V, hermitian=True), dtype=float), df


def _scores(found: _Sums) -> Floats:
    """Return the z score of how often each rank agrees with the others of its cell."""
    # R = 2: both ranks always agree alike.
    return found.off / np.sqrt(found.spread) if found.spread > 0 else np.zeros_like(found.off)


def _closest_pair(found: _Sums) -> tuple[tuple[int, int], float]:
    """Return the two ranks that agree most, and by how many standard errors too often."""
    pairs = list(combinations(range(len(found.same)), 2))
    best = max(pairs, key=lambda pair: found.same[pair])
    surplus = float(found.same[best]) - found.expected
    return best, surplus / sqrt(found.variance) if found.variance > 0 else 0.0


def exchange_finding(
    ranks: RankTest | None, test: Test, verdicts: tuple[str, ...], *, subject: str
) -> Finding:
    """Say whether one repeat rank is different, or repeats another."""
    if ranks is None:
        said = (
            "Whether repeats are exchangeable is not testable here: ranks are unknown, or every "
            "cell is unanimous."
        )
        advice = "Keep the repeat rank of every call in the table."
        return untestable("exchangeable_repeats", said, advice, subject)
    found = severity(test)
    return Finding(
        name="exchangeable_repeats",
        verdict=found,
        headline=_headline(ranks, verdicts, found) + rate(test),
        advice=_EXCHANGE_ADVICE.get(found)
        or f"Few cells hold calls that disagree: {by_chance(test)}.",
        subject=subject,
        figures={
            "p": test.p,
            "p_adjusted": test.together,
            "p_verdicts": ranks.p_verdicts,
            "p_agreement": ranks.p_agreement,
            "p_copy": ranks.p_copy,
            "odd_rank": float(ranks.odd_rank),
        },
        columns=("repeat", *verdicts, "agreement_with_others"),
        rows=tuple(
            (r, *map(float, shares), float(ranks.agreement[r]))
            for r, shares in enumerate(ranks.frequencies)
        ),
    )


def _headline(ranks: RankTest, verdicts: tuple[str, ...], found: Severity) -> str:
    cells = f"{ranks.mixed:,} of {ranks.cells:,} cells are not unanimous"
    if found == "unknown":
        return f"Whether repeats are exchangeable is not testable here: {cells}."
    if found == "ok":
        return f"No repeat rank stands out: {cells}, and they show nothing beyond chance."
    if len(ranks.frequencies) > PAIR and ranks.p_copy < ranks.p:
        r, s = ranks.copied
        return (
            f"Repeats {r} and {s} agree in {100 * ranks.copy_rate:.1f}% of the cells that are not "
            f"unanimous, more than other repeats."
        )
    odd = ranks.odd_rank
    rest = np.delete(ranks.frequencies, odd, axis=0).mean(axis=0)
    c = int(np.abs(ranks.frequencies[odd] - rest).argmax())
    return (
        f"Repeat {odd} differs from the others: {verdicts[c]} in "
        f"{100 * ranks.frequencies[odd, c]:.1f}% of its calls against {100 * rest[c]:.1f}%."
    )


_EXCHANGE_ADVICE: dict[Severity, str] = {
    "ok": "Nothing to do.",
    "notice": "Look at the rows by repeat before trusting small components.",
    "problem": "Find out what was different about that repeat (another model, a warm cache, a "
    "replayed reply); drop it, or acquire anew.",
}


def _ranks(of: Stream) -> RankTest | None:
    return rank_test(of.tensor)


DIAGNOSTICS = (
    Diagnostic(
        name="exchangeable_repeats",
        place=30,
        shuffle=ShuffleTest(
            least=lambda _, mixed: rank_least(mixed),
            statistic=lambda _, mixed: rank_statistic(mixed),
        ),
        find=lambda of, tests: [
            exchange_finding(
                of.once(_ranks),
                tests["exchangeable_repeats"],
                of.tensor.verdicts,
                subject=of.name,
            )
        ],
        worthless="One repeat is not like the others",
    ),
)
