"""Templates: literal text around the fields of an item."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """One prompt of a policy.

    Attributes:
        id: its name in the calls table.
        parts: alternately literal text (even places) and field names (odd places).
    """

    id: str
    parts: tuple[str, ...]
