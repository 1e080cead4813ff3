"""Templates: literal text around the fields of an item."""

import difflib
import re
from dataclasses import dataclass

from judgelaw.design.model import canonical_json, sha256_hex

PAIR_FIELDS = ("instruction", "candidate_a", "candidate_b")
POINT_FIELDS = ("instruction", "candidate")

PAIR_BLOCK = (
    "USER INSTRUCTION:\n{instruction}\n\nCANDIDATE A:\n{candidate_a}\n\nCANDIDATE B:\n{candidate_b}"
)
POINT_BLOCK = "USER INSTRUCTION:\n{instruction}\n\nRESPONSE:\n{candidate}"

_NEAR = 0.75
_WORD_IN_BRACES = re.compile(r"\{([a-z_0-9]{4,30})\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """One prompt of a policy.

    Attributes:
        id: its name in the calls table.
        parts: alternately literal text (even places) and field names (odd places). Fields are
            filled once and by name, so braces inside an item's text mean nothing.
    """

    id: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The template as it is read: field names in braces."""
        return "".join(
            part if place % 2 == 0 else "{" + part + "}" for place, part in enumerate(self.parts)
        )

    @property
    def sha256(self) -> str:
        """SHA-256 of the parts; two templates with the same hash render the same."""
        return sha256_hex(canonical_json(self.parts))


def fields_of(task: str) -> tuple[str, ...]:
    """Return the fields that a template of this task may name."""
    return PAIR_FIELDS if task == "pairwise" else POINT_FIELDS


def default_block(task: str) -> str:
    """Return the item block that prefixes and suffixes surround."""
    return PAIR_BLOCK if task == "pairwise" else POINT_BLOCK


def split(text: str, fields: tuple[str, ...]) -> tuple[str, ...]:
    """Split a text at `{field}`; every other brace stays as it is."""
    names = "|".join(re.escape(field) for field in fields)
    return tuple(re.split(r"\{(" + names + r")\}", text))


def around(prefix: str, block: tuple[str, ...], suffix: str) -> tuple[str, ...]:
    """Put literal text around a block; braces in prefix and suffix mean nothing."""
    if len(block) == 1:
        return (prefix + block[0] + suffix,)
    return (prefix + block[0], *block[1:-1], block[-1] + suffix)


def complaints(parts: tuple[str, ...], fields: tuple[str, ...]) -> list[str]:
    """Say what a template lacks, and which of its braces look like a misspelt field."""
    found: list[str] = []
    for literal in parts[::2]:
        for word in _WORD_IN_BRACES.findall(literal):
            near = difflib.get_close_matches(word, fields, n=1, cutoff=_NEAR)
            if word in fields:
                found.append(
                    f"has {{{word}}} in a prefix or suffix, where it would be sent as it stands; "
                    "write the whole prompt under text, or the layout under block"
                )
            elif near:
                found.append(f"{{{word}}} would be sent as it stands; did you mean {{{near[0]}}}?")
    found.extend(
        f"does not name {{{field}}}: every candidate must be shown; add the placeholder"
        for field in fields
        if field.startswith("candidate") and field not in parts[1::2]
    )
    return found
