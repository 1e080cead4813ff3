"""Which column of a table plays which part of the contract."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from judgelaw.errors import InputError, TableError
from judgelaw.tables._words import did_you_mean, listed

CONTRACT = ("judge", "layer", "item", "stratum", "prompt", "order", "repeat", "verdict", "gold")
REQUIRED = ("judge", "item", "prompt", "repeat", "verdict")

ALIASES: Mapping[str, tuple[str, ...]] = {
    "judge": ("judge_id", "judge_name", "judge_model", "model", "model_id", "model_name"),
    "layer": ("layer_id", "layer_name"),
    "item": ("item_id", "example_id", "instance_id", "question_id", "sample_id"),
    "stratum": ("stratum_id", "strata", "subset", "category"),
    "prompt": ("prompt_id", "prompt_name", "template", "template_id", "wrapper", "wrapper_id"),
    "order": ("order_id", "answer_order", "display_order", "presentation_order"),
    "repeat": ("repeat_rank", "repeat_id", "repeat_index", "repetition", "replicate"),
    "verdict": ("outcome", "parsed_verdict", "decision", "winner", "judgment", "judgement"),
    "gold": ("gold_label", "gold_verdict", "reference_verdict"),
}
"""Names read without a mapping where the contract's own name is absent; the first column of the
paper's released layout that differs is `repeat_rank`. Case does not matter."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The table's own column name by contract name; an absent optional column is not a key."""

    columns: Mapping[str, str]

    def has(self, part: str) -> bool:
        """Say whether the table holds this part of the contract."""
        return part in self.columns


def lay_out(
    present: Sequence[str], mapping: Mapping[str, str | None] | None, *, table: str
) -> Layout:
    """Decide which of the columns `present` is which part of the contract.

    Args:
        present: the names of the table's columns.
        mapping: the caller's choice by contract name; None leaves an optional column out.
        table: how to call the table in a message.
    """
    mapping = {} if mapping is None else mapping
    _check_mapping(mapping, present, table)
    columns = {}
    for part in CONTRACT:
        column = mapping[part] if part in mapping else _guess(part, present, table)
        if column is not None:
            columns[part] = column
    if missing := [part for part in REQUIRED if part not in columns]:
        raise TableError(_missing(missing, present, table))
    return Layout(columns=columns)


def _check_mapping(mapping: Mapping[str, str | None], present: Sequence[str], table: str) -> None:
    for part, column in mapping.items():
        if part not in CONTRACT:
            raise InputError(
                f"columns maps {part!r}, which is no part of a calls table"
                f"{did_you_mean(part, CONTRACT)}: map one of {', '.join(CONTRACT)}, "
                "as in columns={'verdict': 'winner'}"
            )
        if column is None and part in REQUIRED:
            raise InputError(f"columns leaves out {part!r}, which a calls table needs")
        if column is not None and column not in present:
            raise TableError(
                f"{table}: columns maps {part!r} to {column!r}, which the table does not have"
                f"{did_you_mean(column, present)}; it has {listed(present)}"
            )


def _guess(part: str, present: Sequence[str], table: str) -> str | None:
    """Find a column by the contract's name, else by one of its aliases."""
    if part in present:
        return part
    for names in ((part,), ALIASES[part]):
        found = [column for column in present if column.strip().casefold() in names]
        if len(found) > 1:
            raise TableError(
                f"{table}: {' and '.join(map(repr, found))} could each be the {part}: "
                f"say which, columns={{{part!r}: {found[0]!r}}}"
            )
        if found:
            return found[0]
    return None


def _missing(missing: Sequence[str], present: Sequence[str], table: str) -> str:
    part = missing[0]
    near = get_close_matches(part, present, n=1)
    other = near[0] if near else "NAME"
    return (
        f"{table}: no column {', '.join(map(repr, missing))}{did_you_mean(part, present)}; "
        f"it has {listed(present)}: rename it, or map it with columns={{{part!r}: {other!r}}}"
        f"{_separator_hint(present)}"
    )


def _separator_hint(present: Sequence[str]) -> str:
    if len(present) == 1:
        for mark, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if mark in present[0]:
                return f" (the header is separated by {word}; a calls table by commas)"
    return ""
