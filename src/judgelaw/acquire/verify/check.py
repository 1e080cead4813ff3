"""What a verification says: one line for each thing that was looked at."""

from collections.abc import Iterable
from dataclasses import dataclass, field

_NAMED_AT_MOST = 5


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at, and what was found."""

    name: str
    ok: bool
    detail: str


@dataclass
class Problems:
    """Counts everything that is wrong, and keeps the first few in words."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, problem: str) -> None:
        """Take note of a problem."""
        self.count += 1
        if len(self.first) < _NAMED_AT_MOST:
            self.first.append(problem)

    def extend(self, problems: Iterable[str]) -> None:
        """Take note of several."""
        for problem in problems:
            self.add(problem)

    def check(self, name: str, good: str) -> Check:
        """Close the account: `good` says what was found in order."""
        if not self.count:
            return Check(name=name, ok=True, detail=good)
        more = f" (and {self.count - len(self.first)} more)" if self.count > len(self.first) else ""
        return Check(name=name, ok=False, detail="; ".join(self.first) + more)
