"""Options, examples and progress that commands share."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from judgelaw.cli.flags import add_options
from judgelaw.cli.table_options import options_of
from judgelaw.cli.terminal import CallBar, CallLines, echo, is_quiet, progress
from judgelaw.errors import InputError
from judgelaw.runs import (
    AtLeast,
    Criterion,
    Draws,
    Judge,
    Permutations,
    Reading,
    Seed,
    Selection,
    Soft,
)
from judgelaw.tables import Wishes

if TYPE_CHECKING:
    from judgelaw.acquire import Observer
    from judgelaw.runs import Shown


F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(dir_okay=False, path_type=Path)
"""A file that a command writes."""


def lease_option(words: str) -> Callable[[F], F]:
    """Add the option of how long a worker holds its calls, with the command's own words."""
    return click.option(
        "--lease",
        "lease_s",
        metavar="SECONDS",
        type=click.FloatRange(min=1),
        default=60.0,
        show_default=True,
        help=words,
    )


def say_on_stderr(words: str) -> None:
    """Print on stderr what happens."""
    echo(words, err=True)


def require_folder(run: Path) -> None:
    """Refuse a run folder that is not there, before anything is looked for in it."""
    if not run.is_dir():
        raise InputError(f"{run}: no such folder; name the run folder that `judgelaw run` wrote")


def observer() -> "AbstractContextManager[Observer]":
    """Open what shows the calls of a run: a bar on a terminal, plain lines elsewhere."""
    from judgelaw.acquire import Silent

    if is_quiet():
        return nullcontext(Silent())
    return CallBar(sys.stderr) if sys.stderr.isatty() else nullcontext(CallLines(sys.stderr))


def on_terminal() -> "Shown":
    """Return who shows an audit here: bars, lines and words on stderr."""
    from judgelaw.runs import Shown

    return Shown(bar=progress, observer=observer, say=say_on_stderr)


def examples(*lines: str) -> str:
    """Return the epilog of a command: examples, one a line, never folded together.

    click re-flows help texts; a line with a backspace character alone tells it to leave the
    paragraph as it is.
    """
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(["\b", title, *(f"  {line}" for line in lines)])


Place = str | list[str]
"""A run or table, or several files that are one table."""


def source_argument(command: F) -> F:
    """Add the run or table that a command reads; several files are one table."""
    return click.argument(
        "source",
        metavar="RUN|TABLE...",
        nargs=-1,
        required=True,
        callback=lambda _context, _option, given: given[0] if len(given) == 1 else [*given],
    )(command)


def one_place(source: Place) -> str:
    """Return the one path of a source, nothing where it has several."""
    return source if isinstance(source, str) else ""


def source_options(command: F) -> F:
    """Add the options that say which calls to read; the command gets them as one `reading`."""
    return options_of(Reading, command, _reading)


def source_options_at_full_depth(command: F) -> F:
    """Add the same options but for `--repeats`, which means something else to the command."""
    return options_of(Reading, command, _reading, but=("repeats",))


def _reading(found: dict[str, Any], said: Wishes) -> dict[str, Any]:
    return {"reading": {**found, **said.said()}}


def selection_options(command: F) -> F:
    """Add the options of a command that reads labelled rows of one judge and one criterion."""
    command = options_of(Selection, command, _reading)
    return add_options(command, {"judge": Judge, "criterion": Criterion})


def out_option(command: F) -> F:
    """Add the option that names the run folder of a study."""
    return click.option(
        "--out",
        metavar="RUN",
        type=click.Path(file_okay=False, path_type=Path),
        help="The run folder; by default runs/NAME beside the study.",
    )(command)


def state_json_option(command: F) -> F:
    """Add the option that writes the state of a run as JSON, to stdout where no file is named."""
    return click.option(
        "--json",
        "json_file",
        metavar="FILE",
        is_flag=False,
        flag_value="-",
        help="Write JSON; - (or no FILE) for stdout, without the tables.",
    )(command)


def resampling_options(command: F) -> F:
    """Add the options of item resampling."""
    return add_options(command, {"draws": Draws, "seed": Seed})


def permutations_option(command: F) -> F:
    """Add the option of the permutation tests."""
    return add_options(command, {"permutations": Permutations})


def evidence_options(command: F) -> F:
    """Add the options of which evidence answers, and against which bar."""
    return add_options(command, {"soft": Soft, "at_least": AtLeast})


def at_least_option(command: F) -> F:
    """Add the option of the user's own bar."""
    return add_options(command, {"at_least": AtLeast})


def without_texts_option(command: F) -> F:
    """Add the option of a page without what people and judges wrote."""
    return click.option(
        "--without-texts",
        is_flag=True,
        help="Leave questions, answers and replies out of the page.",
    )(command)
