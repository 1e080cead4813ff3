"""How a study names the rule that turns a completion into a displayed label."""

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from judgelaw.design.model import Model

LABELS_HELP = "what the match becomes: A, B or TIE for pairs; any verdict for single answers"


class RegexParser(Model):
    """The first match of a regular expression; its group `verdict`, or 1, or the whole match."""

    regex: str = Field(min_length=1)
    labels: dict[str, str] | None = Field(default=None, description=LABELS_HELP)
    ignore_case: bool = False


class JsonParser(Model):
    """One field of a JSON object in the completion; a dotted path descends."""

    field: str = Field(alias="json", min_length=1)
    labels: dict[str, str] | None = Field(default=None, description=LABELS_HELP)
    ignore_case: bool = False


class ScoreRange(Model):
    """Admissible scores: `min`, `min + step`, ..., up to `max`."""

    min: float
    max: float
    step: float = Field(default=1.0, gt=0)
    regex: str | None = Field(default=None, description="where the number stands; group 1")


class ScoreParser(Model):
    """A number in a declared range; one that is off the range or the grid is `invalid`."""

    score: ScoreRange


def _kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "name"
    keys = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    for key, kind in (("regex", "regex"), ("json", "json"), ("field", "json"), ("score", "score")):
        if key in keys:
            return kind
    return None


ParserSpec = Annotated[
    Annotated[str, Tag("name")]
    | Annotated[RegexParser, Tag("regex")]
    | Annotated[JsonParser, Tag("json")]
    | Annotated[ScoreParser, Tag("score")],
    Discriminator(_kind),
]
"""A name (`first-line`, or an entry point of the group `judgelaw.parsers`) or one of the models."""
