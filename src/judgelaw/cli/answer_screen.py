"""The first screen on a terminal: at most 20 lines of 80 columns, drawn from the same values."""

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from judgelaw.cli.terminal import echo
from judgelaw.words import unbroken

if TYPE_CHECKING:
    from judgelaw.analysis import Card, Panel, Row, Screen, Standing

_WIDTH: Final = 80
_LABEL, _NUMBER, _BAR = 24, 6, 34
_MARKS: Final = {
    "use": ("✔", "+"),
    "change": ("➜", ">"),
    "weak": ("▲", "!"),
    "avoid": ("✖", "x"),
    "early": ("…", "."),
    "steady": ("?", "?"),
    "unsteady": ("?", "?"),
}
_COLOURS: Final = {
    "use": "green",
    "change": "yellow",
    "weak": "yellow",
    "avoid": "red",
    "early": "bright_black",
    "steady": "blue",
    "unsteady": "magenta",
}
_SOLID, _FAINT, _LINE, _ARROW = ("█", "#"), ("░", "-"), ("┃", "|"), ("→", "->")
_MOST_LINES: Final = 20
_NOTES, _REASONS, _OUTLOOKS = 1, 2, 3
"""What is left out where room is short, in this order."""
_Folded = Callable[..., list[str]]
_SHORT_NAME: Final = 20


def show_screen(screen: "Screen", *, place: str = "", page: str = "") -> None:
    """Print the first screen.

    Args:
        screen: what is said.
        place: the run or table, for the commands.
        page: where the report is, if there is one.
    """
    width = min(_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDTH
    plain = not _draws()
    lines = list(_lines(screen, place, page, plain=plain, width=width))
    title = _title_line(screen, plain=plain)
    for line in lines:
        echo(line, colour=_COLOURS[screen.word] if line == title else None)


def _draws() -> bool:
    """Whether stdout can show the marks."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        "✔█░┃→…“".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _title_line(screen: "Screen", *, plain: bool) -> str:
    return f"{_MARKS[screen.word][plain]} {screen.title}"


def _lines(screen: "Screen", place: str, page: str, *, plain: bool, width: int) -> Iterator[str]:
    def fold(text: str, indent: str, hang: str | None = None) -> list[str]:
        lines = textwrap.wrap(
            unbroken(text),
            width,
            initial_indent=indent,
            subsequent_indent=indent if hang is None else hang,
            break_on_hyphens=False,
        )
        return [line.replace("\u00a0", " ") for line in lines]

    head = fold(f"{screen.who} {screen.asked}", "", "  ")
    answer = [_title_line(screen, plain=plain), *fold(screen.says, "  ")]
    for spare in range(_OUTLOOKS + 1):
        body = list(_body(screen, place, fold, plain=plain, spare=spare))
        if sum(map(len, (head, answer, *body))) <= _MOST_LINES - 2:
            break
    tail = []
    if screen.key:
        solid, faint, line = (x[plain] for x in (_SOLID, _FAINT, _LINE))
        tail.append(f"{solid} at least   {faint} at most   {line} measured   {screen.key}")
    where = f"page: {page}   " if page else ""
    tail.append(f"{where}more: --details")
    blocks = [head, answer, *body, tail]
    room = _MOST_LINES - sum(map(len, blocks))
    for i, block in enumerate(blocks):
        if i > 0 and room > 0 and block:
            yield ""
            room -= 1
        yield from block if not plain else (_ascii(line) for line in block)


def _body(
    screen: "Screen", place: str, fold: _Folded, *, plain: bool, spare: int
) -> Iterator[list[str]]:
    """Yield what stands below the answer; what can be spared most goes first."""
    if screen.listed:
        yield fold(screen.listed, "  ")
    if screen.standings:
        rows = list(_standings(screen.standings, plain=plain))
        if screen.more:
            rows.append(f"  and {screen.more} more: --details")
        yield rows
    for i, card in enumerate(screen.cards):
        told = replace(
            card,
            how="" if i > 0 or spare >= _REASONS else card.how,
            outlook="" if i > 0 or spare >= _OUTLOOKS else card.outlook,
        )
        yield list(_card(told, place, fold, plain=plain))
    for panel in screen.panels:
        yield list(_panel(panel, place, fold, plain=plain, notes=spare < _NOTES))


def _ascii(line: str) -> str:
    for mark, simple in ((_ARROW[0], _ARROW[1]), ("“", '"'), ("”", '"'), ("…", "..."), ("’", "'")):
        line = line.replace(mark, simple)
    return line


def _card(card: "Card", place: str, fold: _Folded, *, plain: bool) -> Iterator[str]:
    yield from fold(card.text, f"{_ARROW[plain]} ", "    ")
    for text in (card.how, "; ".join(card.effects), card.outlook):
        yield from fold(text, "    ")
    if card.command and (command := placed(card.command, place)):
        yield f"    $ {command}"


def placed(command: str, place: str) -> str:
    """Put the run or table where a command names it; nothing where it needs a run."""
    run = bool(place) and Path(place).is_dir()
    if place and not run and not command.startswith("judgelaw label"):
        return ""
    return command.replace("RUN", place or "RUN")


def _panel(panel: "Panel", place: str, fold: _Folded, *, plain: bool, notes: bool) -> Iterator[str]:
    yield from fold(f"{panel.question} {panel.found}", "", "  ")
    for row in panel.rows:
        yield _bar_line(row, plain=plain)
    if panel.rows and panel.name == "right":
        yield _tick_line(panel)
    for line in panel.notes if notes else ():
        yield from fold(line, "  ")
    if panel.command and (command := placed(panel.command, place)):
        yield f"    $ {command}"


def _bar_line(row: "Row", *, plain: bool) -> str:
    label = row.label if len(row.label) <= _LABEL - 3 else row.label[: _LABEL - 4] + "…"
    head = f"  {label:<{_LABEL - 3}} {row.text:>{_NUMBER - 1}} "
    if row.unknown:
        return f"{head}{row.unknown}"
    return f"{head}{_bar(row, plain=plain)} {row.ends}".rstrip()


def _bar(row: "Row", *, plain: bool) -> str:
    solid, faint, line = (x[plain] for x in (_SOLID, _FAINT, _LINE))
    low, high = row.low if row.low is not None else 0.0, row.high if row.high is not None else 0.0

    def column(x: float) -> int:
        return min(_BAR - 1, max(0, int(x * _BAR)))

    cells = [" "] * _BAR
    for i in range(_BAR):
        if (i + 1) / _BAR <= low + 1e-9:
            cells[i] = solid
        elif i / _BAR < high:
            cells[i] = faint
    if row.at is not None:
        cells[column(row.at)] = line
    return "".join(cells)


def _tick_line(panel: "Panel") -> str:
    """Write what the lines of the axis mean below them."""
    start = _LABEL + _NUMBER - 2
    places = sorted(panel.ticks, key=lambda tick: tick.at)
    text = ""
    for i, tick in enumerate(places):
        at = start + min(_BAR - 1, int(tick.at * _BAR))
        if i == 0 and len(tick.text) + 2 <= at:
            text = f"{f'{tick.text} ┘':>{at + 1}}"
        else:
            text = f"{text:<{max(at, len(text) + 1)}}└{tick.text}"
    return text[:_WIDTH].rstrip()


def _standings(rows: "Sequence[Standing]", *, plain: bool) -> Iterator[str]:
    yield f"  {'':<{_SHORT_NAME}} {'':<26} {'right':<11} changes at worst"
    for x in rows:
        name = x.name if len(x.name) <= _SHORT_NAME else x.name[: _SHORT_NAME - 1] + "…"
        title = f"{_MARKS[x.word][plain]} {x.title}"
        title = title if len(title) <= 26 else title[:25] + "…"  # noqa: PLR2004 - the column
        right = x.right.ends or x.right.unknown
        changes = x.changes.ends or x.changes.unknown
        yield f"  {name:<{_SHORT_NAME}} {title:<26} {right:<11} {changes}".rstrip()
