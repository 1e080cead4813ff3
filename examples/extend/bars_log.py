"""Logs of a made-up tool: item, prompt, order and verdict between bars."""

from collections.abc import Iterator
from pathlib import Path

from judgelaw.steps import Advance
from judgelaw.tables.importers.entries import Advice, Entry, Format


def read(path: Path, tick: Advance) -> Iterator[Entry]:
    """Yield every call of a log; lines of one cell are its repeats, in the order of the file."""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        tick(len(line))
        item, prompt, order, verdict = line.split("|")
        known = {"judge": "j", "item": item, "prompt": prompt, "order": order}
        yield Entry(
            place=f"{path}:{number}", record={"said": verdict}, known={**known, "verdict": verdict}
        )


ADVICE = Advice(fresh="ask again", repeat="ask twice")
OFFERED = (Format(name="bars", read=read, advice=ADVICE),)
