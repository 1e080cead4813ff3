"""A study that asks with rewordings, written beside the study whose prompt it rewords."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judgelaw.errors import InputError, StudyError
from judgelaw.study.blueprint import survey
from judgelaw.study.loading import LoadedStudy, load_study, load_text
from judgelaw.study.models import FREE, Study
from judgelaw.study.passages import Labels
from judgelaw.study.problems import Document, read_yaml, written_out
from judgelaw.study.prompt_models import Reworded
from judgelaw.study.prompts import Template
from judgelaw.study.reword_rules import lists
from judgelaw.study.reworded import labels_of
from judgelaw.study.run_files import durable
from judgelaw.wire import PROVIDERS
from judgelaw.words import did_you_mean

RULES = "rules"
_COUNT = 12
_FUNCTION = re.compile(r"[\w.]+:[\w.]+")
_LONGEST_NAME = 100
_WORD = re.compile(r"[A-Za-z][\w-]*")
_MEANS_MORE = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")


def reworded_study(
    loaded: LoadedStudy,
    *,
    who: str | None,
    count: int | None = None,
    prompt: str | None = None,
    varied: bool = False,
    out: Path | None = None,
) -> LoadedStudy:
    """Write the study that asks with rewordings of one of its prompts, and load it.

    Args:
        loaded: the study with the template.
        who: a judge of the study, `package.module:function`, a YAML file with a judge, or `rules`.
        count: how many prompts, twelve by default.
        prompt: the id of the template, where the study has several.
        varied: take a varied set of draws, as a census.
        out: the file; by default `STUDY-reworded.yaml` beside the study.

    Raises:
        InputError: the file is there and says something else.
    """
    template = _template(loaded, prompt)
    declared: dict[str, Any] = {
        "policy": "census" if varied else "generator",
        "grammar": "reworded",
        "count": count or _COUNT,
        **_rewording(loaded, template, who),
        "text": template.text,
    }
    target = out or loaded.path.with_name(f"{loaded.path.stem}-reworded.yaml")
    return _written(loaded, target, _name(loaded.study.name, "reworded"), declared)


def approved_study(loaded: LoadedStudy, count: int, out: Path | None = None) -> LoadedStudy:
    """Write the study that asks with what people approved of the draws of another.

    Args:
        loaded: the study that rewords.
        count: how many are approved.
        out: the file; by default `-approved` takes the place of `-reworded` in the other's name.
    """
    prompts = loaded.study.prompts
    assert isinstance(prompts, Reworded)  # noqa: S101 - the caller drew from it
    written = loaded.document.data["prompts"]
    draws = written.get("draws") or f"rewordings/{loaded.study.name}"
    declared = {**written, "count": count, "approved": True, "draws": draws}
    stem = loaded.path.stem.removesuffix("-reworded")
    target = out or loaded.path.with_name(f"{stem}-approved.yaml")
    name = _name(loaded.study.name.removesuffix("-reworded"), "approved")
    return _written(loaded, target, name, declared)


def _name(name: str, ending: str) -> str:
    return f"{name[: _LONGEST_NAME - len(ending) - 1]}-{ending}"


def _template(loaded: LoadedStudy, prompt: str | None) -> Template:
    """Return the template that is reworded."""
    templates = {template.id: template for template in survey(loaded).templates}
    if prompt is None and len(templates) == 1:
        return next(iter(templates.values()))
    if prompt not in templates:
        listed = ", ".join(templates)
        if prompt is None:
            raise InputError(
                f"{loaded.path} has {len(templates)} prompts ({listed}): say with --prompt which "
                "one is yours and is to be reworded"
            )
        near = did_you_mean(prompt, templates)
        raise InputError(f"--prompt {prompt}: the study has {listed}{near}; name one of them")
    return templates[prompt]


def _rewording(loaded: LoadedStudy, template: Template, who: str | None) -> dict[str, Any]:
    """Return who rewords, as a study declares it."""
    study = loaded.study
    known = list(dict.fromkeys(judge.family or judge.name for judge in study.judges))
    if who is None:
        raise InputError(
            f"say who rewords: --with JUDGE (one of {', '.join(known)}), --with "
            "package.module:function, a YAML file that declares a judge, or --with rules"
        )
    if who in known:
        return {"model": who}
    if who == RULES:
        return {"rules": _usable_rules(study, template)}
    if who.endswith((".yaml", ".yml")):
        return {"model": _judge_of(loaded, who)}
    if _FUNCTION.fullmatch(who):
        function = next(name for name, provider in PROVIDERS.items() if "call" in provider.fields)
        return {"model": {"name": who.partition(":")[2], "provider": function, "call": who}}
    near = did_you_mean(who, known)
    raise InputError(
        f"--with {who}: no judge of the study ({', '.join(known)}){near}; name one, a function as "
        "package.module:function, a YAML file that declares a judge, or rules"
    )


def _usable_rules(study: Study, template: Template) -> dict[str, bool]:
    """Return the rules that change something in a template, but for those that need words."""
    labels = Labels(labels_of(study))
    listed = [listing for literal in template.parts[::2] for listing in lists(literal, labels)]
    free = not all(listing.in_sequence for listing in listed)
    return {
        **({"order": True} if free else {}),
        **({"numbering": True} if listed else {}),
        "wrappers": True,
    }


def _judge_of(loaded: LoadedStudy, file: str) -> Mapping[str, Any]:
    path = loaded.folder / file
    if not path.is_file() and Path(file).is_file():
        path = Path(file)
    try:
        document = read_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--with {file}: cannot be read ({error}); name a file") from None
    if document.problems or not isinstance(document.data, dict):
        raise InputError(f"--with {file}: no judge; write its name, provider and model into it")
    return document.data


def _written(
    loaded: LoadedStudy, target: Path, name: str, declared: Mapping[str, Any]
) -> LoadedStudy:
    """Write a study with another name and other prompts, unless another one stands there."""
    if target.parent.resolve() != loaded.folder.resolve():
        raise InputError(
            f"{target}: must be in {loaded.folder}, since the paths in the study start from there"
        )
    text = with_prompts(loaded.source, loaded.document, name, declared)
    if target.exists() and _fixed(_read(target)) != _fixed(read_yaml(text).data):
        raise InputError(
            f"{target} is there and says something else than this command would write; reword that "
            "study itself, or name another file with --out"
        )
    load_text(target, text)  # what breaks a rule is said before anything is written
    durable(target, text.encode())
    return load_study(target)


def _fixed(data: Any) -> Any:
    """Return what a study says, but for what may change between sessions, and how many prompts."""
    if not isinstance(data, dict) or not isinstance(data.get("prompts"), dict):
        return data
    prompts = {key: value for key, value in data["prompts"].items() if key != "count"}
    kept = {key: value for key, value in data.items() if key == "name" or key not in FREE}
    return {**kept, "prompts": prompts}


def _read(path: Path) -> Any:
    try:
        return read_yaml(path.read_text(encoding="utf-8")).data
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: cannot be read ({error}); name another file") from None


def with_prompts(source: str, document: Document, name: str, declared: Mapping[str, Any]) -> str:
    """Return a study's text with another name and other prompts, all else as it stands.

    Comments and lines stay where the keys stand in lines of their own; otherwise the study is
    written anew.
    """
    wanted = {**document.data, "name": name, "prompts": dict(declared)}
    block = "prompts:\n" + _block(declared, 1)
    text = _replaced(source, document, {"name": f"name: {_plain(name)}\n", "prompts": block})
    if text is not None and read_yaml(text).data == wanted and not read_yaml(text).problems:
        return text
    return written_out(wanted, Study.model_fields)[0]


def _replaced(source: str, document: Document, blocks: Mapping[str, str]) -> str | None:
    """Return a text with other blocks for some of its first keys; None where that cannot be."""
    lines = source.splitlines(keepends=True)
    starts = sorted(line for path, line in document.lines.items() if len(path) == 1)
    at = {line: str(path[0]) for path, line in document.lines.items() if len(path) == 1}
    if len(at) < len(document.data) or not all(key in at.values() for key in blocks):
        return None
    found = lines[: starts[0] - 1]
    for start, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
        own = lines[start - 1 : end - 1]
        if (key := at[start]) in blocks:
            while len(own) > 1 and (not own[-1].strip() or own[-1].startswith("#")):
                own.pop()
            rest = lines[start - 1 + len(own) : end - 1]
            own = [blocks[key], *rest]
        found += own
    return "".join(found)


def _block(value: Mapping[str, Any], depth: int) -> str:
    """Write a mapping as YAML, texts of several lines as they read."""
    blank = "  " * depth
    whole = ""
    for key, each in value.items():
        if isinstance(each, Mapping):
            whole += f"{blank}{key}:\n{_block(each, depth + 1)}"
        elif isinstance(each, str) and "\n" in each and _reads(each):
            ending = "-" if not each.endswith("\n") else "+" if each.endswith("\n\n") else ""
            text = each.removesuffix("\n") if ending == "" else each
            body = "".join(
                f"{blank}  {line}" if line.strip() else line
                for line in text.splitlines(keepends=True)
            )
            indent = "2" if each[0].isspace() else ""
            whole += f"{blank}{key}: |{indent}{ending}\n{body}"
            whole += "" if body.endswith("\n") else "\n"
        else:
            whole += f"{blank}{key}: {_plain(each)}\n"
    return whole


def _plain(value: Any) -> str:
    """Write a value on one line, a plain word without quotes."""
    if isinstance(value, str) and _WORD.fullmatch(value) and value.lower() not in _MEANS_MORE:
        return value
    return json.dumps(value, ensure_ascii=False)


def _reads(text: str) -> bool:
    """Whether a text can stand in lines of its own."""
    return all(line.isprintable() and line == line.rstrip() for line in text.split("\n"))
