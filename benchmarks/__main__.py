"""Run every benchmark and write RESULTS.md: `python -m benchmarks [--quick] [NAME ...]`."""

import argparse
import os
import sys
import time
import traceback
from importlib import import_module

from benchmarks.figure import Figure, Target
from benchmarks.page import RESULTS, merged, row, section

TITLES = {
    "startup": "First contact",
    "decompose": "Components from counts",
    "bands": "Bands",
    "permutation": "Permutation tests and call errors",
    "simulation": "Simulation",
    "freeze": "Freeze",
    "ledger": "Ledger",
    "acquire": "Acquisition",
    "limits": "Acquisition behind a rate limit",
    "peers": "Acquisition by other tools, on the same server",
    "workers": "Workers on PostgreSQL",
    "analyze": "Analysis",
    "report": "Report",
    "embedded": "Embedded model",
    "tables": "Big tables",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", help=f"which, of {', '.join(TITLES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a smoke test")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(TITLES)):
        parser.error(f"no benchmark is called {', '.join(unknown)}: {', '.join(TITLES)}")
    began = time.monotonic()
    figures: list[Figure] = []
    broken = 0
    for name in options.names or TITLES:
        load = os.getloadavg()[0]
        print(f"[{time.monotonic() - began:4.0f} s] {name}", file=sys.stderr, flush=True)
        found, broke = measured(name, quick=options.quick)
        broken += broke
        for figure in found:
            print(f"  {row(figure)}", file=sys.stderr, flush=True)
        figures += found
        if not options.quick:
            # After each, so that what was measured outlives an interrupted run.
            text = RESULTS.read_text() if RESULTS.exists() else ""
            fresh = {TITLES[name]: section(TITLES[name], found, load)}
            RESULTS.write_text(merged(text, TITLES.values(), fresh))
    print(f"[{time.monotonic() - began:4.0f} s] {summary(figures)}", file=sys.stderr)
    # Small sizes show that the code runs, and nothing about speed.
    missed = not options.quick and any(f.measured and not f.holds for f in figures)
    sys.exit(1 if broken or missed else 0)


def promised(name: str) -> tuple[Target, ...]:
    """Return what a benchmark promises to measure."""
    return import_module(f"benchmarks.{name}").TARGETS


def measured(name: str, *, quick: bool) -> tuple[list[Figure], bool]:
    """Measure what a benchmark promises, and say whether it broke: the others go on."""
    try:
        found = import_module(f"benchmarks.{name}").run(quick=quick)
    except Exception as error:  # noqa: BLE001 - reported in the page and on stderr, never lost
        traceback.print_exc()
        return [
            target.absent(f"{type(error).__name__}: {error}") for target in promised(name)
        ], True
    by_target = {figure.target: figure for figure in found}
    if set(by_target) - set(promised(name)):
        raise ValueError(f"benchmarks.{name} measures what its TARGETS do not name")
    absent = "only in the full run"
    return [by_target.get(target, target.absent(absent)) for target in promised(name)], False


def summary(figures: list[Figure]) -> str:
    aimed = [figure for figure in figures if figure.measured and figure.target.direction]
    missed = [figure.target.name for figure in aimed if not figure.holds]
    absent = [figure.target.name for figure in figures if not figure.measured]
    return "; ".join(
        [
            f"{len(aimed) - len(missed)} of {len(aimed)} targets hold",
            *([f"missed: {', '.join(missed)}"] if missed else []),
            *([f"not measured: {', '.join(absent)}"] if absent else []),
        ]
    )


if __name__ == "__main__":
    main()
