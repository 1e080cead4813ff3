"""Open a table as it is: every column of a file, folder, list or frame, as SQL that can be scanned.

What a column means is not decided here. Text comes as text, nested JSON as columns with dotted
names; a list can be exploded into rows, another file joined by its keys.
"""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
import glob
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import duckdb
import numpy as np

from judgelaw.duck import column_types, foreign_errors, name, text
from judgelaw.errors import InputError, TableError
from judgelaw.record_files import (
    LARGEST_PIECE,
    check_parquet,
    json_document,
    number_sql,
    number_text,
)
from judgelaw.tables.calls import Locator
from judgelaw.tables.files import FileSource, TextFile, locate, store_errors, text_file
from judgelaw.words import counted, did_you_mean, listed

FILE = "@file"
"""The column that names the file, where several are one table."""
KEY = "@key"
"""The column that holds the key of an object under which a record stands, where keys are labels."""
INDEX = "@index"
"""Ends the name of the column that counts the entries of an exploded list."""
_ROW, _PIECE = "@row", "@piece"

_MOST_COLUMNS = 4_000
_MOST_NESTED, _DEEPEST = 60, 4
"""Fields of an object that become columns, and how deep objects are looked into."""
_LARGEST_OBJECT = 2**28
_MOST_SHAPES = 100_000
_FEWEST_KEYS = 3
"""Objects under keys of one object that are records rather than parts of one."""
_SHARED = 0.25
"""The share of a first record's fields that others have, up to which it is metadata."""
_SHOWN = 12

_numbers = count()

Keys = tuple[str, ...]
"""The keys of objects under which something stands."""
Leaf = tuple[str, str]
"""A dotted name, and the JSON pointer at which it stands."""


class _Named(Protocol):
    """What messages about a file call it."""

    @property
    def table(self) -> str:
        """The name that the user gave."""
        ...


@dataclass(frozen=True, kw_only=True)
class OpenTable:
    """A table with all its columns, before anybody says what they mean.

    Attributes:
        con: the database in which `source` can be scanned.
        table: the name for messages.
        source: SQL that can stand after FROM; every column of a text file is VARCHAR.
        columns: all columns, in the order of the file.
        types: DuckDB's type of each column.
        locator: from a row to its file and line.
        skipped: sentences on what was left out or read otherwise than its name says.
    """

    con: duckdb.DuckDBPyConnection
    table: str
    source: str
    columns: tuple[str, ...]
    types: Mapping[str, str]
    locator: Locator
    skipped: tuple[str, ...] = field(default=())

    def as_text(self, column: str) -> str:
        """Return the SQL of a column as text."""
        return name(column) if self.types[column] == "VARCHAR" else f"{name(column)}::VARCHAR"


def open_table(
    con: duckdb.DuckDBPyConnection,
    source: Any,
    *,
    folder: Path,
    explode: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    with_file: str | os.PathLike[str] | None = None,
    on: Sequence[str] = (),
) -> OpenTable:
    """Open whatever holds records.

    Args:
        con: scans the table, and holds what had to be loaded.
        source: a path, several paths, a folder, a glob, an `s3://` address, a frame, or a list of
            dicts. Several files are one table with the column `@file`.
        folder: takes what has to be unpacked.
        explode: fields that hold lists, which become a row for each entry, with its place in the
            column `FIELD@index`; nested ones one after the other.
        where: keeps the rows with these values.
        with_file: another file, whose columns are joined by the columns `on`.
        on: columns that are the same in both files; `HERE=THERE` where their names differ.
    """
    opened = _opened(con, source, folder, tuple(explode))
    if with_file is not None:
        opened = _joined(opened, open_table(con, with_file, folder=folder), tuple(on))
    elif on:
        raise InputError(f"on = {list(on)} names keys, and no file is named to join: with_file")
    return kept_where(opened, where or {})


def kept_where(opened: OpenTable, where: Mapping[str, str]) -> OpenTable:
    """Keep the rows whose columns hold these values."""
    for column, value in where.items():
        opened = _where(opened, column, value)
    return opened


def open_rows(
    con: duckdb.DuckDBPyConnection,
    rows: Sequence[Mapping[str, Any]],
    places: Sequence[str],
    *,
    table: str,
) -> OpenTable:
    """Open records of texts that are in memory; `places` says where each stands."""
    made = fresh()
    columns = list(rows[0]) if rows else []
    arrays = {column: np.array([row[column] for row in rows], dtype=object) for column in columns}
    con.register(f"{made}_rows", arrays)
    texts = ", ".join(f"{name(column)}::VARCHAR AS {name(column)}" for column in columns)
    con.execute(f"CREATE TEMP TABLE {made} AS SELECT {texts} FROM {made}_rows")
    con.unregister(f"{made}_rows")
    return OpenTable(
        con=con,
        table=table,
        source=made,
        columns=tuple(columns),
        types=dict.fromkeys(columns, "VARCHAR"),
        locator=Locator(columns=("rowid",), places=lambda found: [places[row] for (row,) in found]),
    )


def _opened(
    con: duckdb.DuckDBPyConnection, source: Any, folder: Path, explode: tuple[str, ...]
) -> OpenTable:
    if isinstance(source, (str, os.PathLike)):
        return _open_files(con, os.fspath(source), locate(source), folder, explode)
    if isinstance(source, (list, tuple)) and source and _are_paths(source):
        found = [each for path in source for each in locate(path)]
        _refuse_twice(found)
        more = f" and {counted(len(source) - 1, 'more path')}" if len(source) > 1 else ""
        return _open_files(con, f"{os.fspath(source[0])}{more}", found, folder, explode)
    from judgelaw.tables.in_memory import in_memory  # noqa: PLC0415 - files need no frame library

    return in_memory(con, source, folder, explode)


def _are_paths(source: Sequence[Any]) -> bool:
    return all(isinstance(each, (str, os.PathLike)) for each in source)


def _refuse_twice(found: Sequence[FileSource]) -> None:
    seen: set[Path] = set()
    for each in found:
        if each.single and each.store is None:
            path = Path(each.pattern).resolve()
            if path in seen:
                raise InputError(
                    f"{each.table} is named twice: its calls would be their own repeats"
                )
            seen.add(path)


def _open_files(
    con: duckdb.DuckDBPyConnection,
    table: str,
    found: Sequence[FileSource],
    folder: Path,
    explode: tuple[str, ...],
) -> OpenTable:
    if len(found) == 1:
        return _open_file(con, found[0], folder, explode)
    names = _short_names([each.pattern for each in found])
    pieces: dict[str, OpenTable] = {}
    documents: dict[str, tuple[str, Any]] = {}
    for short, each in zip(names, found, strict=True):
        place = folder / f"{next(_numbers)}"
        place.mkdir()
        file = text_file(each, place) if each.single else None
        if file is not None and file.format == "document":
            documents[short] = (each.table, json_document(file.path))
        else:
            pieces[short] = _open_single(con, each, file, place, explode)
    if documents:
        rows = [{FILE: short, **value} for short, (_, value) in documents.items()]
        places = [where for where, _ in documents.values()]
        one = open_records(con, rows, places, table=table, folder=folder, explode=explode)
        if not pieces:
            return one
        pieces[""] = one
    return _together(con, table, pieces)


def _short_names(paths: Sequence[str]) -> list[str]:
    """Name files apart without the folders that all of them share."""
    names = [Path(path).name for path in paths]
    if len(set(names)) == len(names):
        return names
    shared = os.path.commonpath([str(Path(path).parent) for path in paths])
    return [os.path.relpath(path, shared) for path in paths]


def _open_file(
    con: duckdb.DuckDBPyConnection, found: FileSource, folder: Path, explode: tuple[str, ...]
) -> OpenTable:
    is_text = found.single and found.format != "parquet"
    file = text_file(found, folder) if is_text or (found.single and found.store is None) else None
    return _open_single(con, found, file, folder, explode)


def _open_single(
    con: duckdb.DuckDBPyConnection,
    found: FileSource,
    file: TextFile | None,
    folder: Path,
    explode: tuple[str, ...],
) -> OpenTable:
    if file is None:
        return nested(_open_parquet(con, found), explode)
    with foreign_errors(found.table):
        if file.format == "document":
            opened = _open_document(con, file, folder, explode)
        elif file.format == "csv":
            opened = nested(_load_csv(con, file, folder), explode)
        else:
            opened = _load_json(con, file, folder, explode)
    return replace(opened, skipped=(*file.told, *opened.skipped))


def _open_parquet(con: duckdb.DuckDBPyConnection, found: FileSource) -> OpenTable:
    pattern = glob.escape(found.pattern) if found.single and found.store is None else found.pattern
    options = "union_by_name=true, hive_types_autocast=false"
    scan = f"read_parquet({text(pattern)}, {options})"
    with store_errors(found.table):
        if found.store is not None:
            con.register_filesystem(found.store)
        elif found.single:
            check_parquet(con, Path(found.pattern))
        if found.single:
            # DuckDB lets `judge=x` in the path hide the file's own column of that name.
            plain = f"read_parquet({text(pattern)}, hive_partitioning=false)"
            folders = found.pattern.split("/")[:-1]
            in_path = {key for key, equals, _ in (f.partition("=") for f in folders) if equals}
            scan = plain if in_path and in_path & set(column_types(con, plain)) else scan
        types = column_types(con, scan)
    return OpenTable(
        con=con,
        table=found.table,
        source=scan,
        columns=tuple(types),
        types=types,
        locator=Locator(
            columns=("filename", "file_row_number"),
            places=lambda rows: [f"{path} row {row + 1}" for path, row in rows],
        ),
    )


def _load_csv(con: duckdb.DuckDBPyConnection, file: TextFile, folder: Path) -> OpenTable:
    line, header = file.header()
    columns = sql_names(header, file.table)
    made = fresh()
    try:
        con.execute(
            _csv_sql(made, file.plain, columns, separator=file.form.separator, skip=line - 1)
        )
    except duckdb.Error as error:
        if fault := file.fault(len(header)):
            raise TableError(fault) from error
        # A sound file that DuckDB will not take: mixed line ends, or a line beyond its buffer.
        plain = folder / f"{made}.csv"
        file.rewrite(plain)
        longest = f", max_line_size={LARGEST_PIECE}, buffer_size={2 * LARGEST_PIECE}"
        con.execute(_csv_sql(made, plain, columns, separator=",", skip=0, longest=longest))
    opened = _text_table(con, file, made, columns)
    return _with_points(opened) if file.form.separator == ";" else opened


def _with_points(opened: OpenTable) -> OpenTable:
    """Write decimal commas as points, where semicolons part the columns and numbers have them."""
    tests = [
        f"bool_and(regexp_full_match({name(c)}, '[+-]?[0-9]*(,[0-9]+)?')) "
        f"AND bool_or(contains({name(c)}, ','))"
        for c in opened.columns
    ]
    found = opened.con.execute(f"SELECT {', '.join(tests)} FROM {opened.source}").fetchone()
    numbers = [c for c, test in zip(opened.columns, found or (), strict=True) if test]
    if not numbers:
        return opened
    sets = ", ".join(f"{name(c)} = replace({name(c)}, ',', '.')" for c in numbers)
    opened.con.execute(f"UPDATE {opened.source} SET {sets}")
    told = f"{opened.table}: {listed(numbers)} has decimal commas, which are read as points"
    return replace(opened, skipped=(*opened.skipped, told))


def _csv_sql(
    made: str, path: Path, columns: Sequence[str], *, separator: str, skip: int, longest: str = ""
) -> str:
    """Load without the sniffer, which makes truth values of yes and no."""
    declared = ", ".join(f"{text(column)}: 'VARCHAR'" for column in columns)
    return (
        f"CREATE TEMP TABLE {made} AS SELECT * FROM read_csv({_literal(path)}, "
        f"auto_detect=false, header=true, skip={skip}, delim={text(separator)}, quote='\"', "
        f"escape='\"', columns={{{declared}}}{longest})"
    )


def _text_table(
    con: duckdb.DuckDBPyConnection,
    file: TextFile,
    made: str,
    columns: Sequence[str],
    *,
    first: int = 0,
) -> OpenTable:
    def places(rows: list[tuple[Any, ...]]) -> list[str]:
        lines = file.lines([row + first for (row,) in rows])
        return [f"{file.table}:{lines[row + first]}" for (row,) in rows]

    return OpenTable(
        con=con,
        table=file.table,
        source=made,
        columns=tuple(columns),
        types=dict.fromkeys(columns, "VARCHAR"),
        locator=Locator(columns=("rowid",), places=places),
    )


def sql_names(names: Sequence[str], table: str) -> list[str]:
    """Tell names apart that differ by case only, which SQL does not, and name what has no name."""
    if len(names) > _MOST_COLUMNS:
        raise TableError(
            f"{table}: {len(names)} columns, a table has at most {_MOST_COLUMNS}: is every record "
            "a column? Write one record a row"
        )
    found: list[str] = []
    taken: set[str] = set()
    for number, each in enumerate(names, 1):
        base = each if each.strip() and "\x00" not in each else f"column_{number}"
        known, copy = base, 1
        while known.casefold() in taken:
            copy += 1
            known = f"{base}_{copy}"
        taken.add(known.casefold())
        found.append(known)
    return found


def _open_document(
    con: duckdb.DuckDBPyConnection, file: TextFile, folder: Path, explode: tuple[str, ...]
) -> OpenTable:
    """Open one JSON object: the records lie in a list under one of its keys."""
    value = json_document(file.path)
    if explode:
        return open_records(
            con, [value], [file.table], table=file.table, folder=folder, explode=explode
        )
    lists = dict(_lists_of_records(value))
    if not lists:
        lists = dict(_records_by_key(value))
    if not lists:
        return open_records(con, [value], [file.table], table=file.table, folder=folder)
    if len(lists) > 1 and not (keys := _keys_of(lists)):
        named = {".".join(path): len(rows) for path, rows in lists.items()}
        found = ", ".join(f"{path} ({rows})" for path, rows in list(named.items())[:_SHOWN])
        first = max(named, key=named.__getitem__)
        raise TableError(
            f"{file.table} holds several lists of records: {found}: say which holds the calls, "
            f"explode={first} (--explode {first})"
        )
    if len(lists) == 1:
        keys = {path: {} for path in lists}
    records, places = [], []
    around: dict[str, Any] = {}
    for path, rows in lists.items():
        beside = {**_beside(value, path), **keys[path]}
        around |= beside
        records += [{**beside, **row} for row in rows]
        places += [f"{file.table}: {'.'.join(path)}.{number}" for number in range(len(rows))]
    opened = open_records(con, records, places, table=file.table, folder=folder)
    return replace(opened, skipped=(_records_told(file.table, lists, around), *opened.skipped))


def _records_told(table: str, lists: Mapping[Keys, Sequence[Any]], around: Iterable[str]) -> str:
    """Say which entries of a document the records are."""
    beside = [each for each in around if not each.startswith(KEY)]
    if len(lists) == 1:
        ((path, rows),) = lists.items()
        told = f"{table}: the records are the {len(rows)} entries of {'.'.join(path)!r}"
    else:
        first, *_, last = ("/".join(path) for path in lists)
        told = f"{table}: the records stand under {first!r} to {last!r}: the column {KEY!r}"
    return f"{told}, and {listed(beside)} beside it hold for all of them" if beside else told


def _keys_of(lists: Mapping[Keys, Sequence[Mapping[str, Any]]]) -> dict[Keys, dict[str, str]]:
    """Return what the keys above each list say, where all lists hold records of one kind."""
    fields = [set().union(*rows) for rows in lists.values()]
    shared = set.intersection(*fields)
    if len({*map(len, lists)}) > 1 or any(2 * len(shared) < len(each) for each in fields):
        return {}
    varying = [n for n, labels in enumerate(zip(*lists, strict=True)) if len({*labels}) > 1]
    names = [KEY] if len(varying) == 1 else [f"{KEY}{n}" for n in range(1, len(varying) + 1)]
    return {
        path: {column: path[n] for column, n in zip(names, varying, strict=True)} for path in lists
    }


def _records_by_key(value: Any) -> Iterable[tuple[Keys, list[Any]]]:
    """Yield objects of one kind by the key under which each stands: `{"q1": {...}, ...}`."""
    found: dict[Keys, list[Any]] = {}

    def look(inner: Any, path: Keys) -> None:
        objects = {k: v for k, v in inner.items() if isinstance(v, dict) and v}
        if _FEWEST_KEYS <= len(objects) == len(inner):
            rows = {(*path, key): [row] for key, row in objects.items()}
            if _keys_of(rows):
                found.update(rows)
                return
        if len(path) < _DEEPEST:
            for key, each in objects.items():
                look(each, (*path, key))

    if isinstance(value, dict):
        look(value, ())
    return found.items() if _keys_of(found or {(): []}) else ()


def _lists_of_records(value: Any, path: Keys = ()) -> Iterable[tuple[Keys, Any]]:
    """Yield the lists of objects in an object, by their keys; lists in lists are left alone."""
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        yield path, value
    if isinstance(value, dict) and len(path) < _DEEPEST:
        for key, inner in value.items():
            yield from _lists_of_records(inner, (*path, key))


def _beside(value: Any, path: Keys) -> dict[str, Any]:
    """Return the single values of the objects around a list, which hold for all its records."""
    found: dict[str, Any] = {}
    for key in path:
        found |= {k: v for k, v in value.items() if isinstance(v, (str, int, float, bool))}
        value = value[key]
    return found


def open_records(
    con: duckdb.DuckDBPyConnection,
    rows: Sequence[Mapping[str, Any]],
    places: Sequence[str],
    *,
    table: str,
    folder: Path,
    explode: tuple[str, ...] = (),
) -> OpenTable:
    """Open records that are in memory, nested or not; `places` says where each stands."""
    plain = folder / f"{fresh()}.jsonl"
    with plain.open("w", encoding="utf-8", errors="replace") as file:
        for row in rows:
            json.dump(row, file, ensure_ascii=False, default=str)
            file.write("\n")
    written = TextFile(table=table, path=plain, plain=plain, format="jsonl")
    with foreign_errors(table):
        opened = _load_json(con, written, folder, explode)

    def where(found: list[tuple[Any, ...]]) -> list[str]:
        return [places[row] for (row,) in found]

    return replace(opened, locator=replace(opened.locator, places=where))


def _load_json(
    con: duckdb.DuckDBPyConnection, file: TextFile, folder: Path, explode: tuple[str, ...]
) -> OpenTable:
    scan = _json_scan(con, file, folder)
    if not (keys := _Records(con=con, scan=scan, file=file).keys("json")):
        raise TableError(f"{file.table} holds no call: write one JSON object a line")
    first, told = 0, ""
    if not explode and (head := _metadata(con, scan, keys)):
        first = 1
        scan = f"(SELECT * FROM {scan} OFFSET 1)"
        told = (
            f"{file.table}: the first record holds {listed(head[:6])}, and the others do not: it "
            "was taken for metadata, and left out"
        )
    made = fresh()
    if explode:
        con.execute(f"CREATE TEMP TABLE {made} AS SELECT json FROM {scan}")
        opened = _flattened(_text_table(con, file, made, ()), {"": "json"}, explode)
        con.execute(f"DROP TABLE {made}")
        return opened
    leaves = _Records(con=con, scan=scan, file=file).leaves("json")
    columns = sql_names([leaf for leaf, _ in leaves], file.table)
    con.execute(
        f"CREATE TEMP TABLE {made} AS SELECT {_picked('found', columns)} "
        f"FROM (SELECT {_extracted('json', leaves)} AS found FROM {scan})"
    )
    opened = _text_table(con, file, made, columns, first=first)
    return replace(opened, skipped=(told,) if told else ())


def _json_scan(con: duckdb.DuckDBPyConnection, file: TextFile, folder: Path) -> str:
    """Return the SQL whose column `json` holds one object for each record."""
    reader = "read_json_objects" if file.format == "array" else "read_ndjson_objects"
    form = ", format='array'" if file.format == "array" else ""
    scan = f"{reader}({_literal(file.plain)}{form})"
    try:
        kinds = _kinds(con, scan)
    except duckdb.Error as error:
        if fault := file.fault(0):
            raise TableError(fault) from error
        # Sound, and not for DuckDB: half a surrogate pair, a long record, a mark before the first.
        plain = folder / f"{fresh()}.jsonl"
        file.rewrite(plain)
        scan = f"read_ndjson_objects({_literal(plain)}, maximum_object_size={_LARGEST_OBJECT})"
        kinds = _kinds(con, scan)
    if kinds - {"OBJECT"}:
        raise TableError(file.fault(0) or f"{file.table}: not every record is an object")
    return scan


def _kinds(con: duckdb.DuckDBPyConnection, scan: str) -> set[str]:
    return {
        kind for (kind,) in con.execute(f"SELECT DISTINCT json_type(json) FROM {scan}").fetchall()
    }


def _metadata(con: duckdb.DuckDBPyConnection, scan: str, keys: Sequence[str]) -> list[str]:
    """Return the fields of the first record if it shares few of them with all others."""
    ((head,),) = con.execute(f"SELECT json_keys(json) FROM {scan} LIMIT 1").fetchall()
    if set(head) == set(keys):
        return []
    rest = con.execute(
        f"SELECT DISTINCT unnest(json_keys(json)) FROM (SELECT json FROM {scan} OFFSET 1)"
    ).fetchall()
    shared = set(head) & {key for (key,) in rest}
    return list(head) if rest and len(shared) <= _SHARED * len(head) else []


@dataclass(frozen=True, kw_only=True)
class _Records:
    """SQL that yields records with JSON in some columns, and the file that they come from."""

    con: duckdb.DuckDBPyConnection
    scan: str
    file: _Named

    def keys(self, doc: str, pointer: str = "") -> list[str]:
        """Return the fields of the objects at a pointer, in the order in which they stand."""
        at = f"json_keys({doc}, {text(pointer)})" if pointer else f"json_keys({doc})"
        found = self.con.execute(
            "SELECT key, max(times) FROM ("
            "SELECT key, shape, min(place) AS place, count(*) AS times FROM ("
            "SELECT hash(k) AS shape, unnest(k) AS key, generate_subscripts(k, 1) AS place "
            f"FROM (SELECT DISTINCT {at} AS k FROM {self.scan})) GROUP BY key, shape) "
            f"GROUP BY key ORDER BY min(place), key LIMIT {_MOST_COLUMNS + 1}"
        ).fetchall()
        twice = next((key for key, times in found if times > 1), None)
        if twice is not None:
            fault = self.file.fault(0) if isinstance(self.file, TextFile) else None
            words = f"{self.file.table}: two fields of a record are called {twice!r}: rename one"
            raise TableError(fault or words)
        return [key for key, _ in found]

    def leaves(
        self, doc: str, prefix: str = "", without: Sequence[str] = ()
    ) -> list[tuple[str, str]]:
        """Return the dotted names of what is no object, with pointers; not those `without`."""
        kinds = self.con.execute(f"SELECT DISTINCT json_type({doc}) FROM {self.scan}").fetchall()
        if {kind for (kind,) in kinds} - {"OBJECT", "NULL", None}:
            return [(prefix, "")]

        def opened(pointer: str, above: str, depth: int, keys: list[str]) -> Iterator[Leaf]:
            pointers = [f"{pointer}/{_escaped(key)}" for key in keys]
            kinds = self._kinds(doc, pointers)
            for key, at in zip(keys, pointers, strict=True):
                label = f"{above}.{key}" if above else key
                if at in without:
                    continue
                if kinds[at] == {"OBJECT"} and depth < _DEEPEST:
                    inner = self.keys(doc, at)
                    if 0 < len(inner) <= _MOST_NESTED:
                        yield from opened(at, label, depth + 1, inner)
                        continue
                yield label, at

        return list(opened("", prefix, 0, self.keys(doc)))

    def _kinds(self, doc: str, pointers: Sequence[str]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {at: set() for at in pointers}
        if len(pointers) > _MOST_COLUMNS:
            return found
        some = f"SELECT DISTINCT json_type({doc}, {_list(pointers)}) FROM {self.scan}"
        for (kinds,) in self.con.execute(f"{some} LIMIT {_MOST_SHAPES}").fetchall():
            for at, kind in zip(pointers, kinds or [], strict=False):
                found[at] |= {kind} - {None, "NULL"}
        return found

    def pointer_to(self, doc: str, path: str) -> str | None:
        """Return the pointer of a dotted path; the name of a field may have dots itself."""
        parts = path.split(".")
        if not path or len(parts) > _DEEPEST + 2:
            return "" if not path else None
        pointers = []
        for cuts in range(2 ** (len(parts) - 1)):
            keys = [parts[0]]
            for place, part in enumerate(parts[1:]):
                if cuts >> place & 1:
                    keys[-1] += f".{part}"
                else:
                    keys.append(part)
            pointers.append("".join(f"/{_escaped(key)}" for key in keys))
        tests = (f"coalesce(bool_or(json_exists({doc}, {text(at)})), false)" for at in pointers)
        (there,) = self.con.execute(f"SELECT {', '.join(tests)} FROM {self.scan}").fetchall()
        return next((at for at, found in zip(pointers, there, strict=True) if found), None)


def _extracted(doc: str, leaves: Sequence[tuple[str, str]]) -> str:
    """Return the SQL of a list of texts, one for each leaf: the record is parsed once."""
    if [at for _, at in leaves] == [""]:
        return f"[json_extract_string({doc}, '$')]"
    return f"json_extract_string({doc}, {_list([at for _, at in leaves])})"


def _picked(found: str, columns: Sequence[str]) -> str:
    return ", ".join(f"{found}[{i}] AS {name(column)}" for i, column in enumerate(columns, 1))


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(text, texts))}]"


def nested(opened: OpenTable, explode: tuple[str, ...]) -> OpenTable:
    """Show the fields of nested columns as columns, and explode lists, where there are any."""
    docs = {
        column: f"to_json({name(column)})"
        for column, kind in opened.types.items()
        if kind == "JSON" or kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION"))
    }
    for path in explode:
        column = _owner(path, opened.columns)
        if column is None:
            raise _no_field(opened, path)
        if column not in docs:
            docs[column] = f"TRY_CAST({opened.as_text(column)} AS JSON)"
    if not docs:
        return opened
    with foreign_errors(opened.table):
        return _flattened(opened, docs, explode)


def _owner(path: str, names: Iterable[str]) -> str | None:
    """Return the longest of the names that a dotted path begins with."""
    found = [each for each in names if not each or path == each or path.startswith(f"{each}.")]
    return max(found, key=len, default=None)


def _flattened(opened: OpenTable, docs: Mapping[str, str], explode: tuple[str, ...]) -> OpenTable:
    """Load the table with the nested values `docs` as columns, a row for each exploded entry."""
    con, made, told = opened.con, fresh(), list(opened.skipped)
    flat = [column for column in opened.columns if column not in docs]
    places = [f"{_ROW}{i}" for i in range(len(opened.locator.columns))]
    selected = [
        *(f"{sql} AS {name(at)}" for sql, at in zip(opened.locator.columns, places, strict=True)),
        *map(name, flat),
        *(f"{sql} AS {name(f'@doc{i}')}" for i, sql in enumerate(docs.values())),
    ]
    scan = f"(SELECT {', '.join(selected)} FROM {opened.source})"
    known = {prefix: name(f"@doc{i}") for i, prefix in enumerate(docs)}
    indexes: dict[str, str] = {}
    without: dict[str, list[str]] = {}
    for number, path in enumerate(explode):
        owner = _owner(path, known)
        if owner is None:
            raise _no_field(opened, path)
        rest = path[len(owner) :].removeprefix(".")
        records = _Records(con=con, scan=scan, file=opened)
        if (pointer := records.pointer_to(known[owner], rest)) is None:
            raise _no_field(opened, path, [leaf for leaf, _ in records.leaves(known[owner])])
        entries = f"json_extract({known[owner]}, {text(pointer)})" if pointer else known[owner]
        told += _refuse_no_lists(con, scan, entries, opened.table, path)
        scan = (
            f"(SELECT *, unnest({entries}::JSON[]) AS {name(f'@entry{number}')}, "
            f"generate_subscripts({entries}::JSON[], 1) - 1 AS {name(f'@index{number}')} "
            f"FROM {scan})"
        )
        if pointer:
            without.setdefault(owner, []).append(pointer)
        known[path] = name(f"@entry{number}")
        indexes[path + INDEX] = name(f"@index{number}")
    inner, labels, values = [*map(name, places), *map(name, flat)], [*flat], [*map(name, flat)]
    for number, (prefix, doc) in enumerate(known.items()):
        if prefix + INDEX in indexes:
            labels.append(prefix + INDEX)
            values.append(f"{indexes[prefix + INDEX]}::VARCHAR")
            inner.append(indexes[prefix + INDEX])
        records = _Records(con=con, scan=scan, file=opened)
        leaves = records.leaves(doc, prefix, without.get(prefix, ()))
        found = name(f"@found{number}")
        inner.append(f"{_extracted(doc, leaves)} AS {found}")
        labels += [leaf for leaf, _ in leaves]
        values += [f"{found}[{i}]" for i in range(1, len(leaves) + 1)]
    columns = sql_names(labels, opened.table)
    outer = [f"{value} AS {name(label)}" for value, label in zip(values, columns, strict=True)]
    con.execute(
        f"CREATE TEMP TABLE {made} AS SELECT {', '.join([*map(name, places), *outer])} "
        f"FROM (SELECT {', '.join(inner)} FROM {scan})"
    )
    return replace(
        opened,
        source=made,
        columns=tuple(columns),
        types={column: opened.types.get(column, "VARCHAR") for column in columns},
        locator=replace(opened.locator, columns=tuple(map(name, places))),
        skipped=tuple(told),
    )


def _refuse_no_lists(
    con: duckdb.DuckDBPyConnection, scan: str, entries: str, table: str, path: str
) -> list[str]:
    """Refuse values that are no lists; say how many records hold none, or an empty one."""
    found = con.execute(
        f"SELECT json_type({entries}) AS kind, count(*), "
        f"count(*) FILTER (json_array_length({entries}) = 0) FROM {scan} GROUP BY kind"
    ).fetchall()
    none = sum(rows for kind, rows, _ in found if kind in (None, "NULL"))
    none += sum(empty or 0 for kind, _, empty in found if kind == "ARRAY")
    other = {kind: rows for kind, rows, _ in found if kind not in (None, "NULL", "ARRAY")}
    if other:
        kind, rows = next(iter(other.items()))
        raise TableError(
            f"{table}: {path!r} is no list in {counted(rows, 'record')} but a JSON {kind.lower()}: "
            "explode a field that holds lists"
        )
    if none == sum(rows for _, rows, _ in found):
        raise TableError(f"{table}: no record holds an entry in {path!r}: explode another field")
    if not none:
        return []
    return [f"{counted(none, 'record')} of {table} without an entry in {path!r} were left out"]


def _no_field(opened: OpenTable, path: str, fields: Sequence[str] = ()) -> TableError:
    there = list(fields or opened.columns)
    return TableError(
        f"{opened.table}: no field {path!r} to explode{did_you_mean(path, there)}; "
        f"it has {listed(there)}"
    )


def _together(
    con: duckdb.DuckDBPyConnection, table: str, pieces: Mapping[str, OpenTable]
) -> OpenTable:
    """Lay files below one another, columns by their names."""
    opened = list(pieces.values())
    columns: dict[str, str] = {}
    for piece in opened:
        for column in piece.columns:
            columns.setdefault(column.casefold(), column)
    columns.pop(FILE, None)
    labels = [*columns.values(), FILE]
    depth = max(len(piece.locator.columns) for piece in opened)
    places = [f"{_ROW}{i}" for i in range(depth)]
    parts = []
    for number, (short, piece) in enumerate(pieces.items()):
        at = (*piece.locator.columns, *["NULL"] * depth)[:depth]
        own = {column.casefold(): piece.as_text(column) for column in piece.columns}
        own.setdefault(FILE, text(short))
        selected = [
            f"{number} AS {name(_PIECE)}",
            *(f"({sql})::VARCHAR AS {name(to)}" for sql, to in zip(at, places, strict=True)),
            *(f"{own.get(label.casefold(), 'NULL')}::VARCHAR AS {name(label)}" for label in labels),
        ]
        parts.append(f"SELECT {', '.join(selected)} FROM {piece.source}")
    made = fresh()
    with foreign_errors(table):
        con.execute(f"CREATE TEMP TABLE {made} AS {' UNION ALL '.join(parts)}")
        for piece in opened:
            if piece.source.isidentifier():
                con.execute(f"DROP TABLE IF EXISTS {piece.source}")

    def where(rows: list[tuple[Any, ...]]) -> list[str]:
        found = []
        for _, number, *at in rows:
            locator = opened[number].locator
            some = at[: len(locator.columns)]
            found += locator.places([tuple(int(x) if x.isdecimal() else x for x in some)])
        return found

    return OpenTable(
        con=con,
        table=table,
        source=made,
        columns=tuple(labels),
        types=dict.fromkeys(labels, "VARCHAR"),
        locator=Locator(columns=("rowid", name(_PIECE), *map(name, places)), places=where),
        skipped=tuple(sentence for piece in opened for sentence in piece.skipped),
    )


def _joined(left: OpenTable, right: OpenTable, on: tuple[str, ...]) -> OpenTable:
    """Give each row the columns of the one row of another table that has its keys."""
    pairs = [(here, there or here) for here, _, there in (key.partition("=") for key in on)]
    if not pairs:
        shared = [column for column in left.columns if column in right.columns]
        raise InputError(
            f"with_file = {right.table!r}: say which columns join it, on=[...] (--on A,B); both "
            f"files have {listed(shared)}"
        )
    for opened, names in ((left, [a for a, _ in pairs]), (right, [b for _, b in pairs])):
        for key in names:
            if key not in opened.columns:
                near = did_you_mean(key, opened.columns)
                raise TableError(
                    f"{opened.table}: no column {key!r} to join by{near}; it has "
                    f"{listed(opened.columns)}"
                )
    con = left.con
    keys = ", ".join(f"{number_sql(right.as_text(b))} AS k{i}" for i, (_, b) in enumerate(pairs))
    group = ", ".join(f"k{i}" for i in range(len(pairs)))
    match = " AND ".join(
        f"{number_sql('l.' + left.as_text(a))} = r.k{i}" for i, (a, _) in enumerate(pairs)
    )
    named = ", ".join(b for _, b in pairs)
    with foreign_errors(right.table):
        again = con.execute(
            f"SELECT {group}, count(*) FROM (SELECT {keys} FROM {right.source}) "
            f"WHERE {' AND '.join(f'k{i} IS NOT NULL' for i in range(len(pairs)))} "
            f"GROUP BY {group} HAVING count(*) > 1 ORDER BY {group}"
        ).fetchall()
    if again:
        *values, times = again[0]
        raise TableError(
            f"{right.table}: {named} = {', '.join(map(str, values))} stands there {times} times "
            f"({counted(len(again), 'key')} more than once), so no row is its partner: name "
            "further columns with on (--on A,B), or keep one row for each"
        )
    there = {b for _, b in pairs}
    taken = {column.casefold() for column in left.columns}
    more = {
        column: column if column.casefold() not in taken else f"{column}@with"
        for column in right.columns
        if column not in there
    }
    made = fresh()
    places = [f"{_ROW}{i}" for i in range(len(left.locator.columns))]
    selected = [
        *(f"l.{sql} AS {name(at)}" for sql, at in zip(left.locator.columns, places, strict=True)),
        *(f"l.{name(column)}" for column in left.columns),
        *(f"r.{name(column)} AS {name(to)}" for column, to in more.items()),
        'r.k0 IS NOT NULL AS "@met"',
    ]
    with foreign_errors(left.table):
        con.execute(
            f"CREATE TEMP TABLE {made} AS SELECT {', '.join(selected)} "
            f"FROM (SELECT {', '.join((*left.locator.columns, '*'))} FROM {left.source}) l "
            f"LEFT JOIN (SELECT {keys}, * FROM {right.source}) r ON {match}"
        )
        counts = f'SELECT count(*), count(*) FILTER ("@met") FROM {made}'
        ((rows, met),) = con.execute(counts).fetchall()
        ((others,),) = con.execute(f"SELECT count(*) FROM {right.source}").fetchall()
        ((used,),) = con.execute(
            f"SELECT count(*) FROM (SELECT {keys}, * FROM {right.source}) r "
            f"SEMI JOIN {left.source} l ON {match}"
        ).fetchall()
    if not met:
        raise TableError(
            f"{right.table}: none of its {others} rows has the {named} of a row of {left.table}: "
            "join by other columns, on (--on A,B)"
        )
    told = (
        f"{right.table} was joined by {named}: {met} of {rows} rows have a partner there; "
        f"{others - used} of its {others} rows have none here"
    )
    same = _equal_columns(con, made, [(a, b) for a, b in more.items() if b != a])
    columns = (*left.columns, *(to for to in more.values() if to not in same))
    types = {**left.types, **{to: right.types[column] for column, to in more.items()}}
    return replace(
        left,
        source=made,
        columns=columns,
        types={column: types[column] for column in columns},
        locator=replace(left.locator, columns=tuple(map(name, places))),
        skipped=(*left.skipped, *right.skipped, told),
    )


def _equal_columns(
    con: duckdb.DuckDBPyConnection, made: str, pairs: Sequence[tuple[str, str]]
) -> set[str]:
    """Return the joined columns that say the same as the table's own of that name."""
    found = set()
    for own, joined in pairs:
        ((differ,),) = con.execute(
            f'SELECT count(*) FROM {made} WHERE "@met" AND '
            f"{name(own)}::VARCHAR IS DISTINCT FROM {name(joined)}::VARCHAR"
        ).fetchall()
        if not differ:
            found.add(joined)
    return found


def _where(opened: OpenTable, column: str, value: str) -> OpenTable:
    """Keep the rows with one value; 1 and 1.0 are one."""
    if column not in opened.columns:
        raise TableError(
            f"{opened.table}: no column {column!r} for where{did_you_mean(column, opened.columns)}"
            f"; it has {listed(opened.columns)}"
        )
    found = number_sql(opened.as_text(column))
    places = ", ".join((*opened.locator.columns, "*"))
    kept = f"(SELECT {places} FROM {opened.source} WHERE {found} = {text(number_text(value))})"
    with foreign_errors(opened.table):
        if not opened.con.execute(f"SELECT 1 FROM {kept} LIMIT 1").fetchall():
            there = opened.con.execute(
                f"SELECT DISTINCT {found} FROM {opened.source} WHERE {found} IS NOT NULL "
                f"ORDER BY 1 LIMIT {_SHOWN}"
            ).fetchall()
            names = [each for (each,) in there]
            raise TableError(
                f"{opened.table}: no row has {column}={value}{did_you_mean(value, names)}: check "
                f"where; the column holds {listed(names)}"
            )
    return replace(opened, source=kept)


def fresh() -> str:
    """Return the name of a table that is not there yet."""
    return f"opened_{next(_numbers)}"


def _literal(path: Path) -> str:
    return text(glob.escape(str(path)))


def _escaped(key: str) -> str:
    """A key as a JSON pointer (RFC 6901) has it."""
    return key.replace("~", "~0").replace("/", "~1")
