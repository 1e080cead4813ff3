"""The declared budget: what was spent, what is under way, and whether one more call fits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from judgelaw.acquire.retry import ChangeSignal, Halt, Reason
from judgelaw.errors import InputError
from judgelaw.ledger import Receipt, Totals
from judgelaw.study import Budget
from judgelaw.wire import JudgeSpec, Price

_MTOK = 1_000_000
_TOKENS_PER_BYTE = 0.4
"""Before the first reply of a judge; afterwards its own ratio is known."""
_UNCAPPED_OUTPUT = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """What a call takes, or may take, from the budget."""

    tokens: float = 0.0
    usd: float = 0.0


NOTHING = Cost()


def usd(price: Price | None, *, tokens_in: float, tokens_out: float, cached: float = 0) -> float:
    """Return the price of some tokens; cached input at its own price where one is declared."""
    if price is None:
        return 0.0
    declared = price.cached_input_per_mtok
    cheap = price.input_per_mtok if declared is None else declared
    fresh = (tokens_in - cached) * price.input_per_mtok
    return (fresh + cached * cheap + tokens_out * price.output_per_mtok) / _MTOK


def usd_of(price: Price | None, used: Receipt | Totals) -> float:
    """Return the price of the tokens that a provider reported."""
    said, cached = used.output_tokens or 0, used.cached_tokens or 0
    return usd(price, tokens_in=used.input_tokens or 0, tokens_out=said, cached=cached)


@dataclass
class Meter:
    """What one judge's calls cost, learned from its own replies."""

    spec: JudgeSpec
    _bytes: int = 0
    _tokens: int = 0

    def estimate(self, body: bytes) -> Cost:
        """Return the most that a request is expected to take: its tokens in, the cap out."""
        ratio = self._tokens / self._bytes if self._bytes else _TOKENS_PER_BYTE
        decoding = self.spec.decoding
        cap = decoding.max_tokens or decoding.max_completion_tokens or _UNCAPPED_OUTPUT
        tokens_in = len(body) * ratio
        return Cost(
            tokens=tokens_in + cap, usd=usd(self.spec.price, tokens_in=tokens_in, tokens_out=cap)
        )

    def learn(self, body: bytes, receipt: Receipt) -> Cost | None:
        """Return what a reply took, None where the provider did not say."""
        if receipt.input_tokens is None or receipt.output_tokens is None:
            return None
        self._bytes += len(body)
        self._tokens += receipt.input_tokens
        tokens = receipt.input_tokens + receipt.output_tokens
        return Cost(tokens=tokens, usd=usd_of(self.spec.price, receipt))


@dataclass
class RunBudget:
    """The budget of a run: admits calls while the worst case of what is under way still fits.

    `calls` are those that were answered, and attempts that may have been, and whose answer is lost.
    """

    budget: Budget
    calls: int = 0
    tokens: float = 0.0
    usd: float = 0.0
    under_way: int = 0
    settled: ChangeSignal = field(default_factory=ChangeSignal)
    _held_tokens: float = 0.0
    _held_usd: float = 0.0

    def lacks(self, cost: Cost) -> str | None:
        """Say which limit one more call would pass; None where it fits."""
        b = self.budget
        if b.calls is not None and self.calls + self.under_way + 1 > b.calls:
            return f"{b.calls} calls"
        if b.tokens is not None and self.tokens + self._held_tokens + cost.tokens > b.tokens:
            return f"{b.tokens} tokens ({self.tokens:.0f} used)"
        if b.usd is not None and self.usd + self._held_usd + cost.usd > b.usd:
            return f"{b.usd:g} USD ({self.usd:.4f} used)"
        return None

    def hold(self, cost: Cost) -> None:
        """Set the worst case of a call aside while it is under way."""
        self.under_way += 1
        self._held_tokens += cost.tokens
        self._held_usd += cost.usd

    def settle(self, held: Cost, spent: Cost | None, *, completed: bool) -> None:
        """Replace what was set aside by what was spent: also by an answer that is lost."""
        self.under_way -= 1
        self._held_tokens -= held.tokens
        self._held_usd -= held.usd
        if not self.under_way:  # rounding must not pile up
            self._held_tokens = self._held_usd = 0.0
        self.calls += completed or spent is not None
        if spent is not None:
            self.tokens += spent.tokens
            self.usd += spent.usd
        self.settled.ring()

    @property
    def needs_usage(self) -> bool:
        """Whether a reply without usage makes the budget impossible to keep."""
        return self.budget.tokens is not None or self.budget.usd is not None


def exhausted(halt: Halt, limit: str) -> None:
    """Stop for a limit such as `30 calls` or `5 USD (4.9990 used)`, and name its key."""
    key = limit.split()[1].lower()
    remedy = f"raise budget.{key} in the study"
    halt.stop(Reason.BUDGET, f"the budget of {limit} is used up", remedy=remedy)


def open_run_budget(
    budget: Budget | None,
    judges: Mapping[str, JudgeSpec],
    totals: Mapping[str, Totals],
    bodies: Callable[[str], bytes] = lambda _: b"",
) -> RunBudget:
    """Start from what the rows say was spent; refuse a budget in dollars without prices.

    Attempts that may have been answered and lost count as calls, and at the judge's mean cost;
    before its first answer at the worst case of a request such as `bodies` gives for it.
    """
    budget = budget or Budget()
    unpriced = [name for name, spec in judges.items() if spec.price is None]
    if budget.usd is not None and unpriced:
        raise InputError(
            f"budget.usd = {budget.usd:g}, and judge {unpriced[0]} has no price: a budget in "
            "dollars needs `price: {input_per_mtok: ..., output_per_mtok: ...}` for every judge"
        )
    run_budget = RunBudget(budget)
    for name, spec in judges.items():
        t = totals[name]
        lost = 1 + (t.at_risk / t.completed if t.completed else 0.0)
        run_budget.calls += t.completed + t.at_risk
        run_budget.tokens += lost * (t.input_tokens + t.output_tokens)
        run_budget.usd += lost * usd_of(spec.price, t)
        if t.at_risk and not t.completed and run_budget.needs_usage:
            worst = Meter(spec).estimate(bodies(name))
            run_budget.tokens += t.at_risk * worst.tokens
            run_budget.usd += t.at_risk * worst.usd
    return run_budget
