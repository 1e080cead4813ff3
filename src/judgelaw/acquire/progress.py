"""What a user sees while a run is under way. Only what is durable counts as done."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Protocol, Self

from judgelaw.acquire.budget import usd_of
from judgelaw.ledger import Completed, Failed, Held, Read, Record, Totals
from judgelaw.wire import FailureKind, JudgeSpec
from judgelaw.words import words

_INVALID = "invalid"
_WHY = 60
_RECENT_S = 10.0


@dataclass
class Tally:
    """A running view of the rows, for the eye only: totals are counted in the ledger."""

    judges: Mapping[str, JudgeSpec]
    planned: int
    done: int
    started_at: float
    answered: int = 0
    read: int = 0
    invalid: int = 0
    failed: int = 0
    throttled: int = 0
    """Requests that a provider refused for now (429): they follow later, and failed at nothing."""
    limits: Callable[[], Iterable[str]] = tuple
    """Says what limits the rate of each judge."""
    usd: float = 0.0
    last_failure: str = ""
    held: Held | None = None
    """Replies that the ledger cannot write for now, and why."""
    _seen: deque[tuple[float, int]] = field(default_factory=deque, repr=False)

    @classmethod
    def starting_from(
        cls, totals: Mapping[str, Totals], judges: Mapping[str, JudgeSpec], now: float
    ) -> Self:
        """Start from what earlier sessions did."""
        return cls(
            judges=judges,
            planned=sum(t.planned for t in totals.values()),
            done=sum(t.completed for t in totals.values()),
            started_at=now,
            usd=sum(usd_of(judges[name].price, t) for name, t in totals.items()),
        )

    def add(self, records: Sequence[Record]) -> None:
        """Count records that became durable."""
        for record in records:
            if isinstance(record, Completed):
                if record.superseded:
                    continue
                self.done += 1
                self.answered += 1
                self.usd += usd_of(self.judges[record.reservation.call.judge].price, record.receipt)
            elif isinstance(record, Read):
                self.read += 1
                self.invalid += record.verdict.verdict == _INVALID
            elif isinstance(record, Failed):
                if record.kind == FailureKind.THROTTLED.value:
                    self.throttled += 1
                    continue
                self.failed += 1
                self.last_failure = record.detail

    def rate(self, now: float) -> float:
        """Calls a second in the last ten seconds, or in this session where it is younger."""
        past = [seen for seen in self._seen if seen[0] <= now - _RECENT_S][-1:]
        since, before = (past or [(self.started_at, 0)])[0]
        elapsed = now - since
        return (self.answered - before) / elapsed if elapsed > 0 else 0.0

    def mark(self, now: float) -> None:
        """Note how far the run is, for the rate of the last seconds."""
        self._seen.append((now, self.answered))
        while len(self._seen) > 1 and self._seen[1][0] <= now - _RECENT_S:
            self._seen.popleft()

    def left_s(self, now: float) -> float | None:
        """Seconds to go at this session's rate; None before the first answer."""
        rate = self.rate(now)
        return (self.planned - self.done) / rate if rate else None

    def words(self, now: float) -> str:
        """Say everything in one line."""
        left = self.left_s(now)
        parts = [
            f"{self.done}/{self.planned} calls",
            f"{self.rate(now):.1f}/s",
            f"{clock(left)} left" if left is not None else "no answer yet",
            f"{self.failed} failed{self._why()}",
        ]
        if limited := self.limited_by:
            parts.insert(2, f"limited by {limited}")
        if self.read:
            parts.append(f"{self.invalid / self.read:.1%} invalid")
        if self.held is not None:
            parts.append(f"nothing is sent: {self.held.said}")
        if any(spec.price is not None for spec in self.judges.values()):
            parts.append(f"{self.usd:.4f} USD")
        return ", ".join(parts)

    @property
    def limited_by(self) -> str:
        """Say what limits the rate; nothing where only the judges' own speed does."""
        return " and ".join(dict.fromkeys(words(said) for said in self.limits() if said))

    def _why(self) -> str:
        """Return the last failure, cut to its place in a line: its details are in the ledger."""
        if not self.last_failure:
            return ""
        # Judges come from other packages too: one line, and nothing that moves the cursor.
        return f": {shorten(words(self.last_failure), _WHY, placeholder=' ...')}"


def clock(seconds: float) -> str:
    """Write a duration as people read it.

    >>> clock(59.6), clock(3725), clock(200000)
    ('1:00', '1:02:05', '2 d 7 h')
    """
    whole = round(seconds)
    minutes, s = divmod(whole, 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    if days:
        return f"{days} d {h} h"
    return f"{hours}:{m:02}:{s:02}" if hours else f"{m}:{s:02}"


class Observer(Protocol):
    """Whoever shows the progress of a run."""

    def show(self, tally: Tally, now: float) -> None:
        """Show where the run stands."""
        ...


class Silent:
    """Shows nothing."""

    def show(self, tally: Tally, now: float) -> None:
        """Show nothing."""
