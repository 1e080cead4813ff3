"""The process in which foreign parsers work; `bounded` runs this file as a script.

It imports nothing of judgelaw, so that it is up at once. The first line of standard input says
what to do, a pattern or the name of an installed parser; each further line is a text, and each
line of standard output what was found in it. A text may take so many seconds of processor time:
a regular expression looks for signals while it works, so the alarm ends it and not the process.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from types import FrameType
from typing import Any

from judgelaw.processes import leave_endings_to_parent

Find = Callable[[str], str | None]

_ABANDONED_S = 120.0
"""After so long on one text nobody waits any more: the system ends the process."""


class RanOutError(BaseException):
    """The time is over; no `except Exception` of a parser holds it up."""


def main() -> None:
    """Answer one line for each line, until standard input ends."""
    # The parent decides when to stop: a Ctrl-C in the terminal is not meant for this process.
    leave_endings_to_parent()
    signal.signal(signal.SIGPROF, _ring)
    answers = _claim_stdout()
    task = json.loads(sys.stdin.readline())
    find, failure = _prepared(task)
    for line in sys.stdin:
        answer = {"error": failure} if find is None else _answer(find, line, task["seconds"])
        print(json.dumps(answer), file=answers, flush=True)


def pattern_finder(pattern: str, *, ignore_case: bool = False, named: bool = True) -> Find:
    """Return what finds the first match: its group `verdict`, or group 1, or the whole of it.

    Without `named` a group `verdict` is a group like others.
    """
    compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)

    def find(text: str) -> str | None:
        match = compiled.search(text)
        if match is None:
            return None
        chosen = match.groupdict().get("verdict") if named else None
        return chosen if chosen is not None else match.group(1 if compiled.groups else 0)

    return find


def _prepared(task: dict[str, Any]) -> tuple[Find | None, str]:
    try:
        return _finder(task), ""
    except Exception as error:  # noqa: BLE001 - a package that does not load raises anything
        return None, _said(error)


def _finder(task: dict[str, Any]) -> Find:
    if "regex" in task:
        return pattern_finder(task["regex"], ignore_case=task["ignore_case"], named=task["named"])
    (point,) = entry_points(group=task["group"], name=task["name"])
    found: Find = point.load()
    return found


def _answer(find: Find, line: str, seconds: float) -> dict[str, Any]:
    text = json.loads(line)
    signal.setitimer(signal.ITIMER_REAL, _ABANDONED_S)
    try:
        try:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            found = find(text)
            return {"found": None if found is None else str(found)}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except RanOutError:
        return {"ran_out": True}
    except Exception as error:  # noqa: BLE001 - parsers come from other packages
        return {"error": _said(error)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _ring(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise RanOutError


def _claim_stdout() -> Any:
    """Keep standard output for answers; whatever a parser prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


if __name__ == "__main__":
    main()
