"""Files of items: records with the line on which each stands, in the formats that a study names."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from judgelaw.errors import StudyError
from judgelaw.record_files import Record, csv_rows, json_array, json_lines, parquet_rows


def records(source: str, path: Path) -> Iterator[Record]:
    """Yield the records of an item file, or of a folder of LLMBar files."""
    if not path.exists():
        raise StudyError(f"{path}: no such file or folder; paths are relative to the study file")
    yield from _READERS[source](path)


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
        for number, (line, fields) in enumerate(json_array(file, StudyError)):
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


_READERS: dict[str, Callable[[Path], Iterator[Record]]] = {
    "jsonl": partial(json_lines, kind=StudyError),
    "csv": partial(csv_rows, kind=StudyError),
    "parquet": partial(parquet_rows, kind=StudyError),
    "llmbar": _llmbar,
}
