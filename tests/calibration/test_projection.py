"""Coverage of the sampled-prompt interval: prompts drawn anew, the same for all items."""

import numpy as np
import pytest

from judgelaw.arrays import count_ranked
from judgelaw.streams import stream
from judgelaw.uncertainty import prompt_projection
from judgelaw.worlds import PromptGenerator
from support.coverage import plausible

ITEMS, REPEATS, PROMPT = 20, 4, 0.03
GENERATOR = PromptGenerator.declare(prompt=PROMPT, family="uniform")


def covered(prompts: int, experiments: int) -> tuple[int, int]:
    """Count experiments whose small-K interval, and whose paper interval, hold the truth."""
    rng = stream(11, "sampled", prompts)
    ours = paper = 0
    for _ in range(experiments):
        codes = GENERATOR.draw(rng, datasets=1, items=ITEMS, prompts=prompts, repeats=REPEATS)[0]
        counts = count_ranked(codes, 4)[:, :, None, :]
        found = prompt_projection(counts)
        ours += holds(found.interval())
        paper += holds(found.paper_interval())
    return ours, paper


def holds(interval) -> bool:
    return interval.low <= PROMPT <= interval.high


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [5, 10, 20])
def test_macro_interval_covers(prompts):
    experiments = 4_000
    ours, paper = (np.array(covered(prompts, experiments)) / experiments).tolist()
    print(f"\nK = {prompts}: small-K form {ours:.4f}, the paper's {paper:.4f}")
    assert 0.92 <= ours <= 0.98
    assert paper < ours


@pytest.mark.parametrize("prompts", [5, 10])
def test_macro_interval_in_short(prompts):
    ours, _ = covered(prompts, 300)
    assert plausible(ours, 300, 0.92, 0.98)
