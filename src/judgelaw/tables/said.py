"""What a user says about a table: one value for the command line, Python and a saved file.

Each word has one spelling. `--columns item=question,turn` is `columns={"item": ["question",
"turn"]}`; the words in a refusal are made here from the values that would settle it, so that they
work when they are copied.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike, fspath
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal, TypedDict

from judgelaw.errors import InputError, TableError
from judgelaw.option_types import Option, names, typed_pairs, typed_words
from judgelaw.tables.columns import MISSING, PARTS, REQUIRED, SOFT, is_empty
from judgelaw.words import bare, did_you_mean, listed

Blank = Literal["error", "invalid", "drop"]
BLANKS: tuple[Blank, ...] = ("error", "invalid", "drop")
Names = str | Sequence[str]
_FEWEST, _MOST = 2, 3
"""Words for positions: the first, the second, and perhaps a tie."""
CONSTANT = "="
"""Begins a value that is no column: `--columns judge==gpt-x`."""


def _typed_where(typed: Iterable[str]) -> dict[str, str]:
    """Split FIELD=VALUE at the first equals sign."""
    found = {}
    for word in typed:
        field_name, equals, value = word.partition("=")
        if not (field_name and equals and value):
            raise ValueError(f"{word!r}: write FIELD=VALUE")
        found[field_name] = value
    return found


def _typed_columns(typed: Iterable[str]) -> dict[str, str | None]:
    """Split PART=NAME at the first equals sign; a constant begins with another one."""
    named: dict[str, str | None] = {}
    for pair in typed:
        part, equals, column = pair.partition("=")
        if not equals or not part:
            raise InputError(f"--columns {pair}: write PART=NAME, as in --columns verdict=winner")
        named[part.strip()] = column or None
    return named


class Said(TypedDict, total=False):
    """How to read a table: what Python, the command line and a saved file say of it."""

    columns: Annotated[
        Mapping[str, Names | None] | None,
        Option(
            "The table's own column of a part, as in verdict=winner or item=question,turn; "
            "PART= leaves an optional part out, PART==WORD is a constant.",
            'the table\'s own columns by part, `{"item": ["question", "turn"]}`; None leaves a '
            'part out, `"=name"` is a constant',
            metavar="PART=NAME[,NAME]",
            many=True,
            typed=_typed_columns,
        ),
    ]
    ignore: Annotated[
        Names | None,
        Option(
            "Rows that differ in this column alone are repeats.",
            "columns that mean nothing: rows that differ in them alone are repeats",
            metavar="COLUMN",
            many=True,
        ),
    ]
    explode: Annotated[
        Names | None,
        Option(
            "Each entry of the lists in this field is a row.",
            "fields that hold lists; each entry becomes a row",
            metavar="FIELD",
            many=True,
        ),
    ]
    where: Annotated[
        Mapping[str, Any] | None,
        Option(
            "Keep these rows only.",
            'keep the rows with these values only, `{"condition": "base"}`',
            metavar="FIELD=VALUE",
            many=True,
            typed=_typed_where,
        ),
    ]
    with_file: Annotated[
        str | PathLike[str] | None,
        Option(
            "Join the columns of another file.",
            "another file, whose columns are joined by `on`",
            flag="--with",
            metavar="FILE",
        ),
    ]
    on: Annotated[
        Names | None,
        Option(
            "The columns that both files have.",
            metavar="A,B",
            typed=typed_words,
        ),
    ]
    judges: Annotated[
        Names | None,
        Option(
            "Each of these columns holds the verdicts of one judge.",
            "columns of which each holds the verdicts of one judge",
            metavar="A,B,...",
            many=True,
        ),
    ]
    criteria: Annotated[
        Names | None,
        Option(
            "Each of these columns holds the verdicts on one criterion.",
            "columns of which each holds the verdicts on one criterion",
            metavar="A,B,...",
            many=True,
        ),
    ]
    label: Annotated[
        Mapping[str, str] | None,
        Option(
            "What a word of verdicts or gold stands for.",
            'what a word in the verdicts or the gold labels stands for, `{"[[A]]": "A"}`',
            metavar="VALUE=VERDICT",
            many=True,
            typed=typed_pairs,
        ),
    ]
    map_order: Annotated[
        Mapping[str, str] | None,
        Option(
            "Which display order a word means.",
            'which display order a word stands for, `{"swapped": "BA"}`',
            metavar="VALUE=AB|BA",
            many=True,
            typed=typed_pairs,
        ),
    ]
    verdicts: Annotated[
        Sequence[str] | None,
        Option(
            "The alphabet. [default: the usual four, or what the table holds]",
            "the alphabet; by default the usual four, or what the table holds, sorted",
            metavar="A,B,...",
            rule=names,
            typed=typed_words,
        ),
    ]
    positions: Annotated[
        Sequence[str] | None,
        Option(
            "Verdicts are positions: the words for the answer shown first, shown second, and for "
            "a tie if it has one. They become candidates by the order of each call.",
            "the words for the answer shown first, shown second, and perhaps for a tie, "
            '`("A", "B")`: they become candidates by the order of each call',
            metavar="A,B",
            rule=names,
            typed=typed_words,
        ),
    ]
    parser: Annotated[
        str | None,
        Option(
            "Read the verdict from a column of texts, as a study writes it: first-line, "
            "regex:PATTERN, json:FIELD, score:MIN..MAX, '{regex: ..., labels: {...}}'.",
            'reads the verdict from a column of texts, as `"regex:Choice: (A|B)"`',
            metavar="RULE",
        ),
    ]
    blank: Annotated[
        Blank,
        Option(
            "What a verdict that is blank becomes.",
            'what a blank verdict becomes, "invalid", or "drop" for no call',
            default="error",
        ),
    ]
    reading: Annotated[
        str | PathLike[str] | None,
        Option(
            "Read the table as a saved reading says.",
            "a file that `--save-reading` wrote; what is said beside it counts more",
            metavar="FILE",
        ),
    ]


_LISTS = ("ignore", "explode", "on", "judges", "criteria")
_MAPS = ("where", "label", "map_order")
_FLAGS = {"map_order": "--map-order"}


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What was said about a table; see `Said`. Names may still be lists with commas."""

    columns: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    explode: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    with_file: str | None = None
    on: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    label: Mapping[str, str] = field(default_factory=dict)
    map_order: Mapping[str, str] = field(default_factory=dict)
    positions: tuple[str, ...] | None = None
    verdicts: tuple[str, ...] | None = None
    parser: str | None = None
    blank: Blank = "error"

    def __post_init__(self) -> None:
        """Refuse what contradicts itself, before a file is opened."""
        check_blank(self.blank)
        for part, columns in self.columns.items():
            _check_part(part, columns)
        if self.verdicts is not None and self.positions is not None:
            raise InputError(
                f"verdicts = {list(self.verdicts)} declares the words as they are, positions = "
                f"{list(self.positions)} turns them into candidates: give one of the two"
            )
        for value, order in self.map_order.items():
            if order not in ("AB", "BA"):
                raise InputError(f"order {value}={order}: a display order is AB or BA")
        if self.parser is not None and self.positions is not None:
            raise InputError(
                "a parser and positions: a parser reads labels as they were displayed, and they "
                "are turned into candidates already; leave --positions out"
            )

    @property
    def shapes(self) -> bool:
        """Whether something was said about columns or rows, so that the file is a plain table."""
        shape = (self.explode, self.with_file, self.judges, self.criteria, self.parser)
        return any(shape) or any(columns for columns in self.columns.values())

    def of(self, part: str) -> tuple[str, ...] | None:
        """Return the columns named for a part; None where nothing was said, () for none."""
        if part not in self.columns:
            return None
        return self.columns[part] or ()

    def and_also(self, other: "Wishes") -> "Wishes":
        """Return both; where they differ, the other one counts."""
        plain = Wishes()
        changed: dict[str, Any] = {}
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            if isinstance(mine, Mapping):
                changed[each.name] = {**mine, **theirs}
            elif each.name == "ignore":
                changed[each.name] = tuple(dict.fromkeys((*mine, *theirs)))
            elif theirs != getattr(plain, each.name):
                changed[each.name] = theirs
        if other.positions is not None:
            changed |= {"verdicts": None}
        if other.verdicts is not None:
            changed |= {"positions": None}
        return replace(self, **changed)

    def said(self) -> dict[str, Any]:
        """Return what was said as plain values: the content of a saved reading."""
        plain = Wishes()
        found: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value == getattr(plain, each.name):
                continue
            if each.name == "columns":
                value = {part: _short(columns) for part, columns in value.items()}
            elif isinstance(value, Mapping):
                value = dict(value)
            elif isinstance(value, tuple):
                value = list(value)
            found[each.name] = value
        return found

    def options(self) -> list[str]:
        """Return the options of the command line that say it, word for word."""
        found: list[str] = []
        for part, columns in self.columns.items():
            found += ["--columns", f"{part}={','.join(columns or ())}"]
        for name in ("ignore", "explode"):
            found += [word for column in getattr(self, name) for word in (f"--{name}", column)]
        for name in _MAPS:
            pairs = getattr(self, name).items()
            flag = _FLAGS.get(name, f"--{name}")
            found += [word for pair in pairs for word in (flag, "=".join(pair))]
        if self.with_file is not None:
            found += ["--with", self.with_file]
        for name in ("on", "judges", "criteria", "positions", "verdicts"):
            if words := getattr(self, name):
                found += [f"--{name}", ",".join(words)]
        if self.parser is not None:
            found += ["--parser", self.parser]
        if self.blank != "error":
            found += ["--blank", self.blank]
        return found

    def in_shell(self) -> str:
        """Write the options as they are typed."""
        return " ".join(map(quote, self.options()))

    def in_python(self) -> str:
        """Write it as keywords."""
        found = []
        for name, value in self.said().items():
            keyword = tuple(value) if name in ("positions", "verdicts") else value
            found.append(f"{name}={keyword!r}")
        return ", ".join(found)


def _short(columns: tuple[str, ...] | None) -> str | list[str] | None:
    if not columns:
        return None
    return columns[0] if len(columns) == 1 else list(columns)


def check_blank(blank: str) -> None:
    """Validate what a blank verdict becomes."""
    if blank not in BLANKS:
        raise InputError(f"blank = {blank!r}: say {', '.join(map(repr, BLANKS))}")


def _check_part(part: str, columns: tuple[str, ...] | None) -> None:
    if part not in PARTS and not part.startswith(SOFT) and part != MISSING:
        raise InputError(
            f"columns maps {part!r}, which is no part of a calls table"
            f"{did_you_mean(part, PARTS)}: map one of {', '.join(PARTS)}, "
            "as in columns={'verdict': 'winner'}"
        )
    if not columns and part in REQUIRED:
        raise InputError(f"columns leaves out {part!r}, which a calls table needs")


def wishes(**said: Any) -> Wishes:
    """Return what was said in Python, in whatever of its forms; see `Said`."""
    given = {name: value for name, value in said.items() if value is not None}
    before = Wishes()
    if (saved := given.pop("reading", None)) is not None:
        before = load_reading(saved)
    if not given:
        return before
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name == "columns":
            found[name] = _columns(value)
        elif name in _LISTS:
            found[name] = _names(name, value)
        elif name in _MAPS:
            found[name] = _mapping(name, value)
        elif name == "positions":
            found[name] = check_positions(value)
        elif name == "verdicts":
            found[name] = check_given(value)
        elif name == "with_file":
            found[name] = fspath(value)
        else:
            found[name] = value
    return before.and_also(Wishes(**found))


def _columns(given: Any) -> dict[str, tuple[str, ...] | None]:
    if not isinstance(given, Mapping) or not all(isinstance(part, str) for part in given):
        raise InputError(f"columns = {given!r}: write columns={{'verdict': 'winner'}}")
    return {
        part: None if column is None else _names(f"columns[{part!r}]", column)
        for part, column in given.items()
    }


def _names(name: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable) or isinstance(given, bytes | Mapping):
        raise InputError(f"{name} = {given!r}: name a column, or a list of columns")
    found = tuple(given)
    if wrong := [each for each in found if not isinstance(each, str)]:
        raise InputError(f"{name} = {wrong[0]!r}: a name is needed, in quotes")
    return found


def _mapping(name: str, given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        example = "{'condition': 'base'}" if name == "where" else "{'A': 'candidate_1'}"
        raise InputError(f"{name} = {given!r}: write {name}={example}")
    found = {}
    for key, value in given.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        found[str(key)] = text
    return found


def named_columns(given: tuple[str, ...], present: Sequence[str]) -> tuple[str, ...]:
    """Split names that were written with commas, where no column has the whole as its name."""
    found: list[str] = []
    for each in given:
        whole = each in present or each.startswith(CONSTANT) or "," not in each
        found += [each] if whole else _split(each, present)
    return tuple(found)


def _split(text: str, present: Sequence[str]) -> list[str]:
    """Split at commas, keeping together the longest pieces that are columns."""
    pieces = text.split(",")
    found, start = [], 0
    while start < len(pieces):
        stop = next(
            (n for n in range(len(pieces), start, -1) if ",".join(pieces[start:n]) in present),
            start + 1,
        )
        found.append(",".join(pieces[start:stop]).strip())
        start = stop
    return [name for name in found if name]


def check_named(names: Iterable[str], present: Sequence[str], table: str, *, what: str) -> None:
    """Refuse names that no column has."""
    for column in names:
        if column not in present and not column.startswith(CONSTANT):
            raise TableError(
                f"{table}: {what} {column!r}, which the table does not have"
                f"{did_you_mean(column, present)}; it has {listed(list(present))}"
            )


def load_reading(path: str | PathLike[str]) -> Wishes:
    """Read what `--save-reading` wrote."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - most tables need no saved reading
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - same

    place = Path(path)
    try:
        said = YAML(typ="safe", pure=True).load(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{place}: there is no such file: check --reading") from None
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        words = str(error).splitlines()[0]
        raise InputError(f"{place}: no saved reading ({words}): check --reading") from None
    known = [name for name in Said.__annotations__ if name != "reading"]
    if not isinstance(said, Mapping):
        raise InputError(f"{place}: no saved reading: it is a mapping of {', '.join(known)}")
    for name in said:
        if name not in known:
            raise InputError(
                f"{place}: {name!r} says nothing about a table{did_you_mean(str(name), known)}: "
                f"it is one of {', '.join(known)}"
            )
    return wishes(**said)


def dump_reading(said: Wishes) -> str:
    """Write what was said as YAML, which `--reading` takes."""
    from io import StringIO  # noqa: PLC0415 - see above

    from ruamel.yaml import YAML  # noqa: PLC0415 - see above

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment] # its own attribute
    text = StringIO()
    yaml.dump(said.said() or {"columns": {}}, text)
    return text.getvalue()


def check_given(verdicts: Sequence[str] | None) -> tuple[str, ...] | None:
    """Validate the alphabet that the caller gave."""
    if verdicts is None:
        return None
    if isinstance(verdicts, str):
        raise InputError(f"verdicts = {verdicts!r} is one string: pass a list of verdicts")
    given = tuple(verdicts)
    if not given or any(is_empty(v) for v in given):
        raise InputError(f"verdicts = {list(given)}: an alphabet is a list of non-empty strings")
    if twice := [v for v, n in Counter(given).items() if n > 1]:
        raise InputError(f"verdicts names {twice[0]!r} more than once: an alphabet has no repeats")
    return given


def check_positions(given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Validate the words for the answer shown first, shown second, and perhaps for a tie."""
    if given is None or not given:
        return None
    if isinstance(given, str):
        raise InputError(f"positions = {given!r} is one string: pass two words, ('A', 'B')")
    words = tuple(given)
    folded = [bare(word) for word in words]
    if not _FEWEST <= len(words) <= _MOST or "" in folded or len(set(folded)) < len(words):
        raise InputError(
            f"positions = {list(words)}: name the words for the answer shown first, for the one "
            "shown second, and for a tie if it has a word of its own, all distinct: ('A', 'B')"
        )
    return words
