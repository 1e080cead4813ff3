"""The base of every model of a study: immutable, and deaf to keys that nobody declared."""

import hashlib
import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

PositiveInt = Annotated[int, Field(ge=1, le=2**53)]
"""Up to what every reader of JSON holds exactly."""

PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Name = Annotated[
    str, Field(max_length=200, pattern=r"^[^\s\x00-\x1f]([^\x00-\x1f]*[^\s\x00-\x1f])?$")
]
"""One line without blanks at its ends: it stands in tables, messages and reports."""

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Model(BaseModel):
    """A frozen part of a study; an unknown key is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False
    )


def canonical_json(value: Any) -> str:
    """Write a value as the one JSON text that hashes are taken of: sorted keys, no spaces."""
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )


def sha256_hex(text: str | bytes) -> str:
    """Return the SHA-256 of a text, in UTF-8, or of bytes."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()
