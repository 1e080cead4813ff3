"""What a log holds, and what it becomes: one entry, one call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

PARTS = ("judge", "layer", "item", "prompt", "order", "repeat", "stratum", "gold", "verdict")
"""The columns of a calls table that can be taken from a field of a log."""

Tick = Callable[[int], None]
"""Told how many bytes of the log were read since the last time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One completion as a log holds it, before anybody says what its fields mean.

    Attributes:
        place: file and line, or file and entry, for messages.
        record: where fields are looked up by path.
        known: the parts of a call that the format itself tells, or that metadata call by name.
        text, finish_reason, refusal, content_filtered: the completion.
        response_id: the provider's name for the response, with the choice where it had several.
        cached: the tool says that it did not ask the model for this one.
        error: why there is no completion, None where there is one.
    """

    place: str
    record: Mapping[str, Any]
    known: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    content_filtered: bool = False
    response_id: str | None = None
    cached: bool = False
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedCall:
    """One call of somebody else's run.

    Attributes:
        place: where it stands in the log.
        order: AB or BA, or the log's own word for it; None where the log has no orders.
        repeat: the rank that the log states; None means by order of appearance in the cell.
        verdict: as displayed, or with candidates restored, as `displayed` says.
        displayed: candidates are still to be restored, if the verdict names positions.
        said: a hash of what the model wrote, None where the log does not hold it.
        reason: `parsed`, or why the verdict is `invalid`.
    """

    place: str
    judge: str
    item: str
    prompt: str
    verdict: str
    layer: str | None = None
    order: str | None = None
    repeat: int | None = None
    stratum: str | None = None
    gold: str | None = None
    displayed: bool = False
    said: str | None = None
    response_id: str | None = None
    cached: bool = False
    reason: str = "parsed"

    @property
    def cell(self) -> tuple[str | None, ...]:
        """Judge, layer, item, prompt and order."""
        return self.judge, self.layer, self.item, self.prompt, self.order
