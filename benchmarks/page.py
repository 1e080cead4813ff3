"""The page of results: a section a benchmark, each with its own time of measurement."""

import os
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.figure import Figure

RESULTS = Path(__file__).parent / "RESULTS.md"
LIBRARIES = ("judgelaw", "numpy", "scipy", "duckdb", "aiohttp")
HEADER = """\
# Measured speed

`make bench` measures everything below and writes this page; `python -m benchmarks NAME` measures
one section again and leaves the others. Each figure is a ratio to a limit or to a peer, both taken
in the same run, unless its name gives a unit. Ours and what it is compared with run in turn, and
the best of several runs of each counts, so that a busy machine disturbs both alike. "Growth" is how
much longer ten times the work takes: 10 is linear, less has a fixed part. A dash stands where there
is no target: what another tool does, or how work grows. Peers run in environments of their own.
"""
TABLE = "| what | measured | target | | how |\n|---|---|---|---|---|"


def row(figure: Figure) -> str:
    detail = figure.detail.replace("|", "\\|").replace("\n", " ")
    cells = (figure.target.name, f"{figure.value:.3g}", str(figure.target), figure.mark, detail)
    return f"| {' | '.join(cells)} |"


def section(title: str, figures: Iterable[Figure], load: float) -> str:
    """Write one section; `load` is how many processes wanted a core when it began."""
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    measured = f"{now}, {machine()}; load average {load:.1f} at the start. {libraries()}."
    return "\n".join([f"## {title}", "", measured, "", TABLE, *map(row, figures), ""])


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.machine()}"


def libraries() -> str:
    named = (f"{name} {version(name)}" for name in LIBRARIES)
    return ", ".join([f"Python {platform.python_version()}", *named])


def kept(text: str) -> dict[str, str]:
    """Return the sections of a page by title: a run of some leaves the others alone."""
    return {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in text.split("\n## ")[1:]}


def merged(text: str, titles: Iterable[str], fresh: Mapping[str, str]) -> str:
    """Put fresh sections in their places; a section that no benchmark writes any more goes."""
    sections = {**kept(text), **fresh}
    return "\n".join([HEADER, *(sections[title] for title in titles if title in sections)])


def rows(text: str) -> dict[str, str]:
    """Return the rows of a page by the name of the figure."""
    found = [line for line in text.splitlines() if line.startswith("| ")]
    return {
        line.split(" | ")[0].removeprefix("| "): line for line in found if "| what |" not in line
    }
