"""Items that Python hands in, a function that judges them, and the study that this makes."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from judgelaw.errors import InputError
from judgelaw.record_files import Record, csv_rows, json_array, json_lines, parquet_rows
from judgelaw.study import AS_GIVEN, LoadedStudy, item_block, load_study
from judgelaw.words import did_you_mean, plain_number

_ID = ("id", "item", "item_id", "question_id", "sample_id", "key", "uid")
_INSTRUCTION = ("instruction", "question", "input", "prompt", "query", "user_input", "task")
_CANDIDATE = (
    *("candidate", "candidate_1", "answer", "output", "response", "actual_output", "completion"),
    *("reply", "prediction", "generation", "text"),
)
_PAIRS = (
    ("candidate_1", "candidate_2"),
    ("candidate_a", "candidate_b"),
    *((f"{name}_{a}", f"{name}_{b}") for name in ("answer", "response", "output")
      for a, b in (("1", "2"), ("a", "b"))),
)  # fmt: skip
_GOLD = ("gold", "label", "human")
_USUAL: Mapping[str, tuple[str, ...]] = {
    "id": _ID,
    "instruction": _INSTRUCTION,
    "candidate_1": _CANDIDATE,
    "gold": _GOLD,
    "stratum": ("stratum",),
    "cluster": ("cluster",),
}
"""Names of fields by which a part of an item is known, the first that is there."""
_PARTS = ("id", "instruction", "candidate", "candidate_1", "candidate_2", "gold", "stratum",
          "cluster")  # fmt: skip
_STUDY_FILES = {".yaml", ".yml"}
_HASH_DIGITS = 10

Columns = Mapping[str, str]
"""The column that holds a part of an item: `{"candidate": "reply", "gold": "right"}`."""


def are_items(given: Any) -> bool:
    """Whether something is items to judge, and not a study."""
    if isinstance(given, LoadedStudy):
        return False
    if isinstance(given, str | PathLike):
        name = Path(given)
        return name.suffix not in _STUDY_FILES and _reader(name) is not None
    return not isinstance(given, Mapping)


def given_study(
    items: Any,
    judges: Sequence[str],
    *,
    prompts: Any = None,
    orders: Any = None,
    repeats: int = 4,
    scale: Any = None,
    labels: Sequence[str] | None = None,
    criteria: Iterable[str] | None = None,
    columns: Columns | None = None,
    budget: Mapping[str, Any] | None = None,
    concurrency: int = 8,
    at_least: float | None = None,
    seed: int = 0,
) -> LoadedStudy:
    """Return the study of items that are handed in, under a name that their content gives.

    The same items, prompts and judges have the same name, so that the same line finds its run.
    """
    records = tuple(_records(items))
    if not records:
        raise InputError("items: there are none; hand in one dict for each item")
    parts = _parts({name for _, record in records for name in record}, columns or {})
    if "gold" not in (columns or {}) and not _fits(records, parts.get("gold"), scale, labels):
        parts.pop("gold", None)
    task = "pairwise" if "candidate_2" in parts else "pointwise"
    several = any(record.get("candidates") is not None for _, record in records)
    task = "choose" if several and "candidate_2" not in parts else task
    study: dict[str, Any] = {
        "version": 1,
        "name": "given",
        "seed": seed,
        "task": task,
        "items": {"source": "jsonl", "path": "inputs/items.jsonl"},
        "prompts": _prompts(prompts, parts, task),
        "repeats": repeats,
        "judges": [_judge(name, task, scale, labels, criteria) for name in judges],
        "transport": {"concurrency": concurrency},
    }
    if task != "pointwise" and orders is not None:
        study["orders"] = _orders(orders)
    elif orders is not None:
        raise InputError("orders: single answers have no order; leave it out")
    beside = {"scale": scale, "labels": labels, "budget": budget}
    study |= {name: _plain(value) for name, value in beside.items() if value is not None}
    if criteria is not None:
        study["criteria"] = {name: {"json": name} for name in criteria}
    if at_least is not None:
        study["answer"] = {"at_least": at_least}
    taken = _with_parts(records, parts)
    named = {**study, "name": _name(judges, study, taken)}
    return replace(load_study(named), records=taken)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value)


def _name(judges: Sequence[str], study: Mapping[str, Any], records: Sequence[Record]) -> str:
    """Name a run by its judge and by what it is asked; how deep and how fast is no part of it."""
    from judgelaw.wire import canonical_json, sha256_hex

    asked = {
        k: v for k, v in study.items() if k not in ("repeats", "transport", "budget", "answer")
    }
    content = canonical_json([asked, [_jsonable(record) for _, record in records]])
    return f"{judges[0]}-{sha256_hex(content)[:_HASH_DIGITS]}"


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _jsonable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | bool | int) else str(value)


# Records --------------------------------------------------------------------------------------


def _reader(path: Path) -> Callable[[Path], Iterable[Record]] | None:
    name = path.name.removesuffix(".gz")
    for ends, read in _READERS.items():
        if name.endswith(ends):
            return read
    return None


def _array(path: Path) -> Iterable[Record]:
    for line, fields in json_array(path, InputError):
        yield f"{path}:{line}", fields


_READERS: dict[str, Callable[[Path], Iterable[Record]]] = {
    ".jsonl": partial(json_lines, kind=InputError),
    ".ndjson": partial(json_lines, kind=InputError),
    ".csv": partial(csv_rows, kind=InputError),
    ".tsv": partial(csv_rows, kind=InputError),
    ".parquet": partial(parquet_rows, kind=InputError),
    ".json": _array,
}


def _records(items: Any) -> Iterable[Record]:
    """Yield the records of a list of dicts, a frame, a dataset or a file, each with its place."""
    if isinstance(items, str | PathLike):
        path = Path(items)
        if not path.is_file():
            raise InputError(f"{path}: no such file; name a study or a file of items")
        read = _reader(path)
        assert read is not None  # noqa: S101 - the caller looked
        yield from read(path)
        return
    if isinstance(items, list | tuple):
        for place, each in enumerate(items):
            if not isinstance(each, Mapping):
                raise InputError(
                    f"items[{place}]: a {type(each).__name__}; an item is a dict of its fields"
                )
            yield f"items[{place}]", {str(name): value for name, value in each.items()}
        return
    from judgelaw.tables import as_frame

    frame = as_frame(items)
    rows = frame.collect() if hasattr(frame, "collect") else frame
    for place, row in enumerate(rows.iter_rows(named=True)):
        yield f"row {place}", {str(name): _of_frame(value) for name, value in row.items()}


def _of_frame(value: Any) -> Any:
    """Return a value of a frame as plain Python has it; what is missing is None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124 - nan


def _parts(names: set[str], columns: Columns) -> dict[str, str]:
    """Return which column holds each part of an item: as said, else the first that is known."""
    for part, column in columns.items():
        if part not in (*_PARTS, "item"):
            known = ", ".join(_PARTS)
            raise InputError(f"columns: {part!r}{did_you_mean(part, _PARTS)}: parts are {known}")
        if column not in names:
            near = did_you_mean(column, sorted(names))
            raise InputError(f"columns: {column!r} is no column of the items{near}")
    said = {"id" if part == "item" else part: column for part, column in columns.items()}
    taken = {*said.values()}
    found = dict(said)
    if "candidate" in found:
        found["candidate_1"] = found.pop("candidate")
    pair = next((pair for pair in _PAIRS if {*pair} <= names - taken), None)
    if pair is not None and not {"candidate_1", "candidate_2"} & {*found}:
        found |= {"candidate_1": pair[0], "candidate_2": pair[1]}
    for part, usual in _USUAL.items():
        free = [name for name in usual if name in names and name not in found.values()]
        if part not in found and free:
            found[part] = free[0]
    return found


def _fits(
    records: Sequence[Record], column: str | None, scale: Any, labels: Sequence[str] | None
) -> bool:
    """Whether a column that nobody named can hold right verdicts of what is declared."""
    if column is None:
        return False
    texts = {str(_text(v)) for _, r in records if (v := r.get(column)) not in (None, "")}
    if labels is not None:
        return texts <= {*labels}
    if scale is None:
        return True
    ends = (scale["from"], scale["to"]) if isinstance(scale, Mapping) else (min(scale), max(scale))
    try:
        return all(ends[0] <= float(text) <= ends[1] for text in texts)
    except ValueError:
        return False


def _with_parts(records: Sequence[Record], parts: Mapping[str, str]) -> tuple[Record, ...]:
    """Put the parts of items beside the fields that hold them, which keep their own names."""

    def filled(place: int, record: dict[str, Any]) -> dict[str, Any]:
        own = {part: record.get(column) for part, column in parts.items()}
        own.setdefault("id", f"item-{place + 1:04d}")
        own["id"] = None if own["id"] is None else str(own["id"])
        for needed in ("instruction", "candidate_1"):
            if own.get(needed) is None:
                own[needed] = ""
        own = {part: _text(value) for part, value in own.items()}
        return {**record, **own}

    return tuple((where, filled(n, record)) for n, (where, record) in enumerate(records))


def _text(value: Any) -> Any:
    """Return a part as text: booleans as verdicts have them, lists and dicts as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value):
        return plain_number(value)
    if value is None or isinstance(value, str | int | float):
        return value
    from judgelaw.wire import canonical_json

    return canonical_json(_jsonable(value))


# The design -----------------------------------------------------------------------------------


def _judge(
    name: str,
    task: str,
    scale: Any,
    labels: Sequence[str] | None,
    criteria: Iterable[str] | None,
) -> dict[str, Any]:
    judge: dict[str, Any] = {"name": name, "provider": "python"}
    if task == "pointwise" and scale is None and labels is None and criteria is None:
        # What comes back is the verdict, to the letter.
        judge["parser"] = {"regex": "(?s).+", "strict": True}
    return judge


def _orders(orders: Any) -> Any:
    if isinstance(orders, Mapping | str) and orders not in ("AB", "BA"):
        return orders
    listed = [orders] if isinstance(orders, str) else list(orders)
    return {order: 1 / len(listed) for order in listed}


def _prompts(prompts: Any, parts: Mapping[str, str], task: str) -> Any:
    """Return prompts as a study declares them: texts, texts by name, files, or one as given."""
    if isinstance(prompts, Mapping) and "policy" in prompts:
        return dict(prompts)
    if prompts == "paper-six":
        return prompts
    if prompts is None:
        prefix = {"id": AS_GIVEN, "prefix": "", "suffix": ""}
        return {"policy": "census", "templates": [prefix]}
    if isinstance(prompts, str | PathLike) and not re.search(r"[{\n ]", str(prompts)):
        return {"policy": "census", "path": str(prompts)}
    if isinstance(prompts, str):
        prompts = [prompts]
    named = (
        dict(prompts)
        if isinstance(prompts, Mapping)
        else {f"p{n}": text for n, text in enumerate(prompts, start=1)}
    )
    for name, text in named.items():
        if not isinstance(text, str):
            raise InputError(f"prompts: {name!r} is a {type(text).__name__}; a prompt is a text")
    return {
        "policy": "census",
        "templates": [_template(name, text, parts, task) for name, text in named.items()],
    }


def _template(name: str, text: str, parts: Mapping[str, str], task: str) -> dict[str, str]:
    """Return a template: a text with places for fields, or words before the item."""
    shown = {"instruction": "instruction"}
    if task == "pointwise":
        shown["candidate_1"] = "candidate"
    for part, place in shown.items():
        if part in parts:
            text = text.replace("{" + parts[part] + "}", "{" + place + "}")
    if re.search(r"\{candidate(s|_[a-z0-9]+)?\}", text):
        return {"id": name, "text": text}
    # Words before the item, which may name fields of it.
    return {"id": name, "text": f"{text}\n\n{item_block(task)}"}
