"""What a command is told about a table, what it asks, and how it says that the table was read."""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from itertools import pairwise
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from judgelaw.cli.terminal import echo, is_quiet, say
from judgelaw.errors import InputError, UnclearTableError, writing
from judgelaw.tables import Said, Wishes, dump_reading, wishes

if TYPE_CHECKING:
    from judgelaw.tables import TableReading

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_SAVE = "save_reading"


def _words(
    context: click.Context, option: click.Parameter, given: str | None
) -> tuple[str, ...] | None:
    del context, option
    return None if given is None else tuple(word.strip() for word in given.split(","))


def _pairs(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """Split VALUE=MEANING at the last equals sign: values may hold some themselves."""
    del context
    found = {}
    for text in given:
        value, equals, meaning = text.rpartition("=")
        if not (value and equals and meaning):
            name = option.opts[0]
            raise click.BadParameter(f"{text!r}: write VALUE=MEANING", param_hint=name)
        found[value] = meaning
    return found


def _where(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """Split FIELD=VALUE at the first equals sign."""
    del context, option
    found = {}
    for text in given:
        field, equals, value = text.partition("=")
        if not (field and equals and value):
            raise click.BadParameter(f"{text!r}: write VALUE=MEANING", param_hint="--where")
        found[field] = value
    return found


def _columns(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> dict[str, str | None]:
    del context, option
    named: dict[str, str | None] = {}
    for pair in given:
        part, equals, column = pair.partition("=")
        if not equals or not part:
            raise InputError(f"--columns {pair}: write PART=NAME, as in --columns verdict=winner")
        named[part.strip()] = column or None
    return named


def _options() -> dict[str, Callable[[Any], Any]]:
    """Return the options of a table by the name of what they say."""
    return {
        "columns": click.option(
            "--columns",
            multiple=True,
            metavar="PART=NAME[,NAME]",
            callback=_columns,
            help="The table's own column of a part, as in verdict=winner or item=question,turn; "
            "PART= leaves an optional part out, PART==WORD is a constant. May be repeated.",
        ),
        "ignore": click.option(
            "--ignore",
            multiple=True,
            metavar="COLUMN",
            help="Rows that differ in this column alone are repeats; may be repeated.",
        ),
        "explode": click.option(
            "--explode",
            multiple=True,
            metavar="FIELD",
            help="Each entry of the lists in this field is a row; may be repeated.",
        ),
        "where": click.option(
            "--where",
            multiple=True,
            metavar="FIELD=VALUE",
            callback=_where,
            help="Keep these rows only; may be repeated.",
        ),
        "with_file": click.option(
            "--with", "with_file", metavar="FILE", help="Join the columns of another file."
        ),
        "on": click.option(
            "--on", metavar="A,B", callback=_words, help="The columns that both files have."
        ),
        "judges": click.option(
            "--judges",
            "wide_judges",
            multiple=True,
            metavar="A,B,...",
            help="Each of these columns holds the verdicts of one judge.",
        ),
        "criteria": click.option(
            "--criteria",
            "wide_criteria",
            multiple=True,
            metavar="A,B,...",
            help="Each of these columns holds the verdicts on one criterion.",
        ),
        "label": click.option(
            "--label",
            multiple=True,
            metavar="VALUE=VERDICT",
            callback=_pairs,
            help="What a word of verdicts or gold stands for; may be repeated.",
        ),
        "map_order": click.option(
            "--map-order",
            multiple=True,
            metavar="VALUE=AB|BA",
            callback=_pairs,
            help="Which display order a word means; may be repeated.",
        ),
        "verdicts": click.option(
            "--verdicts",
            metavar="A,B,...",
            callback=_words,
            help="The alphabet. [default: the usual four, or what the table holds]",
        ),
        "positions": click.option(
            "--positions",
            metavar="A,B",
            callback=_words,
            help="Verdicts are positions: the words for the answer shown first, shown second, and "
            "for a tie if it has one. They become candidates by the order of each call.",
        ),
        "parser": click.option(
            "--parser",
            metavar="RULE",
            help="Read the verdict from a column of texts, as a study writes it: first-line, "
            "regex:PATTERN, json:FIELD, score:MIN..MAX, '{regex: ..., labels: {...}}'.",
        ),
        "blank": click.option(
            "--blank",
            type=click.Choice(["error", "invalid", "drop"]),
            default="error",
            show_default=True,
            help="What a verdict that is blank becomes.",
        ),
        "reading": click.option(
            "--reading", "saved", metavar="FILE", help="Read the table as a saved reading says."
        ),
        _SAVE: click.option(
            "--save-reading", metavar="FILE", help="Keep how the table was read, for --reading."
        ),
    }


_NAMES = {"judges": "wide_judges", "criteria": "wide_criteria", "reading": "saved"}


def table_options(command: F) -> F:
    """Add the options that say what the columns and words of a table mean.

    The command gets them as one `said`; on a terminal it is called again with what was answered.
    """

    @wraps(command)
    def wrapped(*args: Any, **given: Any) -> Any:
        said, save = said_in(given)
        return asked(lambda wish: command(*args, said=wish, **given), said, save)

    for option in reversed(_options().values()):
        wrapped = option(wrapped)
    return cast("F", wrapped)


def said_in(given: dict[str, Any]) -> tuple[Wishes, str | None]:
    """Take what was said about a table, and where to keep it, out of the options of a command."""
    found = {}
    for name in Said.__annotations__:
        key = _NAMES.get(name, name)
        if key in given:
            found[name] = given.pop(key)
    if found.get("blank") == "error":
        found["blank"] = None
    said = wishes(**{name: value or None for name, value in found.items()})
    return said, given.pop(_SAVE, None)


def asked(work: Callable[[Wishes], T], said: Wishes, save: str | None = None) -> T:
    """Do what reads a table; ask on a terminal what it does not tell, and tell how it was read."""
    from judgelaw.tables import readings

    while True:
        with readings() as found:
            try:
                result = work(said)
            except UnclearTableError as error:
                if not _talks():
                    raise
                said = said.and_also(_answers(error))
                continue
            finally:
                _tell(found)
        if save is not None and found:
            with writing(save):
                Path(save).write_text(dump_reading(found[0].explicit()), encoding="utf-8")
            echo(f"how the table was read is kept in {save}, for --reading", err=True)
        return result


def _tell(found: "Sequence[TableReading]") -> None:
    """Say on stderr how tables were read, and the options that say it."""
    for reading in found:
        if reading.plain:
            continue
        say(f"read {reading.table}: {reading.line()}", err=True)
        options = reading.explicit().options()
        if options:
            echo(f"in full: {join(_command_with(options))}", err=True)


def _command_with(options: Sequence[str]) -> list[str]:
    """Return the command that runs, with options that say the reading."""
    context = click.get_current_context(silent=True)
    argv = [] if context is None else list(context.meta.get(ARGV, ()))
    return ["judgelaw", *with_options(argv, options)]


ARGV = "judgelaw.argv"
"""Where the context holds the words of the command line."""


def with_options(argv: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return a command line with more options; they replace what was said of the same parts."""
    parts = {
        options[at + 1].partition("=")[0]
        for at, word in enumerate(options)
        if word == "--columns" and at + 1 < len(options)
    }
    once = {word for word in options if word.startswith("--")} & _ONCE
    kept: list[str] = []
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name in once or name == "--columns":
            value = value if equals else next(words, "")
            replaced = name in once or value.partition("=")[0] in parts
            if not replaced and _said_already(name, value, options):
                continue
            if not replaced:
                kept += [name, value]
            continue
        kept.append(word)
    return [*kept, *_new(kept, options)]


_ONCE = {
    *("--positions", "--verdicts", "--blank", "--parser", "--with", "--on"),
    *("--judges", "--criteria"),
}


def _said_already(name: str, value: str, options: Sequence[str]) -> bool:
    return any(
        word == name and options[at + 1 : at + 2] == [value] for at, word in enumerate(options)
    )


def _new(kept: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """Yield options with their values, those left out that are there already."""
    words = iter(options)
    there = set(pairwise(kept))
    for name in words:
        value = next(words)
        if (name, value) not in there:
            yield from (name, value)


def commands(argv: Sequence[str], error: UnclearTableError) -> Iterator[str]:
    """Yield the lines of a refusal that can be copied: whole commands, each on its own line."""
    problems = [problem for problem in error.problems if problem.choices]
    if not problems:
        return
    if len(problems) == 1:
        for choice in problems[0].choices:
            yield f"  if {choice.when}:"
            more = _unsaid(argv, choice.more)
            yield f"    {join(['judgelaw', *with_options(argv, choice.wish.options()), *more])}"
        return
    from judgelaw.tables import settled

    options = settled(problems).options()
    more = [word for problem in problems for word in problem.choices[0].more]
    yield "with the first answer to each:"
    yield f"    {join(['judgelaw', *with_options(argv, options), *_unsaid(argv, more)])}"


def _unsaid(argv: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return options with their values that the command line does not have yet."""
    pairs = zip(options[::2], options[1::2], strict=True)
    there = {word.partition("=")[0] for word in argv}
    return [word for pair in pairs if pair[0] not in there for word in pair]


def _talks() -> bool:
    """Whether somebody sits at a terminal and may be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not is_quiet()


def _answers(error: UnclearTableError) -> Wishes:
    """Ask about every problem; one without answers is told and ends it."""
    said = Wishes()
    open_ones = [problem for problem in error.problems if problem.choices]
    if not open_ones:
        raise error
    problem = open_ones[0]
    say(f"{problem.text}", err=True)
    for number, choice in enumerate(problem.choices, 1):
        say(f"  {number}  {choice.when}  ({' '.join(choice.options)})", err=True)
    answer = click.prompt(
        "which", type=click.IntRange(1, len(problem.choices)), default=1, err=True
    )
    return said.and_also(problem.choices[int(answer) - 1].wish)
