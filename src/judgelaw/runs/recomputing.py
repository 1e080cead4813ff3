"""Everything that was made of a run or a package, made again and compared.

The hashes of a folder say that nothing changed since they were written. Whoever changes a file and
its hash is found here, or by the root hash, which somebody else has kept.
"""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from judgelaw.acquire.verify import Check, Problems, guarded
from judgelaw.errors import RunError
from judgelaw.record_files import json_of
from judgelaw.runs.answers import REPORT, analyze_source, report_page
from judgelaw.runs.packaging import ANALYSIS, PAPER, TABLES, is_package, write_results
from judgelaw.runs.source import Source, read_source
from judgelaw.steps import Progress, unseen

_TITLE = re.compile(r"<title>([^<]*)</title>")
_SHOWN = 60


def recompute_results(folder: Path, *, progress: Progress = unseen) -> Iterator[Check]:
    """Make analysis, tables, figures and page of a folder again; yield what differs.

    Raises:
        RunError: there is no analysis to compare.
    """
    if not (folder / ANALYSIS).is_file():
        raise RunError(
            f"{folder / ANALYSIS} is not there: `judgelaw audit` writes it; run that first"
        )
    yield from guarded("recount", lambda: [_recounted(folder)])
    if is_package(folder):
        yield from guarded("figures", lambda: [_figures(folder, progress)])
        return
    yield from guarded("results", partial(_results, folder, progress))


def _recounted(folder: Path) -> Check:
    """Count every reported estimate again by a path that shares no code with the estimators."""
    from judgelaw.diagnose import check_document

    document = json_of((folder / ANALYSIS).read_text(encoding="utf-8"))
    found = check_document(document, read_source(str(folder)).tensors)
    detail = f"{found.compared} estimates counted pair by pair, largest gap {found.largest:.1g}"
    if found.mismatches:
        detail = f"{len(found.mismatches)} estimates differ, first {found.mismatches[0]}"
    return Check(name="recount", ok=found.ok, detail=detail)


def _results(folder: Path, progress: Progress) -> Iterator[Check]:
    """Make the results of a run again: the analysis, the tables beside it, the page."""
    from judgelaw.page import write_tables

    calls = read_source(str(folder))
    analysis = analyze_source(calls, progress=progress)
    made = json.loads(json.dumps(analysis.to_json(), ensure_ascii=False, allow_nan=False))
    yield _analysis(folder, made)
    if (folder / TABLES).is_dir():
        with tempfile.TemporaryDirectory() as there:
            write_tables(analysis.tables, Path(there))
            yield _tables(folder, Path(there))
    if (folder / REPORT).is_file():
        yield _page(folder, analysis, calls, progress)


def _analysis(folder: Path, made: Any) -> Check:
    problems = Problems()
    stored = json_of((folder / ANALYSIS).read_text(encoding="utf-8"))
    problems.extend(differences(stored, made))
    return problems.check("analysis", f"{sum(1 for _ in _leaves(made))} values come out the same")


def _tables(folder: Path, made: Path) -> Check:
    problems = Problems()
    there = {path.relative_to(made).as_posix(): path for path in made.rglob("*") if path.is_file()}
    for name, path in there.items():
        found = folder / TABLES / name
        if not found.is_file():
            problems.add(f"{TABLES}/{name} is missing")
        elif found.read_bytes() != path.read_bytes():
            problems.add(f"{TABLES}/{name} comes out differently")
    return problems.check("tables", f"{len(there)} files come out to the byte")


def _page(folder: Path, analysis: Any, calls: Source, progress: Progress) -> Check:
    """Make the page again, with each choice that `report` has beside what is analysed."""
    stored = (folder / REPORT).read_text(encoding="utf-8")
    titled = _TITLE.search(stored)
    first = ""
    for texts in (True, False):
        for check in (False, True):
            made = report_page(analysis, calls, texts=texts, check=check, progress=progress)
            if made == stored:
                return Check(name="page", ok=True, detail=f"{REPORT} comes out to the byte")
            first = first or _first_line(stored, made)
    name = titled[1] if titled else "no title"
    detail = (
        f"{REPORT} ({name}) comes out differently, first in line {first}; if it was made with "
        "options of its own or by another version, make it again"
    )
    return Check(name="page", ok=False, detail=detail)


def _first_line(stored: str, made: str) -> str:
    lines = zip([*stored.split("\n"), ""], [*made.split("\n"), ""], strict=False)
    return str(next((n for n, (one, other) in enumerate(lines, 1) if one != other), 1))


def _figures(folder: Path, progress: Progress) -> Check:
    """Make every file of a package's results again, its figures too."""
    problems = Problems()
    with tempfile.TemporaryDirectory() as there:
        names = write_results(folder, Path(there), progress=progress)
        for name in names:
            if not (folder / name).is_file():
                problems.add(f"{name} is missing")
            elif (folder / name).read_bytes() != (Path(there) / name).read_bytes():
                problems.add(f"{name} comes out differently")
    figures = sum(name.startswith(PAPER) and not name.endswith(".json") for name in names)
    return problems.check("figures", f"{figures} files of tables and figures come out to the byte")


def differences(stored: Any, made: Any, path: str = "") -> Iterator[str]:
    """Yield where two JSON values differ."""
    if isinstance(stored, Mapping) and isinstance(made, Mapping):
        for key in sorted({*stored, *made}):
            at = f"{path}.{key}" if path else str(key)
            if key not in stored:
                yield f"{at} is missing"
            elif key not in made:
                yield f"{at} does not come out"
            else:
                yield from differences(stored[key], made[key], at)
    elif isinstance(stored, list) and isinstance(made, list) and len(stored) == len(made):
        for number, (one, other) in enumerate(zip(stored, made, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif stored != made or type(stored) is not type(made):
        yield f"{path} is {_said(stored)}, and comes out as {_said(made)}"


def _said(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _leaves(value: Any) -> Iterator[Any]:
    inner = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, Mapping | list):
        for each in inner:
            yield from _leaves(each)
    else:
        yield value
