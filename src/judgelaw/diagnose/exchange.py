"""Exchangeable repeats: is one repeat rank different from the others?

Under independent calls of one law the verdicts of a cell are exchangeable over its ranks. Given the
verdicts of every cell, which rank got which is then a random permutation, with exact moments:

    verdicts:   Q = (R-1)/R sum_r D_r' V^- D_r,  D_r the verdicts of rank r over all cells minus
                what they expect, V = sum_u (diag p_u - p_u p_u'); chi-square with (R-1) rank(V)
                degrees (the generalised Cochran-Mantel-Haenszel statistic, cells as strata)
    agreement:  z_r, how often rank r agrees with the other ranks of its cell; largest |z| by
                Bonferroni
    copies:     z_rs, how often two ranks agree; largest z by Bonferroni
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT, count_ranked
from judgelaw.diagnose.finding import Finding, Severity
from judgelaw.tensor import VerdictTensor

Floats = NDArray[np.float64]

PROBLEM, NOTICE = 1e-4, 1e-2
_PAIR = 2


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

    @property
    def p(self) -> float:
        """Of one rank being different, by verdicts or by agreement."""
        return min(1.0, 2 * min(self.p_verdicts, self.p_agreement))


def rank_test(tensor: VerdictTensor) -> RankTest | None:
    """Test exchangeability of the ranks; None without ranks or where every cell is unanimous."""
    from scipy.special import chdtrc, ndtr  # noqa: PLC0415 - scipy loads when it is needed

    if tensor.ranked is None or tensor.ranked.shape[-1] < _PAIR:
        return None
    R = tensor.ranked.shape[-1]
    z = tensor.ranked.reshape(-1, R)
    z = z[(z != ABSENT).all(axis=1)]
    n = count_ranked(z, len(tensor.verdicts)).astype(float)
    mixed = n.max(axis=1) < R
    if not mixed.any():
        return None
    distances, V = _verdict_distances(z, n)
    Q = (R - 1) / R * float(distances.sum())
    df = (R - 1) * int(np.linalg.matrix_rank(V, hermitian=True))
    agreement, z_agree = _agreements(z, n)
    copied, z_copy, rate = _closest_pair(z[mixed], n[mixed])
    pairs = R * (R - 1) // 2
    return RankTest(
        cells=len(z),
        frequencies=count_ranked(z.T, len(tensor.verdicts)) / len(z),
        agreement=agreement,
        statistic=Q,
        df=df,
        p_verdicts=float(chdtrc(df, Q)),
        p_agreement=min(1.0, 2 * R * float(ndtr(-np.abs(z_agree).max()))),
        odd_rank=int(distances.argmax()),
        p_copy=min(1.0, pairs * float(ndtr(-z_copy))),
        copied=copied,
        copy_rate=rate,
    )


def _verdict_distances(z: NDArray[np.int16], n: Floats) -> tuple[Floats, Floats]:
    """Return D_r' V^- D_r of every rank, and V."""
    R = z.shape[1]
    p = n / R
    V = np.diag(p.sum(axis=0)) - p.T @ p
    D = count_ranked(z.T, n.shape[1]) - p.sum(axis=0)
    inverse = np.linalg.pinv(V, hermitian=True)
    return np.einsum("rc,cd,rd->r", D, inverse, D), V


def _agreements(z: NDArray[np.int16], n: Floats) -> tuple[Floats, Floats]:
    """Return how often each rank agrees with the others of its cell, and its z score."""
    R = z.shape[1]
    w = (np.take_along_axis(n, z.astype(np.intp), axis=1) - 1) / (R - 1)
    off = w - w.mean(axis=1, keepdims=True)
    spread = np.sqrt((off**2).mean(axis=1).sum())
    total = off.sum(axis=0)
    score = total / spread if spread > 0 else np.zeros(R)  # R = 2: both ranks always agree alike
    return w.mean(axis=0), score


def _closest_pair(z: NDArray[np.int16], n: Floats) -> tuple[tuple[int, int], float, float]:
    """Return the two ranks that agree most, over cells that are not unanimous."""
    R = z.shape[1]
    a = (n * (n - 1)).sum(axis=1) / (R * (R - 1))
    spread = float(np.sqrt((a * (1 - a)).sum()))
    best, score, rate = (0, 1), -np.inf, 0.0
    for r, s in combinations(range(R), 2):
        same = z[:, r] == z[:, s]
        this = float((same - a).sum()) / spread if spread > 0 else 0.0
        if this > score:
            best, score, rate = (r, s), this, float(same.mean())
    return best, score, rate


def exchange_finding(test: RankTest | None, verdicts: tuple[str, ...], *, subject: str) -> Finding:
    """Say whether one repeat rank is different, or repeats another."""
    if test is None:
        return Finding(
            name="exchangeable_repeats",
            verdict="unknown",
            headline="Whether repeats are exchangeable is not testable: ranks are unknown, or "
            "every cell is unanimous.",
            advice="Keep the repeat rank of every call in the table.",
            subject=subject,
        )
    R = len(test.frequencies)
    severity = _severity(min(test.p, test.p_copy if R > _PAIR else 1.0))
    return Finding(
        name="exchangeable_repeats",
        verdict=severity,
        headline=_headline(test, verdicts, severity),
        advice=_ADVICE[severity],
        subject=subject,
        figures={
            "p": test.p,
            "p_verdicts": test.p_verdicts,
            "p_agreement": test.p_agreement,
            "p_copy": test.p_copy,
            "odd_rank": float(test.odd_rank),
        },
        columns=("repeat", *verdicts, "agreement_with_others"),
        rows=tuple(
            (r, *map(float, test.frequencies[r]), float(test.agreement[r])) for r in range(R)
        ),
    )


def _headline(test: RankTest, verdicts: tuple[str, ...], severity: Severity) -> str:
    if severity == "ok":
        return (
            f"Repeat ranks are exchangeable as far as {test.cells:,} cells show (p = {test.p:.2g})."
        )
    if test.p_copy < test.p:
        r, s = test.copied
        return (
            f"Repeats {r} and {s} agree in {100 * test.copy_rate:.1f}% of the cells that are not "
            f"unanimous, far more than other repeats (p = {test.p_copy:.2g})."
        )
    odd = test.odd_rank
    rest = np.delete(test.frequencies, odd, axis=0).mean(axis=0)
    c = int(np.abs(test.frequencies[odd] - rest).argmax())
    return (
        f"Repeat {odd} differs from the others (p = {test.p:.2g}): {verdicts[c]} in "
        f"{100 * test.frequencies[odd, c]:.1f}% of its calls against {100 * rest[c]:.1f}%."
    )


_ADVICE: dict[Severity, str] = {
    "ok": "Nothing to do.",
    "notice": "Look at the rows by repeat before trusting small components.",
    "problem": "Find out what was different about that repeat (another model, a warm cache, a "
    "replayed reply); drop it, or acquire anew.",
}


def _severity(p: float) -> Severity:
    return "problem" if p < PROBLEM else "notice" if p < NOTICE else "ok"
