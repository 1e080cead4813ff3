"""One error rate for a whole list of tests: how often does a clean audit show anything at all?

All tests of an audit, over all streams, are one family. In at most 1 of 20 clean audits any of them
calls something a problem, in at most 1 of 10 any of them says anything:

    Tarone:  a test whose smallest possible p value is above level / k, k the number of tests that
             could do better, could not have spoken whatever happened: it is not testable, and does
             not make the others pay
    Holm:    the rest, from the smallest p value up, each times the number of tests not yet passed
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.diagnose.finding import Severity

PROBLEM, NOTICE = 0.05, 0.10
"""Share of clean audits that show any problem, and that show anything."""
ENOUGH = 5
"""Draws that reach the observed statistic, after which a test stops (Besag and Clifford, 1991)."""
_DRAWS, _DRAWS_A_TEST = 1_000, 60
"""Most draws, and most for each test of the family: a p value can get to a sixtieth for all."""
_CHUNK = 32
_TIE = 1e-9


@dataclass(frozen=True, kw_only=True)
class Test:
    """A test among all tests of an audit.

    Attributes:
        p: its own p value, exact or by permutation; nan where it is not testable.
        least: no arrangement of these calls has a smaller p value than this.
        together: the p value for all tests of the audit; nan where it is not testable.
    """

    __test__ = False  # pytest looks for such names

    p: float = nan
    least: float = inf
    together: float = nan


UNTESTABLE = Test()


@dataclass(frozen=True, kw_only=True, eq=False)
class Bundle:
    """Tests that share their draws, before anything is drawn.

    Attributes:
        least: the smallest p value that each test could have, by name.
        run: from the names of the tests that are wanted and the most draws to their p values.
    """

    least: Mapping[str, float]
    run: Callable[[Sequence[str], int], Sequence[float]]


def settle(bundles: Mapping[Hashable, Bundle]) -> dict[Hashable, dict[str, Test]]:
    """Run the tests that can say something, and judge them together; by bundle, then name."""
    least = [(at, name, x) for at, bundle in bundles.items() for name, x in bundle.least.items()]
    chosen = [least[i][:2] for i in testable([x for *_, x in least])]
    own: dict[tuple[Hashable, str], float] = {}
    for at, bundle in bundles.items():
        wanted = [name for key, name in chosen if key == at]
        if wanted:
            ps = bundle.run(wanted, family_draws(len(chosen)))
            own |= {(at, name): p for name, p in zip(wanted, ps, strict=True)}
    together = dict(zip(own, holm(list(own.values())), strict=True))
    found: dict[Hashable, dict[str, Test]] = {at: {} for at in bundles}
    for at, name, x in least:
        key = at, name
        found[at][name] = Test(p=own.get(key, nan), least=x, together=together.get(key, nan))
    return found


def holm(ps: Sequence[float]) -> list[float]:
    """Return p values that hold for all tests together."""
    found = [nan] * len(ps)
    largest = 0.0
    for passed, at in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - passed) * ps[at]))
        found[at] = largest
    return found


def testable(least: Sequence[float]) -> list[int]:
    """Return which tests can reach the level that they share (Tarone)."""
    k = 1
    while sum(x <= NOTICE / k for x in least) > k:
        k += 1
    return [i for i, x in enumerate(least) if x <= NOTICE / k]


def severity(test: Test, *, material: bool = True) -> Severity:
    """Return what a test amounts to among all tests of the audit."""
    if isnan(test.together):
        return "unknown"
    if test.together <= PROBLEM and material:
        return "problem"
    return "notice" if test.together <= NOTICE else "ok"


def rate(test: Test) -> str:
    """Say how often a clean audit shows this; nothing where nothing was found."""
    if not test.together <= NOTICE:
        return ""
    return f" At most 1 in {int(1 / test.together + _TIE):,} clean audits shows this."


def by_chance(test: Test) -> str:
    """Say how often chance alone makes the clearest picture that these calls allow."""
    times = f"1 of {1 / test.least:,.0f} audits" if test.least < 1 else "every audit"
    return f"the clearest sign that they allow comes by chance in {times}"


Draw = Callable[[int], Floats]
"""From a number of draws to the statistic of each."""


def permutation_p(
    observed: float, draw: Draw, most: int, *, numbers: int = 1, at_once: int = 1 << 20
) -> float:
    """Return the p value of one statistic; large values speak against the hypothesis.

    A draw takes so many `numbers`; the draws come in blocks of `at_once` numbers.
    """

    def draws(size: int, _: Sequence[int]) -> list[Floats]:
        return [np.concatenate([draw(k) for k in in_blocks(size, numbers, at_once)])]

    (p,) = permutation_ps([observed], draws, most)
    return p


def permutation_ps(
    observed: Sequence[float], draw: Callable[[int, Sequence[int]], Sequence[Floats]], most: int
) -> list[float]:
    """Return exact p values of several statistics of the same draws.

    A statistic is drawn until `ENOUGH` draws have reached it, after l draws: p = ENOUGH / l; or
    until `most` draws, g of which reached it: p = (g + 1) / (most + 1). Both are p values in the
    strict sense, and a clean table costs few draws. `draw` gets the number of draws and the
    statistics that are still wanted.
    """
    bars = [x - _TIE * max(1.0, abs(x)) for x in observed]
    ps, reached = [nan] * len(observed), [0] * len(observed)
    for size, done in _chunks(most):
        wanted = [i for i, p in enumerate(ps) if np.isnan(p)]
        if not wanted:
            break
        for i, values in zip(wanted, draw(size, wanted), strict=True):
            hits = reached[i] + np.cumsum(values >= bars[i])
            if hits[-1] >= ENOUGH:
                ps[i] = ENOUGH / (done + 1 + int(np.argmax(hits >= ENOUGH)))
            reached[i] = int(hits[-1])
    return [(reached[i] + 1) / (most + 1) if np.isnan(p) else p for i, p in enumerate(ps)]


def in_blocks(draws: int, numbers: int, at_once: int) -> list[int]:
    """Cut draws of so many numbers each into blocks of `at_once` numbers, to fit in memory."""
    block = max(1, at_once // numbers)
    return [min(block, draws - start) for start in range(0, draws, block)]


def family_draws(tests: int) -> int:
    """Return the most draws of each test in a family of so many."""
    return max(_DRAWS, _DRAWS_A_TEST * tests) - 1


def _chunks(most: int) -> Iterator[tuple[int, int]]:
    """Return (size, draws before) of chunks that grow: most tests stop early."""
    done = 0
    while done < most:
        size = min(max(_CHUNK, done // 2), most - done)
        yield size, done
        done += size
