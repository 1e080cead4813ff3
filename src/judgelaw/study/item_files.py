"""Files of items: records with the line on which each stands, in the formats that a study names."""

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from judgelaw.duck import one_file
from judgelaw.errors import StudyError

Record = tuple[str, dict[str, Any]]
"""Where a record stands (`file:line`) and its fields under the file's own names."""


def records(source: str, path: Path) -> Iterator[Record]:
    """Yield the records of an item file, or of a folder of LLMBar files."""
    if not path.exists():
        raise StudyError(f"{path}: no such file or folder; paths are relative to the study file")
    yield from _READERS[source](path)


def _text(path: Path) -> str:
    """Read UTF-8, and name the line of the first byte that is not."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = _unpacked(content, path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise StudyError(
            f"{path}:{line}: byte 0x{content[error.start]:02x}, items must be UTF-8; convert the "
            "file"
        ) from None


def _unpacked(content: bytes, path: Path) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise StudyError(f"{path}: no gzip file ({error}); fetch or make it again") from None


def _jsonl(path: Path) -> Iterator[Record]:
    # Split at line feeds only: JSON strings may hold the other line breaks of Unicode.
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            yield f"{path}:{number}", _object(line, path, number)


def _object(text: str, path: Path, line: int) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise StudyError(f"{path}:{line}: no JSON ({error}); write one object a line") from None
    if not isinstance(value, dict):
        raise StudyError(
            f"{path}:{line}: a JSON {type(value).__name__}, must be an object; write one object "
            "a line"
        )
    return value


def _csv(path: Path) -> Iterator[Record]:
    csv.field_size_limit(sys.maxsize)
    # newline="" keeps the line breaks inside quoted fields as they are.
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    header: list[str] | None = None
    start = 1
    try:
        for row in reader:
            where, start = f"{path}:{start}", reader.line_num + 1
            if header is None:
                header = row
            elif row:
                yield where, _row(header, row, where)
    except csv.Error as error:
        raise StudyError(f"{path}:{reader.line_num}: no CSV ({error}); quote the field") from None


def _row(header: list[str], row: list[str], where: str) -> dict[str, Any]:
    if len(row) != len(header):
        raise StudyError(
            f"{where}: {len(row)} fields, the header has {len(header)}; quote text with commas"
        )
    return dict(zip(header, row, strict=True))


def _parquet(path: Path) -> Iterator[Record]:
    import duckdb  # noqa: PLC0415 - heavy, and only Parquet needs it

    with duckdb.connect() as connection:
        try:
            found = connection.execute(f"SELECT * FROM {one_file(path)}")  # noqa: S608 - the path is quoted
        except duckdb.Error as error:
            raise StudyError(f"{path}: no Parquet file ({error}); check the file") from None
        names = [column[0] for column in found.description or []]
        for number, row in enumerate(iter(found.fetchone, None), 1):
            yield f"{path}: row {number}", dict(zip(names, row, strict=True))


def _llmbar(path: Path) -> Iterator[Record]:
    """Yield the records of LLMBar: a file of one subset, or a folder of them, by split or not.

    The released repository keeps one `dataset.json` in a folder of each subset. A split is the
    folder above the subset's (`test/Natural.json`), or the field `split` of a record.
    """
    files = [path]
    if path.is_dir():
        found = (path.glob("*.json"), path.rglob("dataset.json"), path.rglob("*.json"))
        files = next((each for each in map(sorted, found) if each), [])
    if not files:
        raise StudyError(f"{path}: no *.json files; llmbar is a folder of LLMBar files")
    places = {file: _place(file, path) for file in files}
    twice = len({subset for subset, _ in places.values()}) < len(files)
    for file, (subset, split) in places.items():
        prefix = f"{split}-{subset}" if split and twice else subset
        for number, (line, fields) in enumerate(_array(file)):
            yield (
                f"{file}:{line}",
                {
                    "id": f"{prefix}-{number:03d}",
                    "stratum": subset,
                    "split": fields.get("split", split),
                    "instruction": fields.get("input"),
                    "candidate_1": fields.get("output_1"),
                    "candidate_2": fields.get("output_2"),
                    "gold": fields.get("label"),
                },
            )


def _place(file: Path, root: Path) -> tuple[str, str | None]:
    """Return the subset and the split that the place of a file says."""
    names = [*file.relative_to(root if root.is_dir() else root.parent).parent.parts]
    if file.stem != "dataset":
        names.append(file.stem)
    elif not names:
        names = [file.parent.name]
    *above, subset = names
    # The released repository has its adversarial subsets in a folder of their own.
    above = [name for name in above if name != "Adversarial"]
    return subset, above[-1] if above else None


def _array(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON array with the line on which each starts."""
    text, decoder = _text(path), json.JSONDecoder()
    place = _skip(text, 0, "[")
    if place is None:
        raise StudyError(f"{path}:1: no JSON array; an LLMBar file is a list of objects")
    while (start := _skip(text, place, "")) is not None and text[start : start + 1] != "]":
        line = text.count("\n", 0, start) + 1
        try:
            value, end = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError) as error:
            raise StudyError(f"{path}:{line}: no JSON ({error}); repair the file") from None
        if not isinstance(value, dict):
            raise StudyError(f"{path}:{line}: no object; an LLMBar file is a list of objects")
        yield line, value
        place = _skip(text, end, ",") or end
    if start is None:
        raise StudyError(f"{path}: the list is not closed; the file is cut, fetch it again")


def _skip(text: str, place: int, mark: str) -> int | None:
    """Step over blanks and one mark; None where the mark is missing or the text ends."""
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    if place == len(text) or not text.startswith(mark, place):
        return None
    return place + len(mark)


_READERS: dict[str, Callable[[Path], Iterator[Record]]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "parquet": _parquet,
    "llmbar": _llmbar,
}
