"""Laws that a pilot lets us expect, and the widths promised from them."""

from math import nan

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.decide import MOST_ITEMS, MOST_REPEATS, Promise, outlook_from_law, outlook_from_pilot
from judgelaw.decide.assurance import _fewest
from judgelaw.decide.pilot_laws import laws_from_pilot
from judgelaw.estimate import COMPONENTS, Estimand, population
from judgelaw.streams import stream
from judgelaw.uncertainty import declare, infer
from support import judges

OPEN = (0.4, 0.3, 0.2, 0.1)


def pilot(world, *, items=20, repeats=4, prompts=4, orders=2, seed=1):
    """Return true components of a pilot's items, and its counts."""
    pool = judges.pool(world, prompts, orders, seed=seed, size=400)
    rng = stream(seed, "pilot", world)
    chosen = pool.draw(items, rng)
    return pool.truth[chosen].mean(axis=0), judges.counts(pool.laws[chosen], repeats, rng)


def expected(counts, *, items=300, seed=5):
    """Return the mean components of laws drawn from a pilot's."""
    laws = laws_from_pilot(declare(counts)).draw(items, stream(seed, "drawn"))
    np.testing.assert_allclose(laws.sum(axis=-1), 1)
    assert laws.min() >= 0
    found = population(laws).macro()
    return np.array([found[name] for name in COMPONENTS])


def test_many_calls_leave_little_but_the_choice_of_items():
    truth, counts = pilot("open, effects", items=200, repeats=400)
    # An interaction of .0006 is within the dice of 400 calls a cell.
    np.testing.assert_allclose(expected(counts, items=2_000), truth, rtol=0.12, atol=2e-4)


def test_effects_of_an_open_judge_are_not_shrunk_away():
    truth, counts = pilot("open, effects", items=100, repeats=4)
    found = expected(counts, items=2_000)
    for name in ("prompt", "order"):
        at = COMPONENTS.index(name)
        assert 0.6 * truth[at] < found[at] < 1.6 * truth[at]


def test_dice_of_a_pilot_are_not_taken_for_effects():
    """Frequencies of two calls show a prompt component of .2; the true one is zero."""
    truth, counts = pilot("open, no effects", items=60, repeats=2)
    prompt, call = COMPONENTS.index("prompt"), COMPONENTS.index("call")
    shown = jl.decompose(counts).macro().plugin
    assert shown["prompt"] > 0.1
    assert shown["call"] < 0.6 * truth[call]
    found = expected(counts)
    assert found[prompt] < 0.25 * shown["prompt"]
    # The fit leans towards effects, so some of the noise is lost.
    assert 0.8 * truth[call] < found[call] < 1.1 * truth[call]


def test_items_that_flip_by_prompt_stay_flipped():
    flips = np.zeros((40, 4, 2, 4), dtype=int)
    flips[:20, :, :, 0] = 4
    flips[20:, :2, :, 0] = 4
    flips[20:, 2:, :, 1] = 4
    found = dict(zip(COMPONENTS, expected(flips), strict=True))
    assert found["prompt"] == pytest.approx(0.25, rel=0.2)
    assert found["call"] < 0.05


@pytest.mark.parametrize("shape", [(1, 2), (3, 1), (1, 1)])
def test_an_absent_facet_needs_no_level(shape):
    _, counts = pilot("heavy tails", prompts=shape[0], orders=shape[1])
    laws = laws_from_pilot(declare(counts)).draw(7, stream(1, "drawn"))
    assert laws.shape == (7, *shape, 4)


def test_a_settled_pilot_allows_for_an_item_that_nobody_saw():
    settled = np.zeros((20, 4, 2, 4), dtype=int)
    settled[..., 0] = 4
    drawn = [
        population(laws_from_pilot(declare(settled)).draw(20, stream(s, "drawn"))).call
        for s in range(30)
    ]
    open_items = (np.array(drawn) > 0.1).mean()
    assert 0.01 < open_items < 0.1


def simulated(outlook, *, items, repeats, component, scope):
    """Compute the half widths of an outlook's studies again."""
    widths = []
    for study in range(outlook.studies):
        laws = outlook.laws.draw(items, stream(outlook.seed, "plan", "laws", study))
        counts = stream(outlook.seed, "plan", "calls", study).multinomial(repeats, laws)
        low, high = infer(counts, draws=2_000, seed=outlook.seed).bounds(component, 0.975, scope)
        widths.append((high - low) / 2)
    return np.sort(widths)


@pytest.mark.parametrize(("assurance", "rank", "scope"), [(0.8, 32, "fixed"), (0.5, 20, "new")])
def test_under_a_law_a_promise_is_a_quantile_of_the_intervals_themselves(assurance, rank, scope):
    outlook = outlook_from_law(OPEN, prompts=3, orders=2, assurance=assurance, studies=39, seed=3)
    found = outlook.at("call", items=8, repeats=4, scope=scope)
    widths = simulated(outlook, items=8, repeats=4, component="call", scope=scope)
    assert found.half_width == widths[rank - 1]
    assert found.reaches(widths[rank - 1])
    assert not found.reaches(widths[rank - 2])


def test_from_a_pilot_half_the_risk_and_a_twentieth_of_the_width_are_kept_back():
    _, counts = pilot("heavy tails")
    outlook = outlook_from_pilot(counts, studies=39)
    found = outlook.at("prompt", items=12, repeats=2)
    widths = simulated(outlook, items=12, repeats=2, component="prompt", scope="fixed")
    assert found.half_width == pytest.approx(1.05 * widths[35])
    assert outlook.at("prompt", items=12, repeats=2) == found


def test_all_promises_of_a_study_are_made_at_once():
    _, counts = pilot("heavy tails")
    outlook = outlook_from_pilot(counts, studies=39)
    done = []
    found = list(
        outlook.promises(
            ["call", "order"], ["fixed", "new"], items=10, repeats=[2, 4], advance=done.append
        )
    )
    assert sum(done) == 2 * 39
    assert [(p.repeats, p.scope, p.component) for p in found] == [
        (R, scope, c) for R in (2, 4) for scope in ("fixed", "new") for c in ("call", "order")
    ]
    assert found[-1] == outlook.at("order", items=10, repeats=4, scope="new")


def test_the_fewest_repeats_and_items_reach_the_width_and_fewer_do_not():
    outlook = outlook_from_law(OPEN, prompts=3, orders=2, studies=39)
    found = outlook.repeats_for("call", 0.05, items=10)
    assert found.reaches(0.05)
    assert not outlook.at("call", items=10, repeats=found.repeats - 1).reaches(0.05)
    found = outlook.items_for("call", 0.05, repeats=4, start=10)
    assert found.reaches(0.05)
    assert not outlook.at("call", items=int(found.items * 0.9), repeats=4).reaches(0.05)


def test_repeats_do_not_replace_items():
    _, counts = pilot("heavy tails")
    outlook = outlook_from_pilot(counts, studies=39)
    assert outlook.repeats_for("total", 0.02, items=10, scope="new") is None


@pytest.mark.parametrize("width", [lambda n: n**-0.5, lambda n: 1 / n, lambda n: 0.02 + 1 / n])
@pytest.mark.parametrize("wanted", [0.9, 0.3, 0.05, 0.03, 0.001])
@pytest.mark.parametrize("start", [2, 40, 400])
def test_the_search_ends_close_to_the_smallest_number(width, wanted, start):
    tried = []

    def promise(number):
        tried.append(number)
        return Promise(
            component="call",
            scope="new",
            items=number,
            repeats=2,
            assurance=0.8,
            half_width=width(number),
        )

    found = _fewest(promise, wanted, start=start, most=MOST_ITEMS)
    least = next((n for n in range(2, MOST_ITEMS + 1) if width(n) <= wanted), None)
    assert len(tried) <= 10
    if least is None:
        assert found is None
        return
    assert least <= found.items <= max(least + 1, least * 1.06)


def test_where_there_will_be_no_interval_the_reason_is_given():
    outlook = outlook_from_law(OPEN, prompts=3, orders=1, studies=39)
    found = outlook.at("order", items=4, repeats=4)
    assert np.isnan(found.half_width)
    assert "order" in found.reason
    assert not found.reaches(1.0)
    assert outlook.repeats_for("order", 0.1, items=4) is None
    assert outlook.items_for("order", 0.1, repeats=4) is None
    one = outlook.at("call", items=1, repeats=4, scope="new")
    assert "one item" in one.reason


def test_weights_of_orders_go_by_name_into_the_intervals():
    tensor = jl.VerdictTensor.from_laws(np.tile(OPEN, (20, 3, 2, 1)), repeats=4, seed=1)
    names = dict(zip(tensor.orders, (0.9, 0.1), strict=True))
    weighted = outlook_from_pilot(tensor, Estimand(order_weights=names), studies=39)
    plain = outlook_from_pilot(tensor, studies=39)
    one, other = (o.at("call", items=30, repeats=4).half_width for o in (weighted, plain))
    assert one > 1.1 * other


def test_prompts_that_were_drawn_make_intervals_wider():
    _, counts = pilot("open, effects", items=10)
    census, sampled = (
        outlook_from_pilot(counts, Estimand(design=design), studies=39).at(
            "prompt", items=10, repeats=4
        )
        for design in ("census", "sampled")
    )
    assert sampled.half_width > census.half_width


@pytest.mark.parametrize(
    ("ask", "rule"),
    [
        (lambda o: o.at("x", items=4, repeats=4), "no component is called 'x'"),
        (lambda o: o.at("call", items=0, repeats=4), "items = 0"),
        (lambda o: o.at("call", items=4, repeats=1), "two calls"),
        (lambda o: o.repeats_for("call", 0.0, items=4), "half_width = 0"),
        (lambda o: o.items_for("call", -1.0, repeats=4), "half_width = -1"),
        (lambda o: o.items_for("call", nan, repeats=4), "half_width = nan"),
        (lambda _: outlook_from_law(OPEN, prompts=1, orders=1, assurance=1.0), "assurance = 1"),
        (lambda _: outlook_from_law(OPEN, prompts=1, orders=1, studies=10), "studies = 10"),
        (lambda _: outlook_from_law([1.0], prompts=1, orders=1), "two verdicts"),
        (lambda _: outlook_from_law([0.5, 0.6], prompts=1, orders=1), "not to 1"),
    ],
)
def test_impossible_wishes_are_refused(ask, rule):
    with pytest.raises(jl.InputError, match=rule):
        ask(outlook_from_law(OPEN, prompts=2, orders=2, studies=39))


def test_a_pilot_of_one_repeat_is_refused():
    with pytest.raises(jl.NotIdentifiedError):
        outlook_from_pilot(np.full((3, 2, 2, 2), [1, 0]))


def test_the_limits_of_the_search_are_what_the_command_says():
    assert (MOST_REPEATS, MOST_ITEMS) == (256, 2_000)
