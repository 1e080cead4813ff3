"""Prompt policies: the templates that a study declares."""

from collections.abc import Iterator
from pathlib import Path

from judgelaw.design.generator import generate
from judgelaw.design.instrument import paper_six
from judgelaw.design.loading import LoadedStudy
from judgelaw.design.study import Census, Generator
from judgelaw.design.templates import (
    Template,
    around,
    complaints,
    default_block,
    fields_of,
    split,
)
from judgelaw.design.yaml_lines import Path as Keys
from judgelaw.errors import InputError


def templates_of(loaded: LoadedStudy) -> tuple[Template, ...]:
    """Return the templates of a study, checked, in the sequence in which it declares them."""
    prompts = loaded.study.prompts
    if isinstance(prompts, Census):
        return _census(loaded, prompts)
    if isinstance(prompts, Generator):
        return _generated(loaded, prompts)
    return paper_six()


def _generated(loaded: LoadedStudy, prompts: Generator) -> tuple[Template, ...]:
    fields = fields_of(loaded.study.task)
    block = prompts.block or default_block(loaded.study.task)
    for complaint in complaints(split(block, fields), fields):
        raise loaded.error(("prompts", "block"), complaint)
    try:
        return generate(prompts, loaded.study.seed, block, fields)
    except InputError as error:
        raise loaded.error(("prompts", "count"), str(error)) from None


def _census(loaded: LoadedStudy, prompts: Census) -> tuple[Template, ...]:
    fields = fields_of(loaded.study.task)
    declared = _from_files(loaded, prompts) if prompts.path else _listed(loaded, prompts)
    found: dict[str, Template] = {}
    for template, keys in declared:
        for complaint in complaints(template.parts, fields):
            raise loaded.error(keys, f"{template.id!r} {complaint}")
        twin = next((old.id for old in found.values() if old.parts == template.parts), None)
        if twin is not None or template.id in found:
            text = f"{template.id!r}, the same prompt as {twin or template.id!r}; count each once"
            raise loaded.error(keys, text)
        found[template.id] = template
    return tuple(found.values())


def _listed(loaded: LoadedStudy, prompts: Census) -> Iterator[tuple[Template, Keys]]:
    fields = fields_of(loaded.study.task)
    block = split(prompts.block or default_block(loaded.study.task), fields)
    for place, spec in enumerate(prompts.templates):
        if spec.text is not None:
            parts = split(spec.text, fields)
        else:
            parts = around(spec.prefix or "", block, spec.suffix or "")
        yield Template(id=spec.id, parts=parts), ("prompts", "templates", place)


def _from_files(loaded: LoadedStudy, prompts: Census) -> Iterator[tuple[Template, Keys]]:
    keys: Keys = ("prompts", "path")
    files = _matching(loaded.folder, prompts.path or "")
    if not files:
        raise loaded.error(keys, f"{prompts.path!r}, no such files; give a folder or a pattern")
    for file in files:
        try:
            text = file.read_bytes().decode()
        except UnicodeDecodeError:
            raise loaded.error(keys, f"{file.name!r}, no UTF-8; convert the file") from None
        yield Template(id=file.stem, parts=split(text, fields_of(loaded.study.task))), keys


def _matching(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a folder (its `*.txt`) or of a pattern, sorted by name."""
    whole = folder / pattern
    if whole.is_dir():
        return sorted(whole.glob("*.txt"))
    anchor = Path(whole.anchor)
    return sorted(path for path in anchor.glob(str(whole.relative_to(anchor))) if path.is_file())
