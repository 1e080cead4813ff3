"""What commands share: JSON out, a table on the terminal, and progress for what takes long."""

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

import click

from judgelaw.errors import writing
from judgelaw.frames import plain
from judgelaw.steps import Advance
from judgelaw.words import visible, visible_json

if TYPE_CHECKING:
    from rich.console import Console

    from judgelaw.acquire import Tally
    from judgelaw.blocks import Bar, Cell

_PATIENCE_S = 2.0
"""Shorter work shows no progress."""

_LINE_EVERY_S = 5.0

_UNBOUNDED = 10_000

QUIET = "judgelaw.quiet"
"""Where the context of a command holds whether nothing beside the answer is wanted."""

_SHORT = 20
"""Longer cells are words, which may be folded."""
_SIGNS = "+-.<[0123456789"
_BAR = 20
_ROUNDING = 1e-9


def write_json(value: Any, target: str) -> None:
    """Write JSON to a file, or to stdout for `-`; with how a table was read, where one was."""
    from judgelaw.tables import told

    if isinstance(value, dict) and (reading := told()) is not None:
        value = {**value, "reading": reading}
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if target == "-":
        echo(visible_json(text), nl=False)
        return
    with writing(target):
        Path(target).write_text(text, encoding="utf-8")


def echo(
    text: object = "", *, err: bool = False, nl: bool = True, colour: str | None = None
) -> None:
    """Print to the terminal, with nothing in it that a terminal would obey.

    Whatever a provider, an item or a file name says goes through here, or through `show_table`.
    What a command says on stderr is beside its answer: `-q` leaves it out. Colour is shown on a
    terminal only.
    """
    if err and is_quiet():
        return
    if colour:
        click.secho(visible(str(text)), fg=colour, bold=True, err=err, nl=nl)
    else:
        click.echo(visible(str(text)), err=err, nl=nl)


def is_quiet() -> bool:
    """Whether the command that runs was told to say nothing beside its answer."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def say(text: str, *, err: bool = False) -> None:
    """Print words; a terminal gets them folded between words, with their indentation."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join(_folded(line, width) for line in text.split("\n"))
    echo(text, err=err)


def _folded(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.fill(
        line.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  " * bool(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )


def show_table(columns: Sequence[str], rows: "Sequence[Sequence[Cell]]", *, title: str) -> None:
    """Print a table to stdout; in full, without colour or cutting, where it is no terminal.

    Where a terminal is too narrow for a table, columns that do not fit stand below the others,
    beside the names of the rows again: no number is cut.
    """
    from rich.console import Console

    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else 200, highlight=False)
    made = [
        _Column(visible(name), [visible(_written(row[i])) for row in rows])
        for i, name in enumerate(columns)
    ]
    # A title of its own: rich would fold it to the width of the columns.
    if title:
        console.print(visible(title), style="bold", soft_wrap=not terminal, markup=False)
    for part in _fitting(made, console.width if terminal else _UNBOUNDED):
        _print_columns(part, console, terminal=terminal)


class _Column:
    """A column as it is written."""

    def __init__(self, name: str, cells: list[str]) -> None:
        self.name, self.cells = name, cells
        self.number = all(cell[:1] in _SIGNS for cell in cells)
        longest = max(map(len, cells), default=0)
        # A figure or an interval that is folded cannot be read; names and words can.
        least = min(longest, _SHORT)
        self.room = max(least, *(len(word) for word in [*name.split(), ""]))
        self.natural = max(longest, len(name))


def _fitting(columns: list[_Column], width: int) -> Iterator[list[_Column]]:
    """Yield columns that stand beside each other, the first one in each part."""
    if not columns:
        return
    first, *others = columns
    part, taken = [first], first.room
    for column in others:
        if len(part) > 1 and taken + 1 + column.room > width:
            yield part
            part, taken = [first], first.room
        part.append(column)
        taken += 1 + column.room
    yield part


def _widths(columns: list[_Column], width: int) -> list[int] | None:
    """Share out the width of a terminal; None where everything fits as it is."""
    gaps = 2 * (len(columns) - 1)
    if sum(column.natural for column in columns) + gaps <= width:
        return None
    found = [column.room for column in columns]
    spare = width - sum(found) - gaps // 2
    for at, column in sorted(enumerate(columns), key=lambda pair: pair[1].natural):
        more = max(0, min(spare, column.natural - found[at]))
        found[at] += more
        spare -= more
    return found


def _print_columns(columns: list[_Column], console: "Console", *, terminal: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    widths = _widths(columns, console.width) if terminal else None
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0) if widths else (0, 2, 0, 0))
    for at, column in enumerate(columns):
        left = at == 0 or not column.number
        own = None if widths is None else widths[at]
        table.add_column(column.name, justify="left" if left else "right", width=own)
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, cells))
    console.print(table)


def _written(cell: "Cell") -> str:
    from judgelaw.blocks import Bar, text_of

    return _bar(cell) if isinstance(cell, Bar) else text_of(cell)


def _bar(bar: "Bar") -> str:
    """Draw a bar from 0 to 1: solid to the low end, faint to the high end, a line at the number."""
    low, high = (bar.at, bar.at) if bar.low is None or bar.high is None else (bar.low, bar.high)
    solid, faint, line = ("█", "░", "┃") if draws() else ("#", "-", "|")
    cells = [
        solid if (i + 1) / _BAR <= low + _ROUNDING else faint if i / _BAR < high else " "
        for i in range(_BAR)
    ]
    if bar.low is not None:
        cells[min(_BAR - 1, max(0, int(bar.at * _BAR)))] = line
    return "".join(cells).rstrip()


def draws() -> bool:
    """Whether stdout can show bars."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        "█░┃".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@contextmanager
def progress(
    what: str, total: int, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Advance]:
    """Yield a function that takes the amount of work just done.

    After two seconds a bar appears on stderr, or a plain line every five where it is no terminal.
    """
    bar = sys.stderr.isatty() and not is_quiet()
    reporter = _Bar(what, total) if bar else _Lines(what, total)
    start = clock()
    done = 0

    def advance(amount: int) -> None:
        nonlocal done
        done += amount
        elapsed = clock() - start
        if elapsed >= _PATIENCE_S:
            reporter.show(done, elapsed)

    try:
        yield advance
    finally:
        reporter.close()


class _Lines:
    """Progress where stderr is no terminal: a plain line every few seconds."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._last = what, total, 0.0

    def show(self, done: int, elapsed: float) -> None:
        if elapsed - self._last < _LINE_EVERY_S and self._last:
            return
        self._last = elapsed
        share = done / self._total
        echo(f"{self._what}: {share:.0%} after {elapsed:.0f} s", err=True)

    def close(self) -> None:
        """Lines need no end."""


class _Bar:
    """A bar on the terminal, made when it is first needed."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total = what, total
        self._bar: Any = None
        self._task: Any = None

    def show(self, done: int, elapsed: float) -> None:
        del elapsed
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._what, total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=done)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


class CallLines:
    """The calls of a run under way: a line every few seconds, for logs and pipes."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._last: tuple[float, tuple[int, int, bool]] | None = None

    def show(self, tally: "Tally", now: float) -> None:
        """Write a line if it is time for one, or if everything is done."""
        finished = tally.done >= tally.planned
        counted = (tally.done, tally.failed, tally.held is not None)
        if self._last is not None:
            last_at, last_counted = self._last
            if counted == last_counted or (now - last_at < _LINE_EVERY_S and not finished):
                return
        elif not finished and now - tally.started_at < _LINE_EVERY_S:
            return
        self._last = (now, counted)
        click.echo(visible(tally.words(now)), file=self._file)


class CallBar:
    """The calls of a run under way: a rich progress bar, for terminals."""

    def __init__(self, file: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._progress = Progress(
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:3.0f}%"),
            # No markup: a provider's words may hold brackets.
            TextColumn("{task.description}", markup=False),
            console=Console(file=file),
            expand=True,  # the bar takes what the words leave
        )
        self._task = self._progress.add_task("", total=None)

    def show(self, tally: "Tally", now: float) -> None:
        """Redraw the bar."""
        self._progress.update(
            self._task,
            total=tally.planned,
            completed=tally.done,
            description=visible(tally.words(now)),
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()
