"""Text written by others: shown as it is, but without the power to reorder or hide what is near.

A completion, a prompt or an item id may hold control characters, direction overrides and lone
surrogates. Each is replaced by its visible code point, so that a reader sees that it is there.
"""

import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls except tab and newline
    "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # direction, width, joins
    "\ud800-\udfff\ufffe\uffff]"  # surrogates without a partner, noncharacters
)


def visible(text: str) -> str:
    """Replace what cannot be seen by its code point, `<U+202E>` in angle brackets."""
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def visible_json(text: str) -> str:
    """Write what cannot be seen as JSON escapes, which leave the meaning of JSON as it is."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
