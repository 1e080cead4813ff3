"""Size of the permutation tests where all prompts (orders) share their laws."""

import numpy as np
import pytest

from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import permutation_test
from judgelaw.worlds import draw_ranked
from support.coverage import plausible

ITEMS, PROMPTS, ORDERS, REPEATS = 12, 4, 2, 4
LAW = np.array([0.4, 0.3, 0.2, 0.1])


def null_table(rng, facet, *, shock: bool):
    """Draw verdicts whose law does not depend on the facet tested.

    The other facet moves the law, and with a shock so does the repeat rank: in every item one rank
    in two draws from a law of its own, shared by all prompts and orders.
    """
    other = ORDERS if facet == "prompt" else PROMPTS
    shape = (ITEMS, 1, other, REPEATS) if facet == "prompt" else (ITEMS, other, 1, REPEATS)
    laws = rng.dirichlet(8 * LAW, size=(*shape[:3], 1))
    laws = np.broadcast_to(laws, (ITEMS, PROMPTS, ORDERS, REPEATS, LAW.size))
    if shock:
        of_rank = rng.dirichlet(LAW, size=(ITEMS, 1, 1, REPEATS))
        struck = rng.random((ITEMS, 1, 1, REPEATS, 1)) < 0.5
        laws = np.where(struck, of_rank, laws)
    return VerdictTensor.from_ranked(draw_ranked(laws, 1, rng)[..., 0])


def rejections(facet, *, shock, tables, draws, **options) -> int:
    rng = stream(7, "null tables", facet, int(shock))
    return sum(
        permutation_test(
            null_table(rng, facet, shock=shock), facet, draws=draws, seed=table, **options
        ).p
        <= 0.05
        for table in range(tables)
    )


@pytest.mark.slow
@pytest.mark.parametrize("shock", [False, True], ids=["independent", "shock by rank"])
@pytest.mark.parametrize("facet", ["prompt", "order"])
def test_size_over_4000_null_tables(facet, shock):
    found = rejections(facet, shock=shock, tables=4_000, draws=199)
    print(f"\n{facet}, shock {shock}: {found / 4_000:.4f} rejected at .05")
    assert found / 4_000 <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"within": "block"}, {"studentised": True}], ids=str)
def test_size_of_the_variants(options):
    found = rejections("prompt", shock=False, tables=4_000, draws=199, **options)
    print(f"\n{options}: {found / 4_000:.4f} rejected at .05")
    assert found / 4_000 <= 0.06


@pytest.mark.slow
def test_only_the_studentised_test_is_one_of_no_prompt_component():
    """Equal prompt means with an interaction: laws differ, the prompt component is zero.

    One prompt of twenty tosses a coin in both orders, the others follow the order. The plain test
    rejects equal laws (rightly, and so "component = 0" wrongly); the studentised one does not.
    """
    laws = np.zeros((20, 20, 2, 2))
    laws[:, 0] = 0.5
    laws[:, 1:, 0, 0] = laws[:, 1:, 1, 1] = 1.0
    rng, tables = stream(7, "interaction without prompt component"), 200
    plain = studentised = 0
    for table in range(tables):
        tensor = VerdictTensor.from_ranked(draw_ranked(laws, REPEATS, rng), verdicts=("a", "b"))
        options = {"draws": 199, "seed": table}
        plain += permutation_test(tensor, **options).p <= 0.05
        studentised += permutation_test(tensor, studentised=True, **options).p <= 0.05
    print(f"\nplain {plain / tables:.3f}, studentised {studentised / tables:.3f} rejected at .05")
    assert plain / tables > 0.08
    assert studentised / tables <= 0.06


@pytest.mark.parametrize("facet", ["prompt", "order"])
def test_size_in_short(facet):
    found = rejections(facet, shock=True, tables=300, draws=99)
    assert plausible(found, 300, 0.03, 0.06)


def test_it_sees_a_prompt_that_differs():
    rng = stream(7, "one odd prompt")
    laws = np.tile(LAW, (ITEMS, PROMPTS, ORDERS, 1))
    laws[:, 0] = [0.02, 0.03, 0.05, 0.9]
    tensor = VerdictTensor.from_ranked(draw_ranked(laws, REPEATS, rng))
    assert permutation_test(tensor, "prompt", draws=199).p == 1 / 200
    assert permutation_test(tensor, "order", draws=199).p > 0.01
