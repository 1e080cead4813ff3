"""One way to write a parser: in a study, for an import, for another reading, and in Python.

`first-line` or the name of an entry point; `regex:PATTERN`, `json:FIELD` or `score:MIN..MAX` in
short; or a mapping as a study has it, `{regex: PATTERN, labels: {...}, strict: true}`.
"""

from collections.abc import Mapping
from typing import Any

from judgelaw.errors import InputError

FORMS = (
    "first-line, regex:PATTERN, json:FIELD, score:MIN..MAX, or as in a study {regex: ...}, "
    "{json: ...}, {score: ...}"
)
_LABELLED = ("regex", "json")


def parser_rule(written: Any) -> Any:
    """Return a parser as a judge declares it: a name, or a mapping that says whether it is strict.

    Raises:
        InputError: the text is no parser.
    """
    if isinstance(written, Mapping):
        rule = dict(written)
        return {"strict": False, **rule} if any(kind in rule for kind in _LABELLED) else rule
    if not isinstance(written, str):
        raise InputError(f"parser {written!r}: write {FORMS}")
    if written.lstrip().startswith("{"):
        return parser_rule(_mapping(written))
    return short_rule(written)


def short_rule(written: str) -> Any:
    """Return what a short form stands for; a plain name as it is."""
    kind, colon, rest = written.partition(":")
    if kind in _LABELLED and rest:
        return {kind: rest, "strict": False}
    if kind == "score" and colon:
        return {"score": _scale(rest, written)}
    if kind in _LABELLED or colon:
        raise InputError(f"parser {written!r}: write {FORMS}")
    return written


def _scale(text: str, written: str) -> dict[str, float]:
    """Read `MIN..MAX`, with `/STEP` behind it where steps are not 1."""
    span, _, step = text.partition("/")
    low, dots, high = span.partition("..")
    try:
        found = {"min": float(low), "max": float(high)} if dots else None
        if found is not None:
            return found | ({"step": float(step)} if step else {})
    except ValueError:
        pass  # said below, with the whole of what was written
    raise InputError(f"parser {written!r}: a scale is score:MIN..MAX, as in score:1..5")


def _mapping(written: str) -> Any:
    from ruamel.yaml import YAML  # noqa: PLC0415 - loads where a rule is written as YAML
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - same

    try:
        found = YAML(typ="safe", pure=True).load(written)
    except YAMLError:
        found = None
    if not isinstance(found, Mapping):
        raise InputError(f"parser {written}: no YAML; write it as in a study, in quotes")
    return found
