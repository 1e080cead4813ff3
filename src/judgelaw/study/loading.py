"""From a study file to a study, or to every problem with its line."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from judgelaw.errors import InputError, StudyError
from judgelaw.record_files import Record, json_of, read_regular
from judgelaw.study.criteria import criteria_problems, forgiving_criteria, with_criteria
from judgelaw.study.models import Study
from judgelaw.study.presets import DERIVED, expand
from judgelaw.study.problems import (
    Document,
    Path,
    Problem,
    describe,
    dotted,
    known_keys,
    read_yaml,
    unknown_key,
    written_out,
)
from judgelaw.study.prompt_models import Reworded
from judgelaw.study.reworded import resolved
from judgelaw.study.rules import study_problems
from judgelaw.study.single_answers import with_parsers
from judgelaw.wire import PROVIDERS, ChatTemplate, JudgeSpec, parser_rule, read_env_file, sha256_hex

_LARGEST = 2_000_000
_ENTRY_KEYS = ("preset", "grid")


@dataclass(frozen=True, kw_only=True)
class LoadedStudy:
    """A study and the file that it came from.

    Attributes:
        study: what the file declares.
        path: the file; other paths are relative to it.
        source: its text, verbatim.
        document: the lines of its keys.
        records: the items themselves, where the study was not written into a file.
        item_fields: fields of the items beside those that every item has, once they are read.
    """

    study: Study
    path: FilePath
    source: str
    document: Document = field(repr=False, default_factory=Document)
    records: tuple[Record, ...] | None = field(repr=False, default=None)
    item_fields: tuple[str, ...] = ()

    @property
    def folder(self) -> FilePath:
        """The folder that relative paths start from."""
        return self.path.parent

    def error(self, path: Path, text: str) -> StudyError:
        """Make the error of one key."""
        return failure(self.path, self.document, [Problem(path=path, text=text)])


StudyLike = FilePath | str | Mapping[str, Any] | LoadedStudy
"""The path of a study file, what such a file holds as a dict, or a study that was loaded."""


def load_study(study: StudyLike) -> LoadedStudy:
    """Read, expand and check a study; the error lists every problem, with its line in a file.

    The paths of a dict start from the working directory.
    """
    if isinstance(study, LoadedStudy):
        return study
    if isinstance(study, Mapping):
        source, document = written_out(study, Study.model_fields)
        return _checked(FilePath("study"), source, document)
    if not isinstance(study, str | PathLike):
        raise StudyError(
            f"a {type(study).__name__} is no study: give the path of a YAML file, or a dict"
        )
    path = FilePath(study)
    return load_text(path, _read(path))


def load_text(path: FilePath, source: str) -> LoadedStudy:
    """Check the text of a study as if it stood in this file."""
    return _checked(path, source, read_yaml(source))


def _checked(path: FilePath, source: str, document: Document) -> LoadedStudy:
    _stop(path, document, document.problems)
    raw = document.data
    if not isinstance(raw, dict):
        raise failure(path, document, [Problem(path=(), text="must be a mapping of keys")])
    judges, origins, problems = expand(raw.get("judges"))
    problems += _unknown_judge_keys(raw)
    given = {**raw, "judges": with_parsers(_forgiving(judges), raw)} if "judges" in raw else raw
    study, found = _validate(forgiving_criteria(given), origins)
    _stop(path, document, [*problems, *found])
    assert study is not None  # noqa: S101 - no problem means that validation succeeded
    study, origins = with_criteria(study, origins)
    study, problems = _with_templates(_with_models(study, path.parent), path.parent, origins)
    study, found = _with_wordings(study, path.parent)
    _stop(path, document, found)
    problems += [*study_problems(study, raw, origins), *criteria_problems(study, raw, origins)]
    _stop(path, document, problems)
    loaded = LoadedStudy(study=study, path=path, source=source, document=document)
    if study.env_file is not None:
        try:
            read_env_file(loaded.folder / study.env_file)
        except InputError as error:
            raise loaded.error(("env_file",), str(error)) from None
    return loaded


def _forgiving(judges: Any) -> Any:
    """Let parsers match labels without regard to case and marks, unless they say otherwise."""
    if not isinstance(judges, list):
        return judges
    return [
        {**judge, "parser": parser_rule(judge["parser"])}
        if isinstance(judge, dict) and isinstance(judge.get("parser"), dict)
        else judge
        for judge in judges
    ]


def _read(path: FilePath) -> str:
    try:
        content = read_regular(path)
    except OSError as error:
        raise StudyError(f"{path}: {error.strerror}; name a study file") from None
    if len(content) > _LARGEST:
        raise StudyError(f"{path}: {len(content)} bytes, a study is a small file; keep items apart")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise StudyError(f"{path}:{line}: no UTF-8; convert the file") from None


def _unknown_judge_keys(raw: dict[str, Any]) -> list[Problem]:
    """Name `preset` and `grid` too when a key of a judge is misspelt.

    Entries that expand are checked by pydantic once for each expansion; this looks at what was
    written, once.
    """
    known = known_keys(("judges", 0), [Study]) - set(DERIVED) | set(_ENTRY_KEYS)
    entries = raw.get("judges")
    return [
        Problem(path=("judges", place, key), text=unknown_key(key, known))
        for place, entry in enumerate(entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
        for key in entry
        if key not in known
    ]


def _validate(data: dict[str, Any], origins: list[int]) -> tuple[Study | None, list[Problem]]:
    try:
        # Through JSON: lists become tuples, and nothing else is coerced.
        return Study.model_validate_json(json.dumps(data), strict=True), []
    except ValidationError as error:
        # Not chained: pydantic's own message repeats the values, secrets among them.
        # A default that rests on a field with a problem of its own is no problem more.
        details = [
            detail
            for detail in error.errors(include_url=False)
            if detail["type"] != "default_factory_not_called"
        ]
    problems: dict[tuple[Path, str], Problem] = {}
    for detail in details:
        path = _trim(tuple(detail["loc"]), data, detail["type"])
        text = describe(dict(detail), path, [Study])
        is_judge_key = detail["type"] == "extra_forbidden" and _depth(path) == ("judges", 3)
        if path[:1] == ("judges",) and len(path) > 1 and isinstance(path[1], int):
            path = ("judges", origins[path[1]], *path[2:])
        if not is_judge_key:
            problems.setdefault((path, text), Problem(path=path, text=text))
    return None, list(problems.values())


def _depth(path: Path) -> tuple[str | int | None, int]:
    return (path[0] if path else None, len(path))


def _trim(path: Path, data: Any, kind: str) -> Path:
    """Drop the names of union branches that pydantic puts between the file's own keys."""
    kept: list[str | int] = []
    for place, part in enumerate(path):
        last = place == len(path) - 1
        inside = (isinstance(data, dict) and part in data) or (
            isinstance(data, list) and isinstance(part, int) and part < len(data)
        )
        if inside:
            kept.append(part)
            data = data[part]
        elif last and kind == "missing":
            kept.append(part)
    return tuple(kept)


def _with_models(study: Study, folder: FilePath) -> Study:
    """Take the paths of embedded models, and code, from the study's folder."""
    return study.model_copy(update={"judges": tuple(_placed(j, folder) for j in study.judges)})


def _with_wordings(study: Study, folder: FilePath) -> tuple[Study, list[Problem]]:
    """Read what rewordings name, as the judges' own files were read."""
    prompts = study.prompts
    problems: list[Problem] = []
    if isinstance(prompts, Reworded) and isinstance(prompts.model, JudgeSpec):
        model = _placed(prompts.model, folder)
        if model.template is not None:
            template, wrong = _resolved(model.template, folder)
            at: Path = ("prompts", "model", "template")
            problems += [Problem(path=at, text=text) for text in wrong]
            model = model.model_copy(update={"template": template})
        prompts = prompts.model_copy(update={"model": model})
        study = study.model_copy(update={"prompts": prompts})
    study, found = resolved(study, folder)
    return study, [*problems, *found]


def _placed(judge: JudgeSpec, folder: FilePath) -> JudgeSpec:
    if judge.provider in PROVIDERS and PROVIDERS[judge.provider].own_code:
        return judge.model_copy(update={"folder": str(folder.absolute())})
    if judge.model_path is not None:
        return judge.model_copy(update={"model_path": _from(folder, judge.model_path)})
    return judge


def _from(folder: FilePath, given: str) -> str:
    return os.path.normpath(folder.absolute() / FilePath(given).expanduser())


def _with_templates(
    study: Study, folder: FilePath, origins: list[int]
) -> tuple[Study, list[Problem]]:
    """Read the chat template of every judge that renders its own prompts."""
    judges: list[JudgeSpec] = []
    problems: list[Problem] = []
    for judge, origin in zip(study.judges, origins, strict=True):
        if judge.template is not None:
            path: Path = ("judges", origin, "template")
            template, found = _resolved(judge.template, folder)
            problems += [Problem(path=path, text=text) for text in found]
            judges.append(judge.model_copy(update={"template": template}))
        else:
            judges.append(judge)
    return study.model_copy(update={"judges": tuple(judges)}), problems


def _resolved(template: ChatTemplate, folder: FilePath) -> tuple[ChatTemplate, list[str]]:
    if (template.path is None) == (template.text is None):
        return template, ["must give path or text, one of them; choose"]
    text = template.text
    if template.path is not None:
        try:
            text = read_regular(folder / template.path).decode()
        except (OSError, UnicodeDecodeError) as error:
            return template, [f"{template.path!r}, cannot be read ({error}); check the path"]
        if FilePath(template.path).suffix == ".json":
            try:
                template, text = tokenizer_template(template, text)
            except InputError as error:
                return template, [f"{template.path!r}, {error}"]
    found = sha256_hex(text or "")
    if template.sha256 not in (None, found):
        name = template.path or "text"
        return template, [f"{name!r}, hashes to {found}, not to the sha256 declared; correct one"]
    return template.model_copy(update={"text": text, "sha256": found}), []


def tokenizer_template(template: ChatTemplate, content: str) -> tuple[ChatTemplate, str]:
    """Take the chat template, and the tokens that begin and end a text, out of a tokenizer's file.

    `tokenizer_config.json` holds one template, or several by name of which `default` is meant. What
    the study says of the tokens stands.

    Raises:
        InputError: the file holds no template.
    """
    try:
        config = json_of(content)
    except ValueError as error:
        raise InputError(f"no JSON ({error}); fetch the file again") from None
    found = config.get("chat_template") if isinstance(config, dict) else None
    if isinstance(found, list):
        named = {each.get("name"): each.get("template") for each in found if isinstance(each, dict)}
        found = named.get("default")
    if not isinstance(found, str):
        raise InputError(
            "holds no chat_template; where a revision keeps it in chat_template.jinja, name that "
            "file"
        )
    special = [_token(each) for each in config.get("additional_special_tokens") or ()]
    tokens = {
        "bos": template.bos or _token(config.get("bos_token")),
        "eos": template.eos or _token(config.get("eos_token")),
        "special": template.special or tuple(token for token in special if token),
    }
    return template.model_copy(update=tokens), found


def _token(value: Any) -> str | None:
    """Return a token that is written as text, or as an object with its text in `content`."""
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) and text else None


def _stop(path: FilePath, document: Document, problems: Iterable[Problem]) -> None:
    listed = list(dict.fromkeys(problems))
    if listed:
        raise failure(path, document, listed) from None


def failure(path: FilePath, document: Document, problems: list[Problem]) -> StudyError:
    """Put problems in the sequence of the file, one line each."""
    located = [(problem.line or document.line(problem.path), problem) for problem in problems]
    located.sort(key=lambda pair: pair[0])
    return StudyError("\n".join(_line(path, line, problem) for line, problem in located))


def _line(path: FilePath, line: int, problem: Problem) -> str:
    key = dotted(problem.path)
    place = f"{path}:{line}" if line else str(path)  # a dict has no lines
    return f"{place}: {key}: {problem.text}" if key else f"{place}: {problem.text}"
