"""Options, examples and progress that commands share."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from judgelaw.cli.table_options import table_options
from judgelaw.cli.terminal import CallBar, CallLines, echo, is_quiet, progress
from judgelaw.errors import InputError
from judgelaw.runs import Reading
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
    return _gathering(command, (*_source_options(), _repeats_option()))


def source_options_at_full_depth(command: F) -> F:
    """Add the same options but for `--repeats`, which means something else to the command."""
    return _gathering(command, _source_options())


def _gathering(command: F, options: tuple[Callable[[Any], Any], ...]) -> F:
    @table_options
    @wraps(command)
    def gathered(*, said: Wishes, **given: Any) -> Any:
        names = [one.name for one in fields(Reading) if one.name in read]
        chosen = {name: given[name] for name in names}
        rest = {name: value for name, value in given.items() if name not in read}
        return command(reading=Reading(said=said, **chosen), **rest)

    for option in reversed(options):
        gathered = option(gathered)
    added = gathered.__click_params__[-len(options) :]  # type: ignore[attr-defined]  # click's own
    read = {param.name for param in added}
    return cast("F", gathered)


def _repeats_option() -> Callable[[Any], Any]:
    return click.option(
        "--repeats",
        type=click.IntRange(min=2),
        metavar="R",
        help="Read the frozen prefix of repeat ranks below R.",
    )


def _source_options() -> tuple[Callable[[Any], Any], ...]:
    return (
        click.option(
            "--judge", "judges", multiple=True, help="Read this judge only; may be repeated."
        ),
        click.option(
            "--criterion",
            "criteria",
            multiple=True,
            metavar="NAME",
            help="Read this criterion only; may be repeated.",
        ),
        click.option("--layer", help="Read this layer only."),
        click.option(
            "--design",
            type=click.Choice(["census", "sampled"]),
            help="Are the prompts all that matter, or drawn from a generator? "
            "[default: as the run declares, else census]",
        ),
        click.option(
            "--incomplete",
            type=click.Choice(["error", "drop"]),
            default="error",
            show_default=True,
            help="What to do with items that lack two calls in a cell.",
        ),
        click.option(
            "--scale",
            metavar="1,2,...|0..1",
            callback=_scores,
            help="Verdicts are scores: all of them from low to high, or the two ends where they "
            "are continuous. A run declares its own.",
        ),
        click.option(
            "--date", metavar="DATE", help="Read the calls of this date. [default: the latest]"
        ),
    )


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


def one_stream_options(command: F) -> F:
    """Add the options that pick one judge, one criterion and one layer."""
    for name in ("layer", "criterion", "judge"):
        command = click.option(f"--{name}", metavar="NAME", help=f"Read this {name} only.")(command)
    return command


def _scores(
    context: click.Context, option: click.Parameter, given: str | None
) -> tuple[float, ...] | dict[str, float]:
    del context, option
    low, dots, high = (given or "").partition("..")
    try:
        if dots:
            return {"from": float(low), "to": float(high)}
        return tuple(float(word) for word in (given or "").split(",") if given)
    except ValueError:
        raise InputError(
            f"--scale {given}: write the scores from low to high, as in --scale 1,2,3,4,5, or "
            "their ends, as in --scale 0..1"
        ) from None


def resampling_options(command: F) -> F:
    """Add the options of item resampling."""
    for option in reversed(
        (
            click.option(
                "--draws",
                type=click.IntRange(min=2),
                help="Item resamples of bootstrap bands. [default: 20,000; fewer for many items]",
            ),
            click.option(
                "--seed",
                type=click.IntRange(min=0),
                help="Seed of every draw. [default: as the run declares, else 0]",
            ),
        )
    ):
        command = option(command)
    return command


def permutations_option(command: F) -> F:
    """Add the option of the permutation tests."""
    return click.option(
        "--permutations",
        type=click.IntRange(min=0),
        help="Shuffles of the permutation tests; 0 leaves them out. "
        "[default: 999; fewer for many calls]",
    )(command)


def at_least_option(command: F) -> F:
    """Add the option of the user's own bar."""
    return click.option(
        "--at-least",
        type=click.FloatRange(0, 1),
        metavar="SHARE",
        help="How often the judge has to be right, as .9, in place of the usual bars.",
    )(command)


def without_texts_option(command: F) -> F:
    """Add the option of a page without what people and judges wrote."""
    return click.option(
        "--without-texts",
        is_flag=True,
        help="Leave questions, answers and replies out of the page.",
    )(command)
