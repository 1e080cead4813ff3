"""Coverage and width of the call interval, on fixed items with known laws."""

from dataclasses import dataclass

import numpy as np
import pytest

from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import call_interval, panel_interval
from judgelaw.worlds import World, draw_ranked
from support.coverage import plausible

ITEMS, PROMPTS, ORDERS = 50, 6, 2
CONCENTRATED = (0.9, 0.05, 0.03, 0.02)
DIFFUSE = (0.4, 0.3, 0.2, 0.1)

WORLDS = {
    "null, concentrated": World.from_effects(base=CONCENTRATED),
    "null, diffuse": World.from_effects(base=DIFFUSE),
    "prompt .01": World.from_effects(base=DIFFUSE, prompt=0.01),
    "prompt .03": World.from_effects(base=DIFFUSE, prompt=0.03),
    "heterogeneous": World.from_effects(
        base=DIFFUSE, prompt=0.01, order=0.004, interaction=0.002, item_spread=0.5, seed=5
    ),
}
REPEATS = (4, 8)


@dataclass(frozen=True, kw_only=True)
class Campaign:
    covered: int
    experiments: int
    bias: float
    width_ratio: float

    @property
    def coverage(self) -> float:
        return self.covered / self.experiments


def campaign(name: str, repeats: int, experiments: int) -> Campaign:
    """Draw the same items again and again, and hold both intervals against the truth."""
    world = WORLDS[name]
    laws = world.laws(items=ITEMS, prompts=PROMPTS, orders=ORDERS)
    truth = world.components(items=ITEMS, prompts=PROMPTS, orders=ORDERS).prompt
    rng = stream(20261115, "call interval", name, repeats)
    covered, errors, complete, panel = 0, [], [], []
    for _ in range(experiments):
        tensor = VerdictTensor.from_ranked(draw_ranked(laws, repeats, rng))
        found = call_interval(tensor, "prompt")
        covered += found.low <= truth <= found.high
        errors.append(found.estimate - truth)
        complete.append(found.width)
        panel.append(panel_interval(tensor, "prompt").width)
    return Campaign(
        covered=covered,
        experiments=experiments,
        bias=float(np.mean(errors)),
        width_ratio=float(np.mean(complete) / np.mean(panel)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize("name", WORLDS)
def test_call_interval_covers_and_is_narrow(name, repeats):
    """2,000 experiments: coverage .93 or more, mean width at most `widest` of the panel's."""
    found = campaign(name, repeats, 2_000)
    print(f"\n{name}, R = {repeats}: {found} coverage {found.coverage:.4f}")
    assert found.coverage >= 0.93
    assert found.width_ratio <= widest(name)


def widest(name: str) -> float:
    """Settled cells hide noise: there the interval is wider than the panel's, and so it should."""
    return 1.3 if "concentrated" in name else 0.8


@pytest.mark.parametrize(
    ("name", "repeats"), [("null, concentrated", 4), ("prompt .03", 8), ("heterogeneous", 4)]
)
def test_call_interval_in_short(name, repeats):
    found = campaign(name, repeats, 250)
    assert plausible(found.covered, found.experiments, 0.93, 1.0)
    assert found.width_ratio <= widest(name)
