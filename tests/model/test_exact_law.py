"""Sampled verdicts of a real model against the law that it states."""

import numpy as np
import pytest

from judgelaw.acquire import acquire
from judgelaw.decide import forecast_from_laws
from judgelaw.estimate import COMPONENTS, decompose, population
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import call_errors
from support.model import ALONE, chi_square_p, frozen_study, laws_like, spec

pytestmark = pytest.mark.model

FOUR_ERRORS = 4
SMALLEST_P = 1e-4


def sampled_and_exact(folder, judge, server, **design) -> tuple[VerdictTensor, np.ndarray]:
    frozen = frozen_study(folder, judges=[judge], **design)
    done = acquire(frozen)
    done.raise_if_open()
    tensor = VerdictTensor.from_table(done.path / "calls.parquet", judge="chat", layer="audit")
    return tensor, laws_like(tensor, frozen, server)


def check_components(tensor: VerdictTensor, laws: np.ndarray) -> None:
    """Every corrected component lies within four call standard errors of the law's own."""
    R = int(tensor.repeats.max())
    estimate, truth = decompose(tensor).macro(), population(laws).macro()
    forecast, errors = forecast_from_laws(laws), call_errors(tensor)
    for name in COMPONENTS:
        known_se = forecast.at(name, repeats=R).call_se
        estimated_se = errors.interval(name).se
        off = float(estimate[name] - truth[name])
        print(
            f"{name:12} law {truth[name]:+.4f} corrected {estimate[name]:+.4f} plug-in "
            f"{estimate.plugin[name]:+.4f} call se {known_se:.4f} (estimated {estimated_se:.4f})"
        )
        assert abs(off) <= FOUR_ERRORS * known_se, name


def check_verdicts(tensor: VerdictTensor, laws: np.ndarray) -> None:
    """The verdicts follow the laws, and the same test refuses the laws of the other order."""
    p = chi_square_p(tensor.counts, laws, seed=1)
    wrong = chi_square_p(tensor.counts, laws[:, :, ::-1], seed=1)
    print(f"chi-square over {tensor.repeats.size} cells: p = {p:.4f}; other order: p = {wrong:.5f}")
    assert p > SMALLEST_P
    assert wrong < SMALLEST_P


@pytest.mark.timeout(240)
def test_corrected_estimates_agree_with_the_components_of_the_stated_law(tmp_path, shallow):
    tensor, laws = sampled_and_exact(tmp_path, *shallow, items=3, repeats=8)
    check_components(tensor, laws)
    check_verdicts(tensor, laws)


@pytest.mark.slow
@pytest.mark.parametrize(("schedule", "items", "repeats"), [("cells", 8, 24), ("random", 4, 12)])
def test_the_law_holds_in_every_schedule(tmp_path, lone_server, schedule, items, repeats):
    tensor, laws = sampled_and_exact(
        tmp_path, spec(**ALONE), lone_server, items=items, repeats=repeats, schedule=schedule
    )
    check_components(tensor, laws)
    check_verdicts(tensor, laws)
