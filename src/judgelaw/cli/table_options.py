"""What a command is told about a table, what it asks, and how it says that the table was read."""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import wraps
from itertools import pairwise
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from judgelaw.cli.flags import add_options, has_flag
from judgelaw.cli.terminal import echo, is_quiet, say
from judgelaw.errors import UnclearTableError, writing
from judgelaw.tables import Said, Wishes, dump_reading, wishes

if TYPE_CHECKING:
    from judgelaw.tables import TableReading

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_SAVE = click.option(
    "--save-reading", metavar="FILE", help="Keep how the table was read, for --reading."
)


def table_options(command: F) -> F:
    """Add the options that say what the columns and words of a table mean.

    The command gets them as one `said`; on a terminal it is called again with what was answered.
    """
    return options_of(Said, command, lambda _, said: {"said": said})


_INTO = "reading_"


def options_of(
    model: type,
    command: F,
    taken: Callable[[dict[str, Any], Wishes], dict[str, Any]],
    *,
    but: Collection[str] = (),
) -> F:
    """Add the flags of the fields of a model, and ask on a terminal what a table does not tell.

    Args:
        model: `Said`, or fields beside it.
        command: gets what `taken` returns of the fields that were given and of what was said.
        taken: makes keywords of the command.
        but: fields that mean something else to the command.
    """
    hints = {n: h for n, h in model.__annotations__.items() if n not in but and has_flag(h)}
    order = [n for n in hints if n not in Said.__annotations__]
    hints = {n: hints[n] for n in (*order, *(n for n in hints if n not in order))}

    @wraps(command)
    def wrapped(**given: Any) -> Any:
        typed = {name: given.pop(f"{_INTO}{name}") for name in hints}
        found = {name: value for name, value in typed.items() if value not in (None, (), {})}
        save = given.pop("save_reading")
        named = {name: found.pop(name) for name in [*found] if name in Said.__annotations__}
        said = wishes(**named)
        return asked(lambda wish: command(**taken(found, wish), **given), said, save)

    return cast("F", add_options(_SAVE(wrapped), hints, into=_INTO))


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
    yield "with the first answer to each, if that is so:"
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
