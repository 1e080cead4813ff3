"""How prompts begin: an id alone says nothing to who did not write the study."""

from collections.abc import Mapping
from typing import Any

from judgelaw.report.text import ELLIPSIS

PART = "Prompts"
"""The part of a frozen configuration that names the prompts."""
OPENS = "opens with"
_LENGTH = 72


def opening(text: str) -> str:
    """Return the first words of a prompt on one line."""
    line = " ".join(text.split())
    if len(line) <= _LENGTH:
        return line
    return line[:_LENGTH].rpartition(" ")[0].rstrip(",;:") + f" {ELLIPSIS}"


def openings(frozen: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the first words of every prompt that the configuration knows, by id."""
    found = (frozen or {}).get(PART)
    if not isinstance(found, Mapping):
        return {}
    return {
        name: str(values[OPENS])
        for name, values in found.items()
        if isinstance(values, Mapping) and OPENS in values
    }
