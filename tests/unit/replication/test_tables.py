"""Each recomputed figure against its definition, on small corpora where a slip would show."""

from types import MappingProxyType

import numpy as np
import pytest

from judgelaw.estimate import decompose, panels
from judgelaw.replication import Corpus, Resampling, recompute
from judgelaw.replication.corpus import JUDGES
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.worlds import World

QUICK = Resampling(draws=200, seed=1)
WORLD = World.from_effects(prompt=0.03, order=0.02)


def drawn(repeats, seed, items=10):
    return WORLD.tensor(items=items, prompts=6, orders=2, repeats=repeats, seed=seed)


def corpus(*, layers=MappingProxyType({}), panel=MappingProxyType({})):
    return Corpus(layers=dict(layers), panel=dict(panel))


def rows(given, *tables):
    """What was found for every row of published tables, by column."""
    found = {}
    for f in recompute(given, resampling=QUICK):
        if f.table in tables:
            found.setdefault(f.row, {})[f.rule] = f.found
    return found


def test_halves_are_blocks_of_eight_and_even_against_odd():
    reference = drawn(16, 1)
    given = corpus(layers={"reference": reference})
    found_by_split = rows(given, "tab:reference_split_half")
    for split, halves in (
        ("contiguous", (range(8), range(8, 16))),
        ("interleaved", (range(0, 16, 2), range(1, 16, 2))),
    ):
        found = found_by_split[split]
        for name, ranks in zip(("half_a", "half_b"), halves, strict=True):
            expected = decompose(reference.ranks(list(ranks))).prompt.mean()
            assert found[name] == pytest.approx(expected)


def test_complete_cases_have_two_valid_calls_in_every_cell():
    ranked = np.zeros((3, 6, 2, 2), dtype=int)
    ranked[1, 2, 1, 0] = 3
    given = corpus(layers={"control": VerdictTensor.from_ranked(ranked)})
    assert rows(given, "text:complete_case")["control, R = 2"]["retained"] == "2"


def test_panel_sensitivity_is_that_of_two_repeat_panels():
    reference, evaluation = drawn(16, 1), drawn(8, 2)
    given = corpus(layers={"reference": reference, "evaluation": evaluation})
    found = rows(given, "tab:supp_panel_sensitivity")["R = 4"]
    target = panels(reference).prompt.mean(axis=-1)
    panel = panels(evaluation.prefix(4)).prompt.mean(axis=-1)
    plugin = decompose(evaluation.prefix(4)).plugin["prompt"]
    assert found["panel"] == pytest.approx(np.abs(panel - target).mean())
    complete = decompose(evaluation.prefix(4)).prompt
    assert found["panel"] != pytest.approx(np.abs(complete - target).mean())
    squared = (plugin.mean() - target.mean()) ** 2 - (panel.mean() - target.mean()) ** 2
    assert found["squared_reduction"] == pytest.approx(squared)
    assert squared != 0


def one_prompt_differs(items):
    """A prompt component of 10/36 in one item and none elsewhere, without call noise."""
    ranked = np.zeros((items, 6, 2, 4), dtype=int)
    ranked[0, 0] = 1
    return VerdictTensor.from_ranked(ranked)


def test_flags_are_raised_above_two_hundredths():
    sizes = dict(zip(JUDGES, (13, 14, 13, 14), strict=True))  # .0214 and .0198
    given = corpus(panel={judge: one_prompt_differs(n) for judge, n in sizes.items()})
    above = ", ".join(judge for judge, n in sizes.items() if n == 13)
    found = rows(given, "text:cross_model_flags")
    assert found == {f"R = {R}": {"plugin": above, "corrected": above} for R in (2, 4)}


def test_tops_change_where_noise_puts_another_on_top():
    quiet = VerdictTensor.from_ranked(np.zeros((40, 6, 2, 4), dtype=int))
    noisy = World.from_effects().tensor(items=40, prompts=6, orders=2, repeats=4, seed=1)
    ranked = np.zeros((40, 6, 2, 4), dtype=int)
    ranked[::8, 0] = (
        1  # 10/36 in one item of eight: .035, and the noise alone has a plug-in of .073
    )
    steady = VerdictTensor.from_ranked(ranked)
    names = list(JUDGES)
    mixed = corpus(panel=dict(zip(names, (noisy, steady, quiet, quiet), strict=True)))
    alone = corpus(panel=dict(zip(names, (quiet, steady, quiet, quiet), strict=True)))
    always, never = (rows(given, "text:top_changes")[""] for given in (mixed, alone))
    assert always["percent_of_draws"] > 50
    assert never["percent_of_draws"] == 0


def test_invalid_is_merged_into_tie():
    tensor = drawn(4, 5)
    judge = next(iter(JUDGES))
    found = rows(corpus(panel={judge: tensor}), "tab:s-cross-bot")[judge]
    merged = decompose(tensor.recode({INVALID: "tie"})).prompt.mean()
    assert found["merged_4"] == pytest.approx(merged)
    other = decompose(tensor.recode({INVALID: "candidate_1"})).prompt.mean()
    assert merged != pytest.approx(other)
