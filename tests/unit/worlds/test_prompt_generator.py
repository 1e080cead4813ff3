"""The declared generator of prompts has the dispersion that it states."""

import numpy as np
import pytest

from judgelaw.streams import stream
from judgelaw.worlds import PAPER_BASE, PromptGenerator


@pytest.mark.parametrize("family", ["uniform", "skewed", "dirichlet"])
def test_dispersion_of_drawn_laws_is_the_declared_one(family):
    generator = PromptGenerator.declare(prompt=0.04, family=family)
    laws = generator.draw_laws(stream(1, family), datasets=2000, items=2, prompts=10)
    np.testing.assert_allclose(laws.sum(axis=-1), 1)
    assert laws.min() >= 0
    spread = np.sum((laws - np.array(PAPER_BASE)) ** 2, axis=-1)
    error = spread.std() / np.sqrt(20_000)
    assert abs(spread.mean() - 0.04) < 4 * error
    np.testing.assert_allclose(laws.mean(axis=(0, 1, 2)), PAPER_BASE, atol=0.006)


def test_items_share_their_prompts():
    generator = PromptGenerator.declare(prompt=0.04)
    laws = generator.draw_laws(stream(1, "s"), datasets=3, items=4, prompts=5)
    shift = laws - np.array(PAPER_BASE)
    np.testing.assert_allclose(shift[:, 0], shift[:, 2])
    np.testing.assert_allclose(shift[:, 0], -shift[:, 1])


def test_no_dispersion_means_the_base_law():
    generator = PromptGenerator.declare(prompt=0.0, family="dirichlet")
    codes = generator.draw(stream(2, "s"), datasets=2, items=3, prompts=4, repeats=5)
    assert codes.shape == (2, 3, 4, 5)
    assert generator.within == pytest.approx(generator.total)


def test_one_data_set_goes_to_the_estimators():
    from judgelaw.estimate import decompose

    generator = PromptGenerator.declare(prompt=0.05)
    drawn = generator.tensor(items=400, prompts=12, repeats=4, seed=3)
    assert drawn.counts.shape == (400, 12, 1, 4)
    found = decompose(drawn, design="sampled").macro()
    assert found.call == pytest.approx(generator.within, abs=0.03)
