"""A package checked by whoever has it: hashes, frozen calls, verdicts, and every table again.

A package of another program is a folder with a calls table, hashes of its files, and perhaps a
manifest: what it says of itself is held against what it holds.
"""

import csv
import gzip
import re
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from judgelaw.acquire.verify import (
    Check,
    ManifestChecks,
    Problems,
    Verification,
    check_controls,
    check_files,
    check_record,
    guarded,
)
from judgelaw.errors import InputError, JudgelawError
from judgelaw.record_files import check_regular, check_unpacked, json_of
from judgelaw.runs.packaging import COMPLETIONS, PACKAGE, SCHEMA, write_results
from judgelaw.steps import Progress, unseen
from judgelaw.study import file_sha256

if TYPE_CHECKING:
    from judgelaw.study import FrozenRun

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SUMS_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_HASH_NAMES = ("sha256", "sha256sum", "hash", "digest", "checksum")
_SUMS_NAMES = ("SHA256SUMS", "SHA256SUMS.txt", "sha256sums.txt", "checksums.txt")
_TABLES = (".csv", ".csv.gz", ".parquet", ".jsonl", ".jsonl.gz")
_CELL = ("layer", "judge", "item", "prompt", "order", "repeat")
_MOST_ENTRIES = 100_000
_COUNTS = ("rows", "row_count", "n_rows", "calls", "n_calls")


@contextmanager
def package_folder(path: Path) -> Iterator[tuple[Path, list[Check]]]:
    """Yield the folder of a package, unpacked where it is a ZIP, and what was checked on the way.

    A ZIP is held against `NAME.zip.sha256` beside it, where there is one. The folder of a ZIP is
    gone at the end.

    Raises:
        InputError: it is no ZIP, leads out of its folder, holds links, or unpacks to too much.
    """
    if not path.is_file():
        yield path, []
        return
    check_regular(path, InputError)
    checks = list(_sidecar(path))
    with tempfile.TemporaryDirectory(prefix="judgelaw-zip-") as made:
        folder = Path(made)
        try:
            with zipfile.ZipFile(path) as archive:
                _check_entries(path, archive)
                archive.extractall(folder)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
            raise InputError(f"{path} is no readable ZIP ({error}): name a folder") from None
        inside = list(folder.iterdir())
        yield (inside[0] if len(inside) == 1 and inside[0].is_dir() else folder), checks


def _sidecar(path: Path) -> Iterator[Check]:
    """Hold a ZIP against the hash beside it."""
    beside = path.with_name(f"{path.name}.sha256")
    if not beside.is_file():
        return
    stated = _SHA256.search(beside.read_text("utf-8", errors="replace").lower())
    found = file_sha256(path)
    if stated is None:
        yield Check(name="zip", ok=False, detail=f"{beside.name} holds no SHA-256")
        return
    ok = stated[0] == found
    detail = f"{found} as {beside.name} says" if ok else f"{found}, {beside.name} says {stated[0]}"
    yield Check(name="zip", ok=ok, detail=detail)


def _check_entries(path: Path, archive: zipfile.ZipFile) -> None:
    entries = archive.infolist()
    if len(entries) > _MOST_ENTRIES:
        raise InputError(f"{path}: {len(entries):,} entries: no package has so many")
    check_unpacked(path, path.stat().st_size, sum(e.file_size for e in entries), InputError)
    for entry in entries:
        name = PurePosixPath(entry.filename.replace("\\", "/"))
        linked = stat.S_ISLNK(entry.external_attr >> 16)
        if name.is_absolute() or ".." in name.parts or ":" in entry.filename or linked:
            raise InputError(
                f"{path}: the entry {entry.filename!r} is a link or leads out of its folder: "
                "nothing was unpacked"
            )


def verify_package(folder: Path, *, progress: Progress = unseen) -> Verification:
    """Check a package against itself, and make every table again; reads only.

    Args:
        folder: the package.
        progress: opens what shows how many rows were looked at.
    """
    return Verification(checks=tuple(_package_checks(folder, progress)))


def _package_checks(folder: Path, progress: Progress) -> Iterator[Check]:
    from judgelaw.study import open_run

    yield check_files(folder)
    try:
        frozen = open_run(folder)
        described = json_of((folder / PACKAGE).read_text(encoding="utf-8"))
        texts = _has_texts(described)
    except (JudgelawError, ValueError, OSError) as error:
        yield Check(name="frozen", ok=False, detail=str(error))
        return
    yield from guarded("record", lambda: [check_record(frozen)])
    with progress("verifying rows", frozen.count) as advance:
        yield from guarded("manifest", lambda: ManifestChecks(frozen, texts=texts).run(advance))
    yield from guarded("items", lambda: [_check_items(frozen, texts=texts)])
    yield from guarded("controls", lambda: check_controls(frozen))
    yield from guarded("calls", lambda: [_check_calls(frozen)])
    yield from guarded("words", lambda: [_check_words(frozen, described)])
    if (folder / COMPLETIONS).exists() or described["contents"].get("completions"):
        yield from guarded("completions", lambda: [_check_completions(frozen)])
    yield from guarded("results", lambda: [_check_results(folder, progress)])


def _has_texts(described: Any) -> bool:
    """Read of a package's description whether the texts of the items are there.

    Raises:
        ValueError: it is no description of a package.
    """
    match described:
        case {"schema": schema, "contents": {"texts": bool(texts)}} if schema == SCHEMA:
            return texts
    raise ValueError(f"{PACKAGE} does not describe a package of schema {SCHEMA}")


def _check_items(frozen: "FrozenRun", *, texts: bool) -> Check:
    """Compare the items with their hashes, as far as their texts are there."""
    from judgelaw.runs.packaging import ITEM_HASHES

    problems = Problems()
    with (frozen.path / ITEM_HASHES).open(encoding="utf-8", newline="") as file:
        listed = {row["item"]: row["sha256"] for row in csv.DictReader(file)}
    if list(listed) != list(frozen.items):
        problems.add(f"{ITEM_HASHES} does not list the items of the package")
    for name, item in frozen.items.items():
        if texts and listed.get(name) != item.sha256:
            problems.add(f"item {name} is not what its hash says")
    what = "match their hashes" if texts else "are listed with their hashes, without texts"
    return problems.check("items", f"{len(listed)} items {what}")


def _check_calls(frozen: "FrozenRun") -> Check:
    """Join verdicts and frozen calls: every call once, with the stratum and gold of its item."""
    from judgelaw.acquire import CALLS, CALLS_COLUMNS, read_labels
    from judgelaw.duck import one_file
    from judgelaw.study import gold_of, reading

    labels = read_labels(frozen)
    planned = {
        (
            judge,
            c.layer,
            c.item,
            c.stratum,
            labels.get(c.call_id, c.prompt),
            c.order,
            c.repeat,
            gold_of(c.gold, criterion),
            criterion,
        )
        for c in frozen.iter_calls()
        for judge, criterion in frozen.judges[c.judge].streams.values()
    }
    problems, count = Problems(), 0
    names = ", ".join(f'"{name}"' for name in CALLS_COLUMNS)
    names += ", criterion" if frozen.study.criteria else ", NULL"
    with reading() as connection:
        query = f"SELECT {names} FROM {one_file(frozen.path / CALLS)}"  # noqa: S608 - names are ours
        for *where, verdict, gold, criterion in connection.execute(query).fetchall():
            count += 1
            key = (*where, gold, criterion)
            if key in planned:
                planned.remove(key)
            else:
                said = " / ".join(str(part) for part in where if part is not None)
                problems.add(f"{said}: no frozen call, or a second verdict of one")
            if not verdict:
                problems.add(f"row {count} has no verdict")
    problems.extend(
        f"{judge} / {layer} / {item} / {prompt} / {order} / {repeat}: frozen, without a verdict"
        for judge, layer, item, _, prompt, order, repeat, *_ in sorted(planned, key=str)
    )
    return problems.check("calls", f"{count} verdicts, one for every frozen call")


def _check_words(frozen: "FrozenRun", described: Mapping[str, Any]) -> Check:
    """Write again what the package says of itself."""
    from judgelaw.runs.package_words import citation, dictionary, readme
    from judgelaw.runs.packaging import Contents

    problems = Problems()
    contents = Contents(**described["contents"])
    texts = {"README.md": readme(frozen, contents), "DATA_DICTIONARY.md": dictionary(contents)}
    if contents.authors:
        texts["CITATION.cff"] = citation(frozen, contents.authors)
    for name, text in texts.items():
        if (frozen.path / name).read_bytes().decode("utf-8", "replace") != text:
            problems.add(f"{name} comes out differently")
    said = (described.get("study"), described.get("calls"))
    if said != (frozen.study.name, frozen.count):
        problems.add(f"{PACKAGE} names another study, or another number of calls")
    environment = _json(frozen.path / "environment.json")
    if environment.get("frozen_with") != dict(frozen.record.versions):
        problems.add("environment.json names other versions than the record of the run")
    return problems.check("words", "what the package says of itself comes out again")


def _check_completions(frozen: "FrozenRun") -> Check:
    """Read every completion again: the verdict of its call is what the judge's parser finds in it.

    Why a reply ended is not in a package, so one that was cut may say more than its verdict.
    """
    from judgelaw.acquire import CALLS, read_labels
    from judgelaw.duck import one_file
    from judgelaw.study import reading
    from judgelaw.wire import Completion, Reader

    labels = read_labels(frozen)
    hidden: dict[tuple[Any, ...], str] = {
        tuple(getattr(c, name) for name in _CELL): labels[c.call_id]
        for c in frozen.iter_calls()
        if c.call_id in labels
    }
    criterion = "criterion" if frozen.study.criteria else "NULL"
    columns = f'layer, judge, item, prompt, "order", repeat, {criterion}, verdict'
    with reading() as connection:
        query = f"SELECT {columns} FROM {one_file(frozen.path / CALLS)}"  # noqa: S608 - names are ours
        verdicts = {tuple(row[:-1]): row[-1] for row in connection.execute(query).fetchall()}
    problems, count = Problems(), 0
    with (
        gzip.open(frozen.path / COMPLETIONS, "rt", encoding="utf-8") as file,
        ExitStack() as stack,
    ):
        readers = {n: stack.enter_context(Reader(j)) for n, j in frozen.readers.items()}
        for line in file:
            row, count = json_of(line), count + 1
            cell = tuple(row[name] for name in _CELL)
            prompt = hidden.get(cell, row["prompt"])
            said = Completion(text=row["text"], refusal=row["refusal"])
            read = readers[row["judge"]].read(said, row["order"])
            by_criterion = dict(read.criteria)
            for judge, name in frozen.judges[row["judge"]].streams.values():
                found = by_criterion.get(name or "", read)
                where = (row["layer"], judge, row["item"], prompt, row["order"], row["repeat"])
                stored = verdicts.get((*where, name))
                if stored not in (found.verdict, "invalid"):
                    problems.add(f"{' / '.join(map(str, where))}: {stored}, reads {found.verdict}")
    if count != frozen.count:
        problems.add(f"{count} completions of {frozen.count} calls")
    return problems.check("completions", f"{count} completions read as their verdicts")


def _check_results(folder: Path, progress: Progress) -> Check:
    """Make analysis and tables again, and compare them to the byte; figures are not redrawn."""
    problems = Problems()
    with tempfile.TemporaryDirectory() as made:
        names = write_results(folder, Path(made), figures=False, progress=progress)
        own = [name for name in names if not name.endswith("paper.json")]
        for name in own:
            if not (folder / name).is_file():
                problems.add(f"{name} is missing")
            elif (folder / name).read_bytes() != (Path(made) / name).read_bytes():
                problems.add(f"{name} comes out differently")
    return problems.check("results", f"{len(own)} files of results come out to the byte")


def verify_foreign(folder: Path) -> Verification:
    """Check a package of another program: a calls table with hashes, and a manifest perhaps."""
    return Verification(checks=tuple(_foreign_checks(folder)))


def _foreign_checks(folder: Path) -> Iterator[Check]:
    listed = dict(_listed_hashes(folder))
    if not listed:
        raise InputError(
            f"{folder} holds no run, no package and no list of hashes: name a run folder, a "
            "package of `judgelaw release`, or a folder with SHA256SUMS or a manifest of hashes"
        )
    tables = _tables(folder)
    yield _check_hashes(folder, listed, tables)
    if not tables:
        yield Check(name="table", ok=False, detail="no calls table was found beside the hashes")
    counts = _declared_counts(folder)
    for table in tables:
        yield from guarded("table", partial(_check_table, folder, table, counts))


def _listed_hashes(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files whose SHA-256 the package names, in lists of sums and in JSON manifests."""
    for path in sorted(folder.rglob("*")):
        if path.name in _SUMS_NAMES or path.suffix == ".sha256":
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                if match := _SUMS_LINE.fullmatch(line.strip()):
                    yield _placed(folder, path, match[2]), match[1].lower()
        elif path.suffix == ".json" and "manifest" in path.name.lower():
            for name, digest in _hashes_in(_json(path)):
                yield _placed(folder, path, name), digest


def _placed(folder: Path, listing: Path, name: str) -> Path:
    """Return the file that a list means: beside the list, else from the package's own folder."""
    beside, from_root = listing.parent / name, folder / name
    return from_root if from_root.exists() and not beside.exists() else beside


def _json(path: Path) -> Any:
    try:
        return json_of(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no JSON ({error}); fetch the package again") from None


def _hashes_in(value: Any, name: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield (file, hash) of any nesting: `{file: hash}`, or objects with a path and a sha256."""
    if isinstance(value, Mapping):
        named = next((value[k] for k in ("path", "file", "name", "filename") if k in value), name)
        for key, inner in value.items():
            if key in _HASH_NAMES and isinstance(named, str):
                yield from _hashes_in(inner, named)
            else:
                yield from _hashes_in(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _hashes_in(inner, name)
    elif isinstance(value, str) and name and "." in name:
        digest = value.lower().removeprefix("sha256:")
        if _SHA256.fullmatch(digest):
            yield name, digest


def _check_hashes(folder: Path, listed: Mapping[Path, str], tables: list[Path]) -> Check:
    """Compare every file that is listed with its hash; a table that is not listed has none."""
    from judgelaw.study import file_sha256, is_inside

    problems = Problems()
    bare = (table for table in tables if table not in listed)
    problems.extend(
        f"{table.relative_to(folder).as_posix()} has no recorded hash" for table in bare
    )
    for path, digest in listed.items():
        name = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
        if not path.is_relative_to(folder) or not is_inside(name):
            problems.add(f"{name} lies outside the package")
        elif path.is_symlink() or not path.resolve().is_relative_to(folder.resolve()):
            problems.add(f"{name} is a link, and what it leads to is no part of this")
        elif not path.is_file():
            problems.add(f"{name} is missing")
        elif file_sha256(path) != digest:
            problems.add(f"{name} differs from its recorded hash")
    return problems.check("files", f"{len(listed)} files match their hashes")


def _tables(folder: Path) -> list[Path]:
    """Return the files that hold verdicts of repeated calls."""
    from judgelaw.tables import ALIASES

    def has(columns: set[str], part: str) -> bool:
        return not columns.isdisjoint({part, *ALIASES.get(part, ())})

    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name.lower().endswith(_TABLES):
            columns = {name.lower() for name in _columns(path)}
            if all(has(columns, part) for part in ("item", "verdict", "repeat")):
                found.append(path)
    return found


def _columns(path: Path) -> list[str]:
    """Return the names of the columns of a table; none where a file is no table."""
    if path.suffix == ".parquet":
        from judgelaw.duck import one_file
        from judgelaw.study import reading

        with reading() as connection:
            query = f"SELECT * FROM {one_file(path)} LIMIT 0"  # noqa: S608 - the path is quoted
            return [column[0] for column in connection.execute(query).description or []]
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace") as file:
        first = str(file.readline())
    if ".jsonl" in path.name:
        try:
            row = json_of(first)
        except ValueError:  # no line of JSON is no table
            return []
        return list(row) if isinstance(row, dict) else []
    return next(csv.reader([first]), [])


def _declared_counts(folder: Path) -> set[int]:
    """Return the numbers of rows that the package's manifests name."""
    counts: set[int] = set()

    def look(value: Any) -> None:
        if isinstance(value, Mapping):
            counts.update(v for k, v in value.items() if k in _COUNTS and isinstance(v, int))
            for inner in value.values():
                look(inner)
        elif isinstance(value, list):
            for inner in value:
                look(inner)

    for path in folder.rglob("*manifest*.json"):
        look(_json(path))
    return counts


def _check_table(folder: Path, table: Path, counts: set[int]) -> Iterator[Check]:
    """Read a table whole, and hold its rows against what the manifest says of them."""
    from judgelaw.tables import read_tensors

    name = table.relative_to(folder).as_posix()
    tensors = read_tensors(str(table), incomplete="drop")
    rows = sum(int(tensor.counts.sum()) for tensor in tensors.values())
    dropped = sum(tensor.dropped for tensor in tensors.values())
    streams = f"{len(tensors)} streams" if len(tensors) > 1 else "one stream"
    gone = f", {dropped} incomplete items left out" if dropped else ""
    yield Check(name="table", ok=True, detail=f"{name}: {rows} calls in {streams}{gone}")
    if counts and not dropped and rows not in counts:
        said = ", ".join(map(str, sorted(counts)))
        detail = f"{name} holds {rows} calls, the manifest names {said}"
        yield Check(name="rows", ok=False, detail=detail)
    elif counts and not dropped:
        yield Check(name="rows", ok=True, detail=f"{rows} calls, as the manifest says")
