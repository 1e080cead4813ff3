"""The contract of a calls table: its columns, and what a source of calls can do.

What a source of calls can do, whichever engine stands behind it.

The verdicts of a cell come home as bit masks. Ranks are cut into words of `WORD` bits; in each
word `presence` has the bits of the ranks that hold a call, and `plane_j` those whose verdict code
has bit j set. Counts are then population counts, the ranked verdicts are the bits, and a call that
is there twice shows exactly: `n`, the number of rows, differs from the bits of `presence`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Protocol

import duckdb

from judgelaw.errors import InputError, TableError
from judgelaw.words import did_you_mean, listed

CONTRACT = (
    *("judge", "criterion", "layer", "date", "item", "stratum", "prompt", "order", "repeat"),
    *("verdict", "gold"),
)
REQUIRED = ("judge", "item", "prompt", "repeat", "verdict")
SOFT = "p_"
"""Begins the columns of token probabilities, `p_candidate_1`: one for each verdict."""
_NO_VERDICT = frozenset({SOFT, "p_value", "p_values", "p_val", "p_adj", "p_adjusted"})
"""Columns that begin like token probabilities, and hold something else."""
MISSING = "missing"
"""The column of the probability that a call's vector gives to no verdict."""

ALIASES: Mapping[str, tuple[str, ...]] = {
    "judge": ("judge_id", "judge_name", "judge_model", "model", "model_id", "model_name"),
    "criterion": ("criterion_id", "criterion_name"),
    "layer": ("layer_id", "layer_name"),
    "date": ("wave", "asked_on"),
    "item": ("item_id", "example_id", "instance_id", "question_id", "sample_id"),
    "stratum": ("stratum_id", "strata", "subset", "category"),
    "prompt": ("prompt_id", "prompt_name", "template", "template_id", "wrapper", "wrapper_id"),
    "order": (
        "order_id",
        "answer_order",
        "display_order",
        "presentation_order",
        "candidate_order",
        "option_order",
        "ordering",
        "swapped",
        "is_swapped",
        "flipped",
    ),
    "repeat": ("repeat_rank", "repeat_id", "repeat_index", "repetition", "replicate"),
    "verdict": ("outcome", "parsed_verdict", "decision", "winner", "judgment", "judgement"),
    "gold": ("gold_label", "gold_verdict", "reference_verdict"),
}
"""Names read without a mapping where the contract's own name is absent; the first column of the
paper's released layout that differs is `repeat_rank`. Case does not matter."""

FURTHER: Mapping[str, tuple[str, ...]] = {
    "judge": ("rater", "grader", "evaluator", "annotator"),
    "item": ("id", "example", "question", "instance", "sample", "qid", "uid", "idx"),
    "prompt": ("variant", "prompt_variant", "prompt_version", "rubric"),
    "repeat": ("trial", "run", "run_id", "iteration", "iter", "rep", "attempt", "try"),
    "verdict": ("label", "choice", "preference", "preferred", "answer", "prediction", "result"),
}
"""Names that are taken for what every table needs, where nothing better is there."""


SHOWN = frozenset({"ab", "ba"})
"""Labels that say in which order two answers were shown, and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """What a question needs of a table's columns.

    Attributes:
        parts: the columns that it knows.
        required: those without which it has no answer.
        aliases: other names of a column, read where its own is absent.
        further: names that are taken where nothing better is there.
    """

    parts: tuple[str, ...] = CONTRACT
    required: tuple[str, ...] = REQUIRED
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: ALIASES)
    further: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: FURTHER)


CALLS = Need()
"""What every estimate from repeated calls needs."""


class Wish(dict[str, str | None]):
    """Columns mapped by name, for a question with a need of its own."""

    def __init__(self, mapping: Mapping[str, str | None], need: Need) -> None:
        """Map these columns under this need."""
        super().__init__(mapping)
        self.need = need


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The table's own column name by contract name; an absent optional column is not a key."""

    columns: Mapping[str, str]

    def has(self, part: str) -> bool:
        """Say whether the table holds this part of the contract."""
        return part in self.columns

    def soft_beside(self, found: Collection[str]) -> frozenset[str]:
        """The verdicts with token probabilities, if one of those found is among them.

        A verdict that no call ended in may still have a probability.
        """
        soft = frozenset(p.removeprefix(SOFT) for p in self.columns if p.startswith(SOFT))
        return soft if soft & set(found) else frozenset()


Peek = Callable[[list[str]], Iterable[Sequence[object]]]
"""Gives the first `PEEKED` rows of the columns that it is asked for."""

PEEKED = 100


def lay_out(
    present: Sequence[str],
    mapping: Mapping[str, str | None] | None,
    *,
    table: str,
    peek: Peek | None = None,
) -> Layout:
    """Decide which of the columns `present` is which part of the contract.

    Args:
        present: the names of the table's columns.
        mapping: the caller's choice by contract name; None leaves an optional column out.
        table: how to call the table in a message.
        peek: looks into the table, where no name says which column is the order.
    """
    mapping = {} if mapping is None else mapping
    need = mapping.need if isinstance(mapping, Wish) else CALLS
    _check_mapping(mapping, need, present, table)
    columns = {}
    for part in need.parts:
        other = (need.aliases.get(part, ()), need.further.get(part, ()))
        column = mapping[part] if part in mapping else _guess(part, other, present, table)
        if column is not None:
            columns[part] = column
    if need is CALLS:
        columns |= _soft(present, mapping)
        if peek is not None and "order" not in {*columns, *mapping}:
            others = [column for column in present if column not in columns.values()]
            columns |= _order_by_its_labels(others, peek, table)
    if missing := [part for part in need.required if part not in columns]:
        raise TableError(_missing(missing, present, table))
    return Layout(columns=columns)


def _order_by_its_labels(others: list[str], peek: Peek, table: str) -> dict[str, str]:
    """Find the order by what it says: a column that holds AB and BA alone has one meaning.

    Without it the orders would be taken for one, and letters of positions for names of answers.
    """
    said: list[set[str]] = [set() for _ in others]
    for row in peek(others) if others else ():
        for labels, value in zip(said, row, strict=True):
            labels.add(str(value).strip().casefold())
    found = [name for name, labels in zip(others, said, strict=True) if labels and labels <= SHOWN]
    if len(found) > 1:
        raise TableError(_which(found, "order", table))
    return {"order": found[0]} if found else {}


def _soft(present: Sequence[str], mapping: Mapping[str, str | None]) -> dict[str, str]:
    """Return the columns of token probabilities, and of what they lack, where there are some."""
    named = {c: c for c in present if c.startswith(SOFT) and c not in _NO_VERDICT}
    chosen = {**named, **{part: to for part, to in mapping.items() if part.startswith(SOFT)}}
    found = {part: column for part, column in chosen.items() if column is not None}
    if not found:
        return {}
    lacking = mapping.get(MISSING, MISSING if MISSING in present else None)
    return found if lacking is None else {**found, MISSING: lacking}


def _check_mapping(
    mapping: Mapping[str, str | None], need: Need, present: Sequence[str], table: str
) -> None:
    given: object = mapping  # what is handed in from Python may be anything
    if not isinstance(given, Mapping) or not all(isinstance(part, str) for part in given):
        raise InputError(f"columns = {mapping!r}: write columns={{'verdict': 'winner'}}")
    for part, column in mapping.items():
        soft = need is CALLS and (part.startswith(SOFT) or part == MISSING)
        if part not in need.parts and not soft:
            raise InputError(
                f"columns maps {part!r}, which is no part of a calls table"
                f"{did_you_mean(part, need.parts)}: map one of {', '.join(need.parts)}, "
                "as in columns={'verdict': 'winner'}"
            )
        if column is None and part in need.required:
            raise InputError(f"columns leaves out {part!r}, which a calls table needs")
        if column is not None and column not in present:
            raise TableError(
                f"{table}: columns maps {part!r} to {column!r}, which the table does not have"
                f"{did_you_mean(column, present)}; it has {listed(present)}"
            )


def _guess(
    part: str, aliases: Sequence[Sequence[str]], present: Sequence[str], table: str
) -> str | None:
    """Find a column by the contract's name, else by one of its aliases."""
    if part in present:
        return part
    for names in ((part,), *aliases):
        found = [column for column in present if folded(column) in names]
        if len(found) > 1:
            raise TableError(_which(found, part, table))
        if found:
            return found[0]
    return None


def _which(found: Sequence[str], part: str, table: str) -> str:
    return (
        f"{table}: {' and '.join(map(repr, found))} could each be the {part}: "
        f"say which, columns={{{part!r}: {found[0]!r}}}"
    )


def folded(column: str) -> str:
    """Return a column's name in lower case, `Item ID` and `item-id` as `item_id`."""
    return re.sub(r"[\s.-]+", "_", column.strip().casefold())


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


WORD = 32
"""Ranks in a word of a mask: sums of powers of two in 64 bits then never overflow."""

ONLY = "only"
"""The label of the single order of a table that has no order column."""

Pair = tuple[str | None, str | None]
"""A layer and a judge."""


Share = tuple[int, int]
"""Which share of the items, of how many."""

WHOLE: Share = (0, 1)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """The calls of one judge and layer that hold one verdict (and gold label), counted."""

    layer: str | None
    judge: str | None
    verdict: str | None
    gold: str | None
    calls: int
    ranked: int
    low: int | None
    high: int | None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the table, as it is written there, and where it stands."""

    place: str
    values: Mapping[str, str | None]


class Calls(Protocol):
    """A table of calls that can be counted where it lies."""

    @property
    def table(self) -> str:
        """How to call the table in a message."""
        ...

    @property
    def layout(self) -> Layout:
        """Which column is which."""
        ...

    @property
    def divisible(self) -> bool:
        """Whether the cells can be counted in shares of the items, one after the other."""
        ...

    def distinct(self, part: str) -> list[str | None]:
        """Return the labels in a column that the table has; an empty one is None."""
        ...

    def only(self, part: str, label: str | None) -> "Calls":
        """Keep the calls with one label in a column, a date or a criterion."""
        ...

    def tallies(self) -> list[Tally]:
        """Count calls by layer, judge, verdict and gold; `ranked` have a whole-number rank."""
        ...

    def count_cells(
        self,
        con: duckdb.DuckDBPyConnection,
        *,
        planes: Sequence[Sequence[str]],
        pairs: Sequence[Pair],
        everything: bool,
        ranks: int,
        share: Share = WHOLE,
    ) -> None:
        """Make the table `cells` in `con` for the named pairs, which may be `everything`.

        All ranks lie below `ranks`. A `share` holds some of the items, all their cells.
        Its columns are layer, judge, item, stratum, gold, prompt, order, word, presence, one
        plane for each list of spellings in `planes`, and n.
        """
        ...

    def find(self, where: Mapping[str, str | int | None], *, at_most: int) -> list[Row]:
        """Find the first rows whose columns hold the given values.

        None matches a missing value; under `repeat` a whole number matches the rank, and None
        whatever is no whole number.
        """
        ...


def place_of(calls: Calls, where: Mapping[str, str | int | None]) -> str:
    """Say where the first row with these values stands; the table itself if that is not known."""
    rows = calls.find(where, at_most=1)
    return rows[0].place if rows else calls.table


Mapped = Mapping[str, str | None] | None
