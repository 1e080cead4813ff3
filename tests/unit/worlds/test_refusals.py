"""Laws that are none are refused with the offending row and the range that would work."""

import re

import numpy as np
import pytest

from judgelaw.errors import InputError
from judgelaw.worlds import PromptGenerator, World


def test_law_that_does_not_sum_to_one_is_named_with_its_remedy():
    laws = np.full((2, 3, 2, 4), 0.25)
    laws[1, 2, 0] = [0.5, 0.25, 0.25, 0.25]
    with pytest.raises(InputError, match=r"law\[1, 2, 0\] .* sums to 1.25, not to 1: divided by"):
        World.from_laws(laws)


def test_negative_probability_is_named():
    with pytest.raises(InputError, match=r"verdict 3 the probability -0.1: .* between 0 and 1"):
        World.from_effects(base=[0.4, 0.4, 0.3, -0.1])


@pytest.mark.parametrize("base", [[1.0], [], 0.5, [[0.5, 0.5], [0.5]], ["a", "b"], [np.nan, 1.0]])
def test_what_is_no_law_is_refused(base):
    with pytest.raises(InputError):
        World.from_effects(base=base)


def test_score_that_leaves_the_simplex_is_refused_with_the_range_that_works():
    world = World.from_effects(prompt=0.2, order=0.1)
    with pytest.raises(InputError, match="leaves the simplex") as refused:
        world.laws(items=1, prompts=6, orders=2)
    found = re.search(r"prompt <= ([\d.]+), order <= ([\d.]+) works", str(refused.value))
    assert found
    prompt, order = map(float, found.groups())
    fits = World.from_effects(prompt=prompt, order=order).laws(items=1, prompts=6, orders=2)
    assert fits.min() >= 0
    larger = World.from_effects(prompt=prompt * 1.01, order=order * 1.01)
    with pytest.raises(InputError, match=r"prompt [16] of 6, order [12] of 2"):
        larger.laws(items=1, prompts=6, orders=2)


def test_spread_leaves_less_room_for_every_item():
    asked = {"prompt": 0.08, "seed": 1}
    World.from_effects(**asked).laws(items=3, prompts=6, orders=2)
    with pytest.raises(InputError, match="least share of the base"):
        World.from_effects(item_spread=0.2, **asked).laws(items=3, prompts=6, orders=2)


@pytest.mark.parametrize("axis", ["prompts", "orders"])
def test_one_level_cannot_carry_an_effect(axis):
    world = World.from_effects(prompt=0.01, order=0.01)
    design = {"prompts": 2, "orders": 2, axis: 1}
    with pytest.raises(InputError, match=f"{axis} = 1: .* use 2 or more"):
        world.laws(items=1, **design)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"prompts": 0.1}, "no key 'prompts'"),
        ({"base": [0.5, 0.5], "laws": [[[1, 0]]]}, "declares its laws once"),
        ({"item_names": ["a"]}, "no laws written out"),
        ({"copying": 1.5}, "copying = 1.5: it lies between 0 and 1"),
        ({"base": [0.5, 0.5], "invalid": 0.1}, "have no 'invalid'"),
        ({"verdicts": ["a", "b"]}, "name a law of 4 probabilities"),
        ({"deterministic": [[0, 7]]}, "a whole number from 0 to 3"),
        ({"deterministic": []}, r"deterministic = \[\] chooses"),
        ({"deterministic": [[0, 1], [1]]}, "no rectangular array"),
        ({"deterministic": [[0, 1]], "verdicts": 5}, "verdicts = 5: a list of names"),
        ({"verdicts": 5}, "verdicts = 5: a list of names"),
        ({"verdicts": "abcd"}, "verdicts = 'abcd': a list of names"),
        ({"prompt_direction": "x"}, "prompt_direction = 'x': give one finite number"),
        ({"prompt_direction": [[1], [1, 2]]}, "no rectangular array"),
        ({"invalid": "x"}, "invalid = 'x': a number"),
        ({"laws": [[[1, 0]]], "item_names": 5}, "item_names = 5: a list of names"),
        ({"prompt": "big"}, "a number is needed"),
        ({"prompt_direction": [1, 1, 0, 0]}, "sums to 2"),
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_spec_with_a_mistake_names_it(spec, message):
    with pytest.raises(InputError, match=message):
        World.from_spec(spec)


def test_spec_of_a_study_builds_its_world():
    spec = {
        "base": [0.4, 0.3, 0.2, 0.1],
        "prompt": 0.03,
        "order": 0.02,
        "interaction": 0.0,
        "item_spread": 0.1,
        "seed": 1,
    }
    truth = World.from_spec(spec).components(items=5, prompts=6, orders=2)
    assert truth.prompt == pytest.approx(0.03)
    assert truth.order == pytest.approx(0.02)


def test_generator_out_of_range_says_how_far_it_goes():
    with pytest.raises(InputError, match=r"0 < prompt <= 0\.06 works"):
        PromptGenerator.declare(prompt=0.1)
    assert PromptGenerator.declare(prompt=0.06).prompt == 0.06
    with pytest.raises(InputError, match="prompts = 1"):
        PromptGenerator.declare(prompt=0.01).draw_laws(
            np.random.default_rng(0), datasets=1, items=1, prompts=1
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: w.with_invalid(None), "invalid = None"),
        (lambda w: w.with_invalid([]), r"invalid = \[\]: give one rate"),
        (lambda w: w.components(items=[], prompts=2, orders=2), r"items = \[\]: nothing"),
        (lambda w: w.laws(items="abc", prompts=2, orders=2), "items = 'abc': a list of names"),
        (lambda w: w.laws(items=np.int64(0), prompts=2, orders=2), "items = 0: nothing"),
        (lambda w: w.deterministic(np.zeros((0, 2), dtype=int)), r"deterministic = \[\]"),
        (
            lambda _: PromptGenerator.declare(base=[[0.5, 0.5]], prompt=0.01),
            r"base has shape \(1, 2\): it is one law",
        ),
    ],
)
def test_values_of_the_wrong_kind_are_refused_in_words(call, message):
    with pytest.raises(InputError, match=message):
        call(World.from_effects())


def test_numbers_of_items_may_be_numpy_ones():
    laws = World.from_effects(item_spread=0.1).laws(items=np.int64(3), prompts=2, orders=2)
    np.testing.assert_array_equal(
        laws, World.from_effects(item_spread=0.1).laws(items=3, prompts=2, orders=2)
    )
