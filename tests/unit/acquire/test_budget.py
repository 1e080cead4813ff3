"""A budget holds even in the worst case of what is under way."""

import pytest

from judgelaw.acquire.budget import Cost, Meter, RunBudget, exhausted, open_run_budget, usd
from judgelaw.acquire.retry import Halt
from judgelaw.errors import InputError
from judgelaw.ledger import Receipt, Totals
from judgelaw.study import Budget
from judgelaw.wire import Decoding, JudgeSpec, Price

PRICE = Price(input_per_mtok=1.0, output_per_mtok=10.0)


def judge(**fields):
    return JudgeSpec(
        name="j",
        provider="openai-chat",
        base_url="http://h/v1",
        model="m",
        decoding=Decoding(max_tokens=100),
        **fields,
    )


def totals(**fields):
    zero = dict.fromkeys(Totals.__dataclass_fields__, 0)
    return Totals(**{**zero, **fields})


def test_prices_count_cached_input_apart():
    assert usd(PRICE, tokens_in=1_000_000, tokens_out=100_000) == pytest.approx(2.0)
    cheap = Price(input_per_mtok=1.0, output_per_mtok=10.0, cached_input_per_mtok=0.1)
    assert usd(cheap, tokens_in=1_000_000, tokens_out=0, cached=500_000) == pytest.approx(0.55)
    assert usd(None, tokens_in=5, tokens_out=5) == 0.0


def test_a_meter_learns_the_ratio_of_its_judge():
    meter = Meter(judge(price=PRICE))
    assert meter.estimate(b"x" * 1000).tokens == pytest.approx(400 + 100)
    spent = meter.learn(b"x" * 1000, Receipt(input_tokens=250, output_tokens=3))
    assert spent == Cost(tokens=253, usd=pytest.approx(0.00028))
    assert meter.estimate(b"x" * 1000).tokens == pytest.approx(250 + 100)
    assert meter.learn(b"x", Receipt()) is None


def test_calls_under_way_count():
    run_budget = RunBudget(Budget(calls=2))
    assert run_budget.lacks(Cost()) is None
    run_budget.hold(Cost())
    run_budget.hold(Cost())
    assert run_budget.lacks(Cost()) == "2 calls"
    run_budget.settle(Cost(), None, completed=False)
    assert run_budget.lacks(Cost()) is None
    run_budget.settle(Cost(), None, completed=True)
    run_budget.hold(Cost())
    assert run_budget.lacks(Cost()) == "2 calls"


def test_tokens_and_dollars_hold_the_worst_case():
    run_budget = RunBudget(Budget(tokens=1_000, usd=1.0))
    worst = Cost(tokens=600, usd=0.1)
    run_budget.hold(worst)
    assert "1000 tokens" in run_budget.lacks(worst)
    run_budget.settle(worst, Cost(tokens=100, usd=0.95), completed=True)
    assert run_budget.lacks(Cost(tokens=600)) is None
    assert "1 USD" in run_budget.lacks(worst)


def test_rounding_does_not_pile_up():
    run_budget = RunBudget(Budget(tokens=10))
    for _ in range(10_000):
        run_budget.hold(Cost(tokens=0.1))
        run_budget.settle(Cost(tokens=0.1), None, completed=False)
    assert run_budget.lacks(Cost(tokens=10)) is None


def test_a_purse_starts_from_the_rows_and_counts_lost_answers():
    rows = totals(completed=10, input_tokens=1_000, output_tokens=100, at_risk=5)
    run_budget = open_run_budget(Budget(tokens=9), {"j": judge(price=PRICE)}, {"j": rows})
    assert (run_budget.calls, run_budget.tokens) == (15, 1_650)
    assert run_budget.usd == pytest.approx(1.5 * 0.002)


def test_lost_answers_before_the_first_one_count_at_their_worst():
    rows = totals(at_risk=3)
    run_budget = open_run_budget(
        Budget(tokens=9), {"j": judge(price=PRICE)}, {"j": rows}, lambda _: b"x" * 1000
    )
    worst = Meter(judge(price=PRICE)).estimate(b"x" * 1000)
    assert (run_budget.calls, run_budget.tokens) == (3, 3 * worst.tokens)
    assert run_budget.usd == pytest.approx(3 * worst.usd)


def test_an_answer_that_is_lost_is_a_call_of_the_budget():
    run_budget = RunBudget(Budget(calls=1))
    run_budget.hold(Cost())
    run_budget.settle(Cost(), Cost(), completed=False)
    assert run_budget.lacks(Cost()) == "1 calls"


def test_dollars_without_a_price_are_refused():
    with pytest.raises(InputError, match="judge j has no price"):
        open_run_budget(Budget(usd=5), {"j": judge()}, {"j": totals()})


@pytest.mark.parametrize(
    ("budget", "key"),
    [({"calls": 1}, "calls"), ({"tokens": 1}, "tokens"), ({"usd": 0.5}, "usd")],
)
def test_a_limit_that_is_reached_names_its_key(budget, key):
    run_budget = RunBudget(Budget(**budget), calls=1)
    halt = Halt()
    exhausted(halt, run_budget.lacks(Cost(tokens=2, usd=1.0)))
    assert halt.remedy == f"raise budget.{key} in the study"
