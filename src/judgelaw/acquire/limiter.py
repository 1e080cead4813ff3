"""How fast one judge is asked: slots that shrink under throttling, requests and tokens a minute.

All rules are arithmetic on the time that is passed in; waiting is the lane's business.
"""

from judgelaw.acquire.halt import Bell

_CREDIT_S = 1.0
"""A schedule that fell behind may catch up on this much, and no more."""


class Pace:
    """Spaces out units so that no more than `per_minute` of them start in a minute."""

    def __init__(self, per_minute: float | None) -> None:
        self._spacing = 60.0 / per_minute if per_minute else 0.0
        self._next = float("-inf")

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._spacing > 0

    def book(self, units: float, now: float) -> float:
        """Book units at the next free time; return the seconds to wait for it."""
        if not self._spacing:
            return 0.0
        start = max(self._next, now - _CREDIT_S)
        self._next = start + units * self._spacing
        return max(0.0, start - now)

    def correct(self, units: float) -> None:
        """Add what a booking turned out to need beyond its estimate, or give back what not."""
        if self._spacing:
            self._next += units * self._spacing


class Slots:
    """Requests that may be under way at once: halved when throttled, regained one by one."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.allowed = float(most)
        self.busy = 0
        self._resume_at = float("-inf")

    @property
    def free(self) -> bool:
        """Whether another request may start, as far as slots go."""
        return self.busy < int(self.allowed)

    def wait(self, now: float) -> float:
        """Return the seconds until the provider's pause is over."""
        return max(0.0, self._resume_at - now)

    def throttled(self, now: float, pause_s: float) -> None:
        """Slow down after a 429: pause everyone, and go on with half the width.

        A burst of them halves once, since requests that left before the pause say nothing about
        the width after it.
        """
        if now >= self._resume_at:
            self.allowed = max(1.0, self.allowed / 2)
        self._resume_at = max(self._resume_at, now + pause_s)

    def answered(self) -> None:
        """Regain width: one slot for each full round of answers."""
        self.allowed = min(float(self.most), self.allowed + 1.0 / self.allowed)


class Limiter:
    """The limits of one judge together."""

    def __init__(
        self, *, concurrency: int, requests_per_minute: int | None, tokens_per_minute: int | None
    ) -> None:
        self.slots = Slots(concurrency)
        self.freed = Bell()
        self._requests = Pace(requests_per_minute)
        self._tokens = Pace(tokens_per_minute)

    @property
    def counts_tokens(self) -> bool:
        """Whether calls need an estimate of their tokens."""
        return self._tokens.limited

    def book(self, tokens: float, now: float) -> float:
        """Take a slot and book one request; return the seconds to wait before it may leave."""
        self.slots.busy += 1
        return max(self._requests.book(1.0, now), self._tokens.book(tokens, now))

    def done(self, *, estimated: float, used: float | None) -> None:
        """Give the slot back and correct the booking of tokens."""
        self.slots.busy -= 1
        if used is not None:
            self._tokens.correct(used - estimated)
        self.freed.ring()
