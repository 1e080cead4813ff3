"""Do sampled verdicts look drawn from the token probabilities that came with them?

The statistic is the log likelihood of the verdicts under their own vectors, two-sided, against
verdicts drawn from the same vectors. A chi-square over cells has no power here: cells are sparse.
"""

from judgelaw.diagnose.family import Bundle, Test, severity
from judgelaw.diagnose.finding import Finding
from judgelaw.diagnose.registry import Diagnostic
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import moving_cells, reconcile

_DRAWS = 2_000
_FEWEST = 200
_NUMBERS = 40_000_000


def draws_of(tensor: VerdictTensor) -> int:
    """Return how many times verdicts are drawn: fewer for many calls."""
    return min(_DRAWS, max(_FEWEST, _NUMBERS // max(1, int(tensor.counts.sum()))))


def check_vectors(tensor: VerdictTensor, *, seed: int) -> float:
    """Return the p value of "the verdicts were drawn from their vectors", two-sided."""
    rng = stream(seed, "vectors", tensor.layer or "", tensor.judge or "")
    return reconcile(tensor, rng, draws_of(tensor))


def vectors_test(tensor: VerdictTensor, seed: int) -> Bundle:
    """Return the test, before anything is drawn."""
    least = 2 / (1 + draws_of(tensor))
    return Bundle(least={"vectors": least}, run=lambda *_: [check_vectors(tensor, seed=seed)])


def vectors_finding(tensor: VerdictTensor, test: Test, *, subject: str) -> Finding:
    """Say whether the verdicts agree with the token probabilities."""
    found = severity(test)
    agree = found == "ok"
    moving = moving_cells(tensor)
    return Finding(
        name="token_probabilities",
        verdict=found,
        headline=(
            "Sampled verdicts look drawn from the token probabilities that came with them"
            if agree
            else "Sampled verdicts do not look drawn from the token probabilities"
        )
        + f" (p = {test.p:.3g}).",
        advice=(
            "Components may rest on them; repeats are still needed, since vectors move."
            if agree
            else "Use sampled verdicts; look for a temperature, a trimmed law (top_p, top_k) or "
            "reasoning that the provider does not return."
        ),
        subject=subject,
        figures={"p": test.p, "moving_cells": moving},
    )


DIAGNOSTICS = (
    Diagnostic(
        name="token_probabilities",
        place=100,
        test=lambda of: None if of.tensor.soft is None else vectors_test(of.tensor, of.how.seed),
        find=lambda of, tests: [
            vectors_finding(of.tensor, test, subject=of.name) for test in tests.values()
        ],
    ),
)
