"""Run every benchmark and write RESULTS.md: `python -m benchmarks [--quick] [NAME ...]`."""

import argparse
import os
import platform
import sys
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from benchmarks.figure import Figure

RESULTS = Path(__file__).parent / "RESULTS.md"
ORDER = [
    "startup",
    "decompose",
    "bands",
    "permutation",
    "simulation",
    "tables",
    "freeze",
    "ledger",
    "acquire",
    "workers",
    "analyze",
    "report",
    "embedded",
    "workers",
]
LIBRARIES = ("numpy", "scipy", "duckdb", "aiohttp")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", help=f"which, of {', '.join(ORDER)}; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a smoke test")
    options = parser.parse_args()
    figures: list[Figure] = []
    for name in options.names or ORDER:
        print(f"{name} ...", file=sys.stderr)
        found = import_module(f"benchmarks.{name}").run(quick=options.quick)
        for figure in found:
            print(f"  {row(figure)}", file=sys.stderr)
        figures += found
    if not options.quick:
        RESULTS.write_text(page({**kept(), **{figure.name: row(figure) for figure in figures}}))
    measured = [figure for figure in figures if figure.measured]
    missed = [figure.name for figure in measured if not figure.holds]
    print(
        f"{len(measured) - len(missed)} of {len(measured)} targets hold, "
        f"{len(figures) - len(measured)} not measured",
        file=sys.stderr,
    )
    sys.exit(1 if missed else 0)


def row(figure: Figure) -> str:
    mark = "not measured" if not figure.measured else "holds" if figure.holds else "MISSED"
    target = f"{figure.direction} {figure.target:g}"
    return f"| {figure.name} | {figure.value:.3g} | {target} | {mark} | {figure.detail} |"


def kept() -> dict[str, str]:
    """Return the rows of the page as it is: a run of some benchmarks leaves the others alone."""
    if not RESULTS.exists():
        return {}
    rows = [line for line in RESULTS.read_text().splitlines() if line.startswith("| ")]
    return {line.split(" | ")[0].removeprefix("| "): line for line in rows[1:]}


def page(rows: dict[str, str]) -> str:
    python = f"Python {platform.python_version()}"
    libraries = ", ".join([python, *(f"{name} {version(name)}" for name in LIBRARIES)])
    return "\n".join(
        [
            "# Measured speed",
            "",
            "Each figure is a ratio to a limit or a peer measured in the same run, unless its name",
            "says otherwise. `make bench` writes this page.",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {libraries}.",
            "",
            "| what | measured | target | | against what |",
            "|---|---|---|---|---|",
            *rows.values(),
            "",
        ]
    )


if __name__ == "__main__":
    main()
