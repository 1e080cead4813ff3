"""A package that others can check: what a run found, without times, request ids or completions.

The package is a run folder without a ledger: study, frozen calls, verdicts, and everything that was
made of them, made from the package itself. Whoever has it can make every table again.
"""

import csv
import gzip
import json
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from judgelaw.errors import IncompleteRunError, InputError, IntegrityError, writing
from judgelaw.runs import package_words
from judgelaw.steps import Progress, unseen

if TYPE_CHECKING:
    from judgelaw.acquire.verify import Verification
    from judgelaw.runs.folder import RunFolder
    from judgelaw.study import FrozenRun, Item, Prompts, Study
    from judgelaw.wire import JudgeSpec

PACKAGE = "package.json"
SCHEMA = "judgelaw.package/1"
ANALYSIS, TABLES, PAPER = "results/analysis.json", "tables", "paper"
COMPLETIONS = "completions.jsonl.gz"
ITEM_HASHES = "items.csv"
_PRIVATE: dict[str, Any] = {
    "base_url": None,
    "api_key": None,
    "auth": None,
    "headers": {},
    "query": {},
    "proxy": None,
    "folder": None,
}
_ENVIRONMENT = ("judgelaw", "numpy", "scipy", "duckdb", "pydantic", "jinja2", "vl-convert-python")


@dataclass(frozen=True, kw_only=True)
class Package:
    """What was written.

    Attributes:
        folder: where.
        files: every file, relative to the folder.
        calls: verdicts in it.
        left_out: what of the run is not in it.
    """

    folder: Path
    files: tuple[str, ...]
    calls: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a package holds beside verdicts: texts of items, times of calls, completions.

    Attributes:
        authors: who made it; without a name there is no citation file.
    """

    texts: bool = True
    times: bool = False
    completions: bool = False
    authors: tuple[str, ...] = ()


def release(
    run: Path, folder: Path, contents: Contents | None = None, *, progress: Progress = unseen
) -> Package:
    """Write the privacy-reduced package of a finished run: all of it, or nothing.

    The same call again, after a kill at any moment or a full disk, goes on; a package that is
    there already stays as it is.

    Args:
        run: the run folder; it is verified first.
        folder: where the package goes; it must be empty or not there.
        contents: what it holds beside verdicts.
        progress: opens what shows how far the work is.

    Raises:
        InputError: the folder holds something already.
        IntegrityError: the run is not what was frozen and acquired.
        IncompleteRunError: calls of the run are open.
    """
    from judgelaw.acquire.verify import verify
    from judgelaw.runs.folder import RunFolder
    from judgelaw.study import recover, staged

    chosen = contents or Contents()
    opened = RunFolder(run)
    frozen = opened.frozen
    recover(folder)
    taken = _taken(folder)
    if taken and not is_package(folder):
        raise InputError(f"{folder} {taken}; name a new or an empty folder")
    verified = verify(run, progress=progress)
    _check(opened, verified)
    package = _package(frozen, chosen, verified)
    if taken:
        if _holds(folder, package):
            return _described(frozen, folder, chosen)
        raise InputError(
            f"{folder} holds something already, and not just this package; name a new or an empty "
            "folder"
        )
    new = not folder.exists()
    try:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            with staged(folder) as stage:
                copy_run(opened, stage, chosen)
                _describe(frozen, stage, chosen, package)
                write_results(stage, progress=progress)
    except BaseException:
        with suppress(OSError):  # something is in it that is not ours
            if new:
                folder.rmdir()
        raise
    return _described(frozen, folder, chosen)


def is_package(folder: Path) -> bool:
    """Whether a folder is a package that `judgelaw release` wrote."""
    return (folder / PACKAGE).is_file()


def _taken(folder: Path) -> str:
    """Say what is in the way; nothing where a folder is empty, or not there."""
    if folder.exists() and not folder.is_dir():
        return "is a file"
    return "holds something already" if folder.is_dir() and any(folder.iterdir()) else ""


def _holds(folder: Path, package: dict[str, Any]) -> bool:
    """Whether a folder is just this package, whole."""
    from judgelaw.acquire.verify import check_files

    same = (folder / PACKAGE).read_text(encoding="utf-8") == _json_text(package)
    return same and check_files(folder).ok


def _check(opened: "RunFolder", verified: "Verification") -> None:
    """Refuse a run that is damaged, not finished, or a part of one."""
    _refuse_shard(opened.frozen)
    run, planned = opened.path, opened.frozen.count
    wrong = [check.name for check in verified.checks if not check.ok]
    if wrong:
        raise IntegrityError(f"{run} does not verify ({', '.join(wrong)}); nothing was released")
    left = planned - (opened.totals.completed if opened.totals else 0)
    if left:
        raise IncompleteRunError(
            f"{run}: {left} of {planned} calls are open; `judgelaw run` finishes them, then release"
        )


def _refuse_shard(frozen: "FrozenRun") -> None:
    if frozen.shard is not None:
        raise InputError(
            f"{frozen.path} is shard {frozen.shard} of a run: join the shards first (`judgelaw "
            "merge RUN... --out RUN`), then release what that makes"
        )


def copy_run(opened: "RunFolder", folder: Path, chosen: Contents) -> None:
    """Copy what was frozen and found, without private parts."""
    from judgelaw.runs.folder import TIMING
    from judgelaw.study import (
        CHANGED,
        ITEMS,
        LABELS,
        MANIFEST,
        PROMPTS,
        REWORDINGS,
        changed_jsonl,
    )
    from judgelaw.wire import canonical_json

    run, frozen = opened.path, opened.frozen
    names = [MANIFEST, PROMPTS, "calls.parquet"]
    names += [name for name in (LABELS, REWORDINGS) if (run / name).is_file()]
    names += [TIMING] if chosen.times else []
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run / name, folder / name)
    shown = _as_it_is if chosen.texts else _without_texts
    lines = (canonical_json(shown(item).as_dict()) + "\n" for item in frozen.items.values())
    _write(folder / ITEMS, "".join(lines))
    if frozen.changed:
        changed = {key: shown(item) for key, item in frozen.changed.items()}
        _write(folder / CHANGED, changed_jsonl(changed))
    _write_item_hashes(frozen, folder / ITEM_HASHES)
    _write_study(frozen, folder)
    if chosen.completions:
        _write_completions(opened, folder / COMPLETIONS)


def _write_item_hashes(frozen: "FrozenRun", path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("item", "sha256"))
        writer.writerows((item.id, item.sha256) for item in frozen.items.values())


def _as_it_is(item: "Item") -> "Item":
    return item


def _without_texts(item: "Item") -> "Item":
    """Return an item whose texts are empty; its hash stands elsewhere."""
    return replace(item, instruction="", candidate_1="", candidate_2=None, more=())


def _write_study(frozen: "FrozenRun", folder: Path) -> None:
    """Write the study in force and its record, without addresses, keys, headers and paths."""
    import io

    from ruamel.yaml import YAML

    from judgelaw.study import RECORD, STUDY
    from judgelaw.wire import sha256_hex

    study = public_study(frozen)
    plain = study.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    plain = {"version": 1, **plain}
    out = io.StringIO()
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    yaml.dump(plain, out)
    text = out.getvalue()
    record = replace(
        frozen.record,
        study=study.model_dump(mode="json", by_alias=True),
        source_sha256=sha256_hex(text),
        amendments=(),
    )
    _write(folder / STUDY, text)
    (folder / RECORD).write_bytes(record.to_json())


def public_study(frozen: "FrozenRun") -> "Study":
    """Return a study without what is private: addresses, keys, headers, folders of this machine."""
    from judgelaw.study import ITEMS

    study = frozen.study
    items = {"source": "jsonl", "path": ITEMS, "fields": {}, "strata": "subset"}
    return study.model_copy(
        update={
            "judges": tuple(map(_public_judge, study.judges)),
            "items": study.items.model_copy(update=items),
            "prompts": _public_prompts(frozen),
        }
    )


def _public_judge(judge: "JudgeSpec") -> "JudgeSpec":
    update: dict[str, Any] = {**_PRIVATE, "model_path": _file_name(judge.model_path)}
    if judge.template is not None:
        path = _file_name(judge.template.path)
        update["template"] = judge.template.model_copy(update={"path": path})
    return judge.model_copy(update=update)


def _public_prompts(frozen: "FrozenRun") -> "Prompts":
    """Return the prompts as they were declared, the texts of files in the place of their paths."""
    from judgelaw.study import Census, Factors, Reworded, TemplateSpec

    prompts = frozen.study.prompts
    if isinstance(prompts, Census) and prompts.path is not None:
        texts = tuple(TemplateSpec(id=t.id, text=t.text) for t in frozen.templates.values())
        return prompts.model_copy(update={"path": None, "templates": texts})
    if isinstance(prompts, Factors):
        return prompts.model_copy(update={"template": PurePath(prompts.template).name})
    if isinstance(prompts, Reworded):
        model = prompts.model
        public = model if model is None or isinstance(model, str) else _public_judge(model)
        return prompts.model_copy(update={"draws": None, "model": public})
    return prompts


def _file_name(path: str | None) -> str | None:
    return None if path is None else PurePath(path).name


def _write_completions(opened: "RunFolder", path: Path) -> None:
    """Write what every judge said, in the sequence of the schedule; no ids of requests."""
    names = ("layer", "judge", "item", "prompt", "order", "repeat", "text", "refusal")
    with (
        path.open("wb") as file,
        # A fixed time and no name: the same completions are the same bytes.
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
    ):
        for reply in opened.ledger.replies() if opened.ledger else ():
            row = {name: getattr(reply, name) for name in names}
            packed.write((json.dumps(row, ensure_ascii=False) + "\n").encode())


def write_results(
    folder: Path,
    target: Path | None = None,
    *,
    figures: bool = True,
    progress: Progress = unseen,
) -> list[str]:
    """Make analysis, tables and the paper's tables of a package; return their names.

    Args:
        folder: the package.
        target: where they go; by default into the package.
        figures: whether to draw the figures too.
        progress: opens what shows how far the work is.
    """
    from judgelaw.page import write_tables
    from judgelaw.runs.answers import analyze_source
    from judgelaw.runs.publication import write_paper
    from judgelaw.runs.source import read_source

    out = target or folder
    calls = read_source(str(folder))
    analysis = analyze_source(calls, progress=progress)
    text = json.dumps(analysis.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with writing(out):
        _write(out / ANALYSIS, text)
    files = write_tables(analysis.tables, out / TABLES)
    made = write_paper(calls, out / PAPER, figures=figures, progress=progress)
    return [ANALYSIS, *(path.relative_to(out).as_posix() for path in (*files, *made.files))]


def _describe(frozen: "FrozenRun", folder: Path, chosen: Contents, package: dict[str, Any]) -> None:
    """Write what the package is: for people, for programs, for a citation."""
    _write(folder / "README.md", package_words.readme(frozen, chosen))
    _write(folder / "DATA_DICTIONARY.md", package_words.dictionary(chosen))
    if chosen.authors:
        _write(folder / "CITATION.cff", package_words.citation(frozen, chosen.authors))
    _write(folder / "environment.json", _json_text(_environment(frozen)))
    _write(folder / PACKAGE, _json_text(package))


def _package(frozen: "FrozenRun", chosen: Contents, verified: "Verification") -> dict[str, Any]:
    """Return what a package says of itself."""
    return {
        "schema": SCHEMA,
        "study": frozen.study.name,
        "calls": frozen.count,
        "contents": asdict(chosen),
        "study_sha256": frozen.record.source_sha256,
        "run_verified": {check.name: check.detail for check in verified.checks},
    }


def _environment(frozen: "FrozenRun") -> dict[str, Any]:
    """Return the versions that froze the run, and those that made the tables."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    made: dict[str, str] = {"python": platform.python_version()}
    for name in _ENVIRONMENT:
        try:
            made[name] = version(name)
        except PackageNotFoundError:  # scipy's or the figures' package may be left out
            made[name] = "not installed"
    return {"frozen_with": frozen.record.versions, "tables_made_with": made}


def _described(frozen: "FrozenRun", folder: Path, chosen: Contents) -> Package:
    """Say what is there."""
    from judgelaw.study import SUMS, read_sums

    files = sorted(read_sums(folder))
    kept = {"texts of items": chosen.texts, "times of calls": chosen.times}
    kept["completions"] = chosen.completions
    left_out = [name for name, held in kept.items() if not held]
    return Package(
        folder=folder,
        files=(*files, SUMS),
        calls=frozen.count,
        left_out=(*left_out, "request ids, addresses, keys and headers"),
    )


def _json_text(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
