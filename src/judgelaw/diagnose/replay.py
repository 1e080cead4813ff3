"""Replay: replies that were not drawn for the call they are filed under.

Three sources of evidence: what a run knows of every reply (response ids, texts, seeds, flags of the
ledger), streams that repeat each other's verdicts, and repeats that repeat each other (`exchange`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT, PAIR, Floats, count_ranked
from judgelaw.diagnose.evidence import Objects, ReplyFacts
from judgelaw.diagnose.family import (
    NOTICE,
    PROBLEM,
    Bundle,
    Test,
    permutation_p,
    rate,
    severity,
)
from judgelaw.diagnose.finding import Cell, Finding, Severity, untestable
from judgelaw.diagnose.registry import Diagnostic
from judgelaw.diagnose.shuffles import log_arrangements
from judgelaw.tensor import VerdictTensor

_TELLING = 40
"""Characters of a text that two independent samples would hardly share word for word."""
_MOST = 0.5
_OTHER_MODEL = ("model", "fingerprint")
"""Flags that tell of another model or backend, which is no replay."""
_NAMED = 4
_P = 1e-6
_ZERO = 1e-9
_CALLS_AT_MOST = 1 << 17
"""Of larger streams an even sample of the cells is shuffled: that is exact too, and enough."""
_CODES_AT_ONCE = 1 << 22


def model_finding(facts: ReplyFacts | None, *, subject: str) -> Finding | None:
    """Say which model answered, where replies name one: another one is another judge.

    A name that only extends or locates the one asked for is recorded here, and no more.
    """
    if facts is None or not facts.models:
        return None
    names = sorted(facts.models, key=lambda name: (-facts.models[name], name))
    shown = ", ".join(f"{name} ({facts.models[name]:,} replies)" for name in names[:_NAMED])
    backends = facts.flags.get("fingerprint", 0)
    verdict: Severity = "notice" if backends else "ok"
    headline = f"Every reply names one model, {names[0]}, where {facts.asked} was asked for."
    if facts.asked in (None, names[0]):
        headline = f"Every reply names one model, {names[0]}."
    if len(names) > 1:
        verdict = "problem"
        headline = f"The model that answers changed within the run: {shown}."
    elif facts.flags.get("model"):
        verdict = "problem"
        headline = f"{names[0]} answered where {facts.asked} was asked for."
    if backends:
        headline += f" Its backend's fingerprint changed in {backends:,} replies."
    return Finding(
        name="model",
        verdict=verdict,
        headline=headline,
        advice="Nothing to do."
        if verdict == "ok"
        else "Calls of two models are no repeats of one judge: ask for a dated model name, and "
        "acquire anew what must be one judge's.",
        subject=subject,
        figures={"models": float(len(names)), "fingerprint_changes": float(backends)},
    )


def unreadable_finding(facts: ReplyFacts | None, *, subject: str) -> Finding | None:
    """Say what replies look like in which no label was found."""
    if facts is None or not facts.unreadable:
        return None
    total = sum(facts.unreadable.values())
    forms = sorted(facts.unreadable.items(), key=lambda pair: (-pair[1], pair[0]))[:_NAMED]
    shown = ", ".join(f"{form!r} ({n:,})" for form, n in forms)
    return Finding(
        name="unreadable",
        verdict="notice",
        headline=f"No label was found in {total:,} replies of this judge, most often {shown}.",
        advice="If they say what the judge means, another parser reads them without asking again: "
        "`judgelaw reparse RUN --parser RULE --adopt`.",
        subject=subject,
        figures={"unreadable": float(total)},
        columns=("form", "replies"),
        rows=tuple(forms),
    )


def replay_finding(facts: ReplyFacts | None, *, subject: str) -> Finding:
    """Say whether replies look like copies of each other."""
    if facts is None:
        said = (
            "Response ids, texts and seeds are not in a calls table, so replayed replies cannot be "
            "looked for."
        )
        return untestable("replay", said, "Analyse the run folder, whose ledger has them.", subject)
    copies, figures = _evidence(facts)
    same, telling = int(figures["identical_text_cells"]), int(figures["telling_cells"])
    verdict: Severity = "ok"
    headline, advice = "No response id, seed or long text serves two calls.", "Nothing to do."
    if copies:
        verdict = "problem"
        headline = f"Replies look replayed: {'; '.join(copies)}."
        advice = (
            "A replayed reply is no second draw, so call noise comes out too small: switch caches "
            "off, send a distinct seed with every call (or none), and acquire anew."
        )
    elif same > _MOST * telling:
        verdict = "notice"
        headline = (
            f"All repeats have one and the same text in {same:,} of {telling:,} cells with texts "
            f"of {_TELLING} characters or more, under ids of their own."
        )
        advice = (
            "A judge without chance (temperature 0) answers like that, and so does a cache that "
            "gives new ids: where the judge should vary, switch caches off and acquire anew."
        )
    return Finding(
        name="replay",
        verdict=verdict,
        headline=headline,
        advice=advice,
        subject=subject,
        figures=figures,
    )


def _evidence(facts: ReplyFacts) -> tuple[list[str], dict[str, float]]:
    """Return what shows that replies are copies, in words, and the figures of it and of texts.

    Texts show nothing: a reason that a judge always gives is no copy. `verify` counts by the
    same rule.
    """
    ids, seeds = _repeated(facts.response_ids), _repeated(facts.seeds)
    same, telling = identical_texts(facts.texts)
    flags = {kind: n for kind, n in facts.flags.items() if kind not in _OTHER_MODEL}
    found = [f"the ledger flagged {n:,} replies as {kind}" for kind, n in flags.items() if n]
    if ids:
        found.append(f"{ids:,} replies carry a response id that another reply has")
    if seeds:
        found.append(f"{seeds:,} calls were sent with a seed that another call has")
    return found, {
        "repeated_response_ids": float(ids),
        "repeated_seeds": float(seeds),
        "identical_text_cells": float(same),
        "telling_cells": float(telling),
        "flagged": float(sum(flags.values())),
    }


def _repeated(values: Objects | None) -> int:
    """Count the calls whose value another call has too."""
    if values is None:
        return 0
    tally = Counter(v for v in values.ravel() if v is not None)
    return sum(n for n in tally.values() if n > 1)


def identical_texts(texts: Objects | None) -> tuple[int, int]:
    """Return the cells whose repeats share one long text, and the cells with long texts.

    A text that another cell has too belongs to no cell: a reason that a judge always gives.
    """
    if texts is None:
        return 0, 0
    cells = texts.reshape(-1, texts.shape[-1])
    held = Counter(text for cell in cells for text in {t for t in cell if t is not None})
    same = telling = 0
    for cell in cells:
        there = [t for t in cell if t is not None]
        if len(there) < PAIR or min(map(len, there)) < _TELLING:
            continue
        if max(held[text] for text in there) > 1:
            continue
        telling += 1
        same += len(set(there)) == 1
    return same, telling


@dataclass(frozen=True, kw_only=True, eq=False)
class Overlap:
    """How far two streams repeat each other, rank by rank.

    Attributes:
        calls: pairs of calls of the same cell and rank.
        identical: share of them with one verdict.
        expected: the same if ranks had been matched at random.
        z: how far the two are apart, in permutation standard errors.
        least: chance of the best match of ranks that the verdicts allow, at the least.
        mixed: verdicts of both streams in the cells where neither is unanimous, (cells, ranks).
    """

    calls: int
    identical: float
    expected: float
    z: float
    least: float
    mixed: tuple[NDArray[np.int16], NDArray[np.int16]]

    @property
    def copied(self) -> bool:
        """Whether every call has its twin, and chance alone would not have matched them."""
        return self.identical == 1 and self.least < _P

    def p(self, rng: np.random.Generator, most: int) -> float:
        """Return the p value of "ranks match at random", by shuffling those of one stream."""
        step = -(-self.mixed[0].size // _CALLS_AT_MOST)
        a, b = (z[::step] for z in self.mixed)

        def draw(size: int) -> Floats:
            shuffled = rng.permuted(np.broadcast_to(a, (size, *a.shape)), axis=-1)
            return np.asarray((shuffled == b).sum(axis=(1, 2)).astype(float))

        observed = float((a == b).sum())
        return permutation_p(observed, draw, most, numbers=a.size, at_once=_CODES_AT_ONCE)


def overlap(a: VerdictTensor, b: VerdictTensor) -> Overlap | None:
    """Compare two streams on their common cells; None if there are none, or if they do not vary.

    Given the verdicts of both streams in a cell, with shares a_c and b_c, independent streams match
    ranks at random: the number of matches has mean R sum_c a_c b_c and variance

        R^2 / (R - 1) [sum a b - sum a^2 b - sum a b^2 + (sum a b)^2]
    """
    pair = _aligned(a, b)
    if pair is None:
        return None
    za, zb = pair
    R = za.shape[1]
    mixed = (np.ptp(za, axis=1) > 0) & (np.ptp(zb, axis=1) > 0)
    if not mixed.any():
        return None
    C = 1 + int(max(za.max(), zb.max()))
    na, nb = (count_ranked(z[mixed], C) for z in (za, zb))
    pa, pb = na / R, nb / R
    both = (pa * pb).sum(axis=1)
    spread = both - (pa * pb * (pa + pb)).sum(axis=1) + both**2
    variance = float(R**2 / (R - 1) * spread.sum())
    matches = float((za == zb).sum())
    # Where a stream is unanimous every matching gives the same.
    expected = float((za[~mixed] == zb[~mixed]).sum() + R * both.sum())
    ways = np.minimum(log_arrangements(na), log_arrangements(nb))
    return Overlap(
        calls=za.size,
        identical=matches / za.size,
        expected=expected / za.size,
        z=(matches - expected) / np.sqrt(variance) if variance > _ZERO else 0.0,
        least=float(np.exp(-ways.sum())),
        mixed=(za[mixed], zb[mixed]),
    )


def _aligned(
    a: VerdictTensor, b: VerdictTensor
) -> tuple[NDArray[np.int16], NDArray[np.int16]] | None:
    """Return the verdict codes of common complete cells, (cells, ranks), in one alphabet."""
    if a.ranked is None or b.ranked is None:
        return None
    axes = [
        [name for name in getattr(a, axis) if name in set(getattr(b, axis))]
        for axis in ("items", "prompts", "orders")
    ]
    R = min(a.ranked.shape[-1], b.ranked.shape[-1])
    if not all(axes) or R < PAIR:
        return None
    names = list(dict.fromkeys((*a.verdicts, *b.verdicts)))
    codes = []
    for t in (a, b):
        part = t.select(items=axes[0], prompts=axes[1], orders=axes[2]).ranked
        lookup = np.array([names.index(v) for v in t.verdicts] + [ABSENT], dtype=np.int16)
        codes.append(lookup[part].reshape(-1, part.shape[-1])[:, :R])  # type: ignore[union-attr]  # ranked is there
    there = np.all((codes[0] != ABSENT) & (codes[1] != ABSENT), axis=1)
    return (codes[0][there], codes[1][there]) if there.any() else None


def copy_test(pair: Overlap, rng: np.random.Generator) -> Bundle:
    """Return the test of "ranks match at random" of one pair of streams."""
    return Bundle(least={"copied": pair.least}, run=lambda _, most: [pair.p(rng, most)])


def overlaps(streams: Mapping[str, VerdictTensor]) -> dict[tuple[str, str], Overlap]:
    """Compare all pairs of streams that share cells which can tell.

    Verdicts of one reply on two criteria go together without being copies.
    """
    found = {
        (x, y): overlap(a, b)
        for (x, a), (y, b) in combinations(streams.items(), 2)
        if a.criterion == b.criterion
    }
    return {names: pair for names, pair in found.items() if pair is not None}


def copies_finding(
    streams: int, pairs: Mapping[tuple[str, str], Overlap], tests: Sequence[Test]
) -> Finding:
    """Say whether streams of calls (judges, layers, runs) are copies of each other, or overlap.

    `tests` has one for each pair.
    """
    rows = tuple(
        (*names, pair.calls, pair.identical, pair.expected, pair.z, test.together <= PROBLEM)
        for (names, pair), test in zip(pairs.items(), tests, strict=True)
    )
    if all(isnan(test.together) for test in tests):
        return _quiet(
            "unknown",
            "Copies of streams are not testable here: no two streams share enough cells in which "
            "the ranked calls of both disagree.",
        )
    shared = [(row, test) for row, test in zip(rows, tests, strict=True) if test.together <= NOTICE]
    if not shared:
        return _quiet("ok", f"No two of {streams} streams share calls beyond chance.", rows)
    worst, test = max(shared, key=lambda pair: (pair[0][-1], pair[0][3]))
    return Finding(
        name="copied_streams",
        verdict=severity(test),
        headline=(
            f"{worst[0]} and {worst[1]} give the same verdict in {100 * worst[3]:.1f}% of their "
            f"{worst[2]:,} common calls, rank by rank, where {100 * worst[4]:.1f}% is chance: they "
            f"share calls.{rate(test)}"
        ),
        advice="Streams that reuse calls on purpose must be counted once; otherwise one of them "
        "is a copy, and agreement between them is no evidence.",
        columns=_COLUMNS,
        rows=rows,
    )


_COLUMNS = ("stream_a", "stream_b", "calls", "identical", "expected", "z", "shared")


def _quiet(verdict: Severity, headline: str, rows: tuple[tuple[Cell, ...], ...] = ()) -> Finding:
    return Finding(
        name="copied_streams",
        verdict=verdict,
        headline=headline,
        advice="Nothing to do.",
        columns=_COLUMNS if rows else (),
        rows=rows,
    )


_COPIES = "Some replies are copies of others"
DIAGNOSTICS = (
    Diagnostic(
        name="replay",
        place=50,
        find=lambda of, _: [replay_finding(of.replies, subject=of.name)],
        worthless=_COPIES,
    ),
    Diagnostic(
        name="model",
        place=60,
        find=lambda of, _: filter(None, [model_finding(of.replies, subject=of.name)]),
        worthless="More than one model answered",
    ),
    Diagnostic(
        name="unreadable",
        place=70,
        find=lambda of, _: filter(None, [unreadable_finding(of.replies, subject=of.name)]),
    ),
)
WORTHLESS_STREAMS = {"copied_streams": _COPIES}
"""Findings about several streams together that leave nothing to be told of those they name."""
