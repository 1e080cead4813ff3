"""Read figures out of the analysis JSON, each with its path.

What the page shows is looked up here and nowhere else, so a figure in the page and the figure in
the JSON cannot differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgelaw.report import numbers
from judgelaw.report.document import Inline
from judgelaw.report.numbers import Number

Key = str | int


@dataclass(frozen=True, kw_only=True)
class Source:
    """The JSON of an analysis, or one part of it."""

    document: Any
    where: tuple[Key, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Source":
        """Start at the top."""
        return cls(document=document)

    def at(self, *keys: Key) -> "Source":
        """Go down; a part that is absent is None all the way."""
        value = self.document
        for key in keys:
            value = value[int(key)] if isinstance(value, list) else (value or {}).get(key)
        return Source(document=value, where=(*self.where, *keys))

    @property
    def known(self) -> bool:
        """Whether there is something here."""
        return self.document is not None

    @property
    def path(self) -> str:
        """The path of this part."""
        return numbers.path(*self.where)

    def text(self, *keys: Key) -> str:
        """Return words."""
        return str(self.at(*keys).document)

    def value(self, *keys: Key) -> Any:
        """Return what stands there, unformatted."""
        return self.at(*keys).document

    def decimal(self, *keys: Key, digits: int = 4) -> Number:
        """Return a component or a rate."""
        found = self.at(*keys)
        return numbers.decimal(found.document, digits, where=found.path)

    def percent(self, *keys: Key, digits: int = 0) -> Number:
        """Return a share."""
        found = self.at(*keys)
        return numbers.percent(found.document, digits, where=found.path)

    def count(self, *keys: Key) -> Number:
        """Return a whole number."""
        found = self.at(*keys)
        return numbers.count(found.document, where=found.path)

    def p_value(self, *keys: Key) -> Number:
        """Return a p value."""
        found = self.at(*keys)
        return numbers.p_value(found.document, where=found.path)

    def measured(self, *keys: Key) -> Number:
        """Return a figure of unknown scale."""
        found = self.at(*keys)
        return numbers.measured(found.document, where=found.path)

    def interval(self, *keys: Key, digits: int = 4) -> Inline:
        """Return an interval as `[low, high]`, or a dash."""
        found = self.at(*keys)
        if not found.known:
            return (Number(value=None, text=numbers.ABSENT, path=found.path),)
        return ("[", found.decimal(0, digits=digits), ", ", found.decimal(1, digits=digits), "]")


def plain(parts: Inline) -> str:
    """Return a run of text and figures as one string."""
    return "".join(part.text if isinstance(part, Number) else part for part in parts)
