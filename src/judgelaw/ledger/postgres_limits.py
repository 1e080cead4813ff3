"""Limits that all sessions keep together: pace by a shared schedule, budget by a shared purse."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judgelaw.design.judge import JudgeSpec
from judgelaw.design.study import Budget, Study, Transport
from judgelaw.ledger.sqltext import statements
from judgelaw.ledger.values import Booking, Reservation

if TYPE_CHECKING:
    import psycopg

_SQL = statements("postgres")
_MINUTE = 60.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Which limits there are."""

    paced: bool = False
    budgeted: bool = False

    @property
    def any(self) -> bool:
        """Whether a request has to ask at all."""
        return self.paced or self.budgeted

    def book(
        self,
        reservation: Reservation,
        tokens: float,
        usd: float,
        connection: "psycopg.Connection[Any]",
    ) -> Booking:
        """Set the cost of a request aside and give it the next free time, in one transaction."""
        if self.budgeted:
            held = connection.execute(_SQL["hold"], (tokens, usd)).rowcount
            if not held:
                return _lacking(connection, tokens)
        # Also without a budget: the schedule of tokens is corrected by what was set aside.
        connection.execute(_SQL["set_aside"], (reservation.attempt, tokens, usd))
        if not self.paced:
            return Booking()
        row = connection.execute(_SQL["book"], (reservation.call.judge, tokens)).fetchone()
        return Booking(delay_s=float(row[0]) if row else 0.0)


def share(connection: "psycopg.Connection[Any]", *, study: Study) -> Limits:
    """Put the limits of a study in force, and count from rows what has been spent of them."""
    budget, transport = study.budget or Budget(), study.transport
    budgeted = any(limit is not None for limit in (budget.calls, budget.tokens, budget.usd))
    # Nobody spends or holds between the counting and the filling.
    connection.execute(_SQL["lock_purse"])
    for judge in study.judges:
        connection.execute(_SQL["set_judge_limits"], _judge_limits(judge, transport))
    connection.execute(_SQL["drop_purse"])
    if budgeted:
        connection.execute(_SQL["fill_purse"], (budget.calls, budget.tokens, budget.usd))
    paced = transport.requests_per_minute is not None or transport.tokens_per_minute is not None
    return Limits(paced=paced, budgeted=budgeted)


def _judge_limits(judge: JudgeSpec, transport: Transport) -> tuple[object, ...]:
    requests, tokens = transport.requests_per_minute, transport.tokens_per_minute
    pace = (_MINUTE / requests if requests else None, _MINUTE / tokens if tokens else None)
    price = judge.price
    if price is None:
        return (judge.name, *pace, 0.0, 0.0, 0.0)
    cached = price.cached_input_per_mtok
    cheap = price.input_per_mtok if cached is None else cached
    return (judge.name, *pace, price.input_per_mtok, price.output_per_mtok, cheap)


def _lacking(connection: "psycopg.Connection[Any]", tokens: float) -> Booking:
    row = connection.execute(_SQL["purse"]).fetchone()
    assert row is not None  # noqa: S101 - `share` filled it, and only `share` empties it
    most_calls, most_tokens, most_usd, calls, spent, paid, under_way, held, _ = row
    if most_calls is not None and calls + under_way + 1 > most_calls:
        lacks = f"{most_calls} calls"
    elif most_tokens is not None and spent + held + tokens > most_tokens:
        lacks = f"{most_tokens:.0f} tokens ({spent:.0f} used)"
    else:
        lacks = f"{most_usd:g} USD ({paid:.4f} used)"
    return Booking(lacks=lacks, under_way=under_way)
