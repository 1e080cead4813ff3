"""How fast a provider may be asked: from what its headers say, and else from what it refuses.

Arithmetic on the time that is passed in. A limit is a bucket that fills at some rate, with what it
holds saved for a burst. Where headers say what is left, the bucket is followed. Where nothing is
said, a refusal tells that it is empty: what was granted between two refusals is the rate at which
it fills, and the rate creeps up from there until the next refusal tells again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf, sqrt

from judgelaw.wire import Quota

_FEWEST = 16
"""Grants between two refusals from which on their rate is an estimate; fewer only say: too fast."""
_PRIOR = 32.0
"""Grants that an earlier estimate is worth beside a new one."""
_STEPS = ((0.9, 0.96), (0.8, 0.9), (0.6, 0.85), (0.4, 0.8))
"""Multiplicative decrease at the first, second, ... refusal at once: the least and the most that is
left of the rate. An estimate that rests on little goes to the last of them."""
_FOUNDED = 64.0
"""Grants behind an estimate that one refusal does not overthrow."""
_SEEN = 3
_SAVING_S, _SAVING = 1.0, 0.93
"""Behind a refusal without a pause the bucket gets a little first, since arrivals scatter."""
_FASTEST, _SLOWEST = 0.25, 0.002
"""Additive increase: shares of the estimate that the rate gains in a second."""
_QUIET_S = 20.0
"""Without a refusal for so long the limit may have risen: the increase doubles, again and again."""
_CREDIT_S = 0.05
"""How far behind its schedule a send may be made up for: timers and replies come late."""
_FEW, _LONG_S = 4, 4.0
"""Where requests are few, as many grants in as long a time say enough."""
_LEAST = 1e-3
_MARGIN = 2.0
"""Units that stay in a bucket that is followed: what its server counts comes late."""
_LOOK_S, _AGAIN_S = 0.05, 0.25
"""How soon, and how late at most, to look again where a reply may tell more."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One request that left.

    Attributes:
        at: when.
        requests, tokens: of all requests up to this one.
    """

    at: float
    requests: float
    tokens: float


class LearnedRate:
    """Requests a second that a provider grants, learned from what it refuses.

    Additive increase, multiplicative decrease: after a refusal the rate is what was granted since
    the one before (or less, where they follow at once), and it grows from there.

    Attributes:
        per_s: the estimate; infinite until something was refused.
    """

    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self.per_s = inf
        self._growth = _FASTEST
        self._rests_on = 0.0
        """Grants behind the estimate."""
        self._reacted = -inf
        """When the rate was last changed: what left before says nothing about it."""
        self._begun = -inf
        """When requests left again behind the pause of the last refusal."""
        self._empty = -inf
        """When the bucket was last found empty."""
        self._granted = 0
        self._next = -inf
        self._first: float | None = None
        self._quick = 0
        self._saves = 0.0
        self._burst_until = -inf
        self._burst = 0
        """Grants of requests that left before anything was refused."""
        self._burst_s = 0.0

    @property
    def limited(self) -> bool:
        """Whether anything was refused."""
        return self.per_s < inf

    def now(self, now: float) -> float:
        """Return the rate at which requests leave now."""
        if not self.limited:
            return inf
        quiet = max(0.0, now - self._begun)
        if quiet < self._saves:
            return _SAVING * self.per_s
        doublings = int(min(10.0, quiet // _QUIET_S))
        growth = self._growth * float(1 << doublings)
        return self.per_s * (1.0 + min(_FASTEST, growth) * quiet)

    def wait(self, now: float) -> float:
        """Return the seconds until the next request may leave."""
        return max(0.0, self._next - now) if self.limited else 0.0

    def book(self, now: float) -> None:
        """Count a request that leaves now."""
        if self._first is None:
            self._first = now
        if self.limited:
            self._next = max(self._next, now - _CREDIT_S) + 1.0 / self.now(now)

    def granted(self, ticket: Ticket) -> None:
        """Count a request that was answered."""
        if not self.limited or ticket.at < self._burst_until:
            self._burst += 1
        else:
            self._granted += 1

    def refused(self, ticket: Ticket, now: float, pause_s: float) -> None:
        """Slow down, once for all requests that left before the last time."""
        if ticket.at < self._reacted:
            return
        before = self.now(now)
        if not self.limited:
            # What was saved up is part of what was granted, so this is too fast by far.
            self._burst_s = max(now - (now if self._first is None else self._first), _LEAST)
            self._burst_until = now
            before = max(1.0, self._burst) / self._burst_s
        found = self._measured(now, before)
        if found is None:
            self._decrease(min(before, self.per_s), now)
        else:
            self._learn(found, before)
        self._saves = _SAVING_S if pause_s == 0.0 else 0.0
        self.per_s = max(self.per_s, _LEAST)
        self._empty = self._reacted = now
        self._begun = now + pause_s
        self._granted = 0
        self._next = now

    def _measured(self, now: float, before: float) -> float | None:
        """Return the rate that was granted since the last refusal; None where too few were.

        What a pause gave was granted up to what the bucket holds. Where the rate began too low, the
        bucket ran over until the rate met its own: the time since then is that in which the growth
        of the rate has emptied it. Each of the three is at most the rate that is looked for.
        """
        span = now - self._empty
        enough = self._granted >= _FEWEST or (self._granted >= _FEW and span >= _LONG_S)
        if not self.limited or not enough:
            return None
        run = max(now - self._begun, 1e-3)
        holds = max(0.0, self._burst - self.per_s * self._burst_s)
        slope = max(0.0, before - self.per_s) / run
        crossed = before - sqrt(2.0 * holds * slope)
        found = [self._granted / span, (self._granted - holds) / run]
        return max([*found, crossed] if crossed >= self.per_s else found)

    def _decrease(self, known: float, now: float) -> None:
        """Slow down for refusals that follow at once: by more, the more of them do."""
        self._quick += 1
        founded = self._rests_on >= _FOUNDED
        least, most = _STEPS[min(self._quick, len(_STEPS)) - 1] if founded else _STEPS[-1]
        seen = self._granted / max(now - self._empty, _LEAST) if self._granted >= _SEEN else inf
        # A little by chance, so that two who share a limit do not go in step.
        self.per_s = min(max(seen, least * known), most * known) * (0.97 + 0.03 * self._jitter())
        self._growth = _FASTEST / 4 if founded else _FASTEST
        if self._quick >= len(_STEPS):
            self._rests_on = 0.0

    def _learn(self, found: float, before: float) -> None:
        known, self._quick = self.per_s, 0
        weight = self._granted / (self._granted + min(_PRIOR, self._rests_on))
        self.per_s = min(weight * found + (1.0 - weight) * known, before)
        self._rests_on += self._granted
        spread = 0.9 + 0.2 * self._jitter()
        growth = abs(self.per_s / known - 1.0) / 4
        self._growth = min(_FASTEST, max(_SLOWEST, growth) * spread)


class Mirror:
    """A limit as its provider's headers show it, followed between replies.

    Attributes:
        known: whether anything was said yet.
    """

    def __init__(self) -> None:
        self.known = False
        self._level = 0.0
        self._unit = 1.0
        """What one request takes, about."""
        self._limit = inf
        self._per_s = 0.0
        self._at = -inf
        self._heard = -inf
        self._full_at = inf

    def heard(self, quota: Quota, mark: float, booked: float, ticket: Ticket, now: float) -> None:
        """Take in what a reply says; what left after its request is taken off.

        Args:
            quota: what it says.
            mark: units of all requests up to the one that it answers.
            booked: units of all requests so far.
            ticket: the request that it answers.
            now: when it came.
        """
        if mark < self._heard:
            return
        self.known, self._heard = True, mark
        if quota.limit is not None:
            self._limit = quota.limit
        if (per_s := quota.per_s) is not None:
            self._per_s = per_s
        self._full_at = inf if quota.reset_s is None or per_s is not None else now + quota.reset_s
        # What is left is what was there when the request came in: the bucket has filled since.
        filled = self._per_s * max(0.0, now - ticket.at)
        self._level, self._at = quota.remaining + filled - (booked - mark), now

    def wait(self, units: float, now: float) -> float:
        """Return the seconds until so many units are there."""
        if not self.known:
            return 0.0
        lacking = min(units + self._margin, self._limit) - self._level_at(now)
        if lacking <= 0:
            return 0.0
        if self._per_s > 0:
            return min(lacking / self._per_s, _AGAIN_S)
        return min(max(_LOOK_S, self._full_at - now), _AGAIN_S)

    @property
    def _margin(self) -> float:
        return min(_MARGIN * self._unit, self._limit / 4)

    def book(self, units: float, now: float) -> None:
        """Take units off."""
        self._unit += (units - self._unit) / 8
        if self.known:
            self._level, self._at = self._level_at(now) - units, now

    def _level_at(self, now: float) -> float:
        if now >= self._full_at:
            return self._limit
        return min(self._limit, self._level + self._per_s * max(0.0, now - self._at))


class ProviderLimits:
    """What one judge's provider allows, as far as it is known."""

    def __init__(self, jitter: Callable[[], float]) -> None:
        self.rate = LearnedRate(jitter)
        self.mirrors = {"requests": Mirror(), "tokens": Mirror()}
        self._booked = {"requests": 0.0, "tokens": 0.0}
        self._pause_until = -inf
        self._held_by = ""

    def wait(self, tokens: float, now: float) -> float:
        """Return the seconds until a request may leave; 0 where it may."""
        waits = {
            "the provider's pause": self._pause_until - now,
            "the provider's refusals": self.rate.wait(now),
            "requests left at the provider": self.mirrors["requests"].wait(1.0, now),
            "tokens left at the provider": self.mirrors["tokens"].wait(tokens, now),
        }
        held_by, longest = max(waits.items(), key=lambda each: each[1])
        self._held_by = held_by if longest > 0 else self._held_by
        return max(0.0, longest)

    @property
    def counts_tokens(self) -> bool:
        """Whether the provider has said how many tokens are left."""
        return self.mirrors["tokens"].known

    @property
    def idle(self) -> bool:
        """Whether nothing is known that could hold a request."""
        known = any(mirror.known for mirror in self.mirrors.values())
        return not (known or self.rate.limited or self._pause_until > -inf)

    @property
    def words(self) -> str:
        """Say what limits the rate; nothing where nothing did yet."""
        return self._held_by

    def book(self, tokens: float, now: float) -> Ticket:
        """Count a request that leaves now."""
        self.rate.book(now)
        for kind, units in (("requests", 1.0), ("tokens", tokens)):
            self._booked[kind] += units
            self.mirrors[kind].book(units, now)
        return Ticket(now, self._booked["requests"], self._booked["tokens"])

    def heard(self, ticket: Ticket, quotas: Iterable[Quota], now: float) -> None:
        """Take in what the headers of a reply say."""
        for quota in _tightest(quotas):
            mark = ticket.requests if quota.kind == "requests" else ticket.tokens
            self.mirrors[quota.kind].heard(quota, mark, self._booked[quota.kind], ticket, now)

    def answered(self, ticket: Ticket) -> None:
        """Count a request that was answered."""
        self.rate.granted(ticket)

    def refused(self, ticket: Ticket, retry_after: float | None, now: float) -> None:
        """Slow down after a 429, and pause for as long as it asks."""
        pause = retry_after or 0.0
        self._pause_until = max(self._pause_until, now + pause)
        self.rate.refused(ticket, now, pause)


def _tightest(quotas: Iterable[Quota]) -> Iterable[Quota]:
    """Return of several limits of one kind the one that is nearest to its end."""
    found: dict[str, Quota] = {}
    for quota in quotas:
        known = found.get(quota.kind)
        if known is None or _left(quota) < _left(known):
            found[quota.kind] = quota
    return found.values()


def _left(quota: Quota) -> float:
    return quota.remaining / quota.limit if quota.limit else inf
