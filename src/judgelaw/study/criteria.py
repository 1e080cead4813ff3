"""Criteria: several verdicts from one reply, or calls of their own for each of them.

From one reply a judge reads every criterion by its own rule; the reply is paid once. With calls
of their own, a judge stands in the study once for each criterion, under the name that its verdicts
have everywhere: `judge · criterion`.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from judgelaw.record_files import json_of
from judgelaw.study.judge_rules import parser_problems
from judgelaw.study.models import AskedCriterion, Study
from judgelaw.study.problems import Path, Problem
from judgelaw.study.single_answers import (
    gate_problems,
    verdict_problems,
    with_parsers,
)
from judgelaw.wire import JudgeSpec, ParserSpec, SingleCriterion, canonical_json, parser_rule
from judgelaw.words import did_you_mean, stream_name


def forgiving_criteria(raw: dict[str, Any]) -> dict[str, Any]:
    """Let the parsers of criteria match labels as those of judges do."""
    criteria = raw.get("criteria")
    if not isinstance(criteria, dict):
        return raw
    return {**raw, "criteria": {name: _written(rule, raw) for name, rule in criteria.items()}}


def _written(rule: Any, raw: dict[str, Any]) -> Any:
    if isinstance(rule, dict) and "ask" in rule:
        parser = rule.get("parser")
        return rule if parser is None else {**rule, "parser": _rule(parser, raw)}
    return _rule(rule, raw)


def _rule(parser: Any, raw: dict[str, Any]) -> Any:
    """Return a parser with what the study leaves to be filled in, its verdicts too."""
    (judge,) = with_parsers([{"parser": parser_rule(parser) if _is_rule(parser) else parser}], raw)
    return judge["parser"]


def _is_rule(written: Any) -> bool:
    return isinstance(written, dict) or (isinstance(written, str) and ":" in written)


def with_criteria(study: Study, origins: list[int]) -> tuple[Study, list[int]]:
    """Give the judges of a study its criteria: to read from one reply, or to ask each by itself.

    Returns:
        The study, and the place in the file of each of its judges.
    """
    judges: list[JudgeSpec] = []
    places: list[int] = []
    for judge, origin in zip(study.judges, origins, strict=True):
        given = _with_criteria(judge, study)
        judges += given
        places += [origin] * len(given)
    return study.model_copy(update={"judges": tuple(judges)}), places


def _with_criteria(judge: JudgeSpec, study: Study) -> list[JudgeSpec]:
    if not study.asked:
        return [judge.model_copy(update={"criteria": dict(study.criteria)})]
    return [
        judge.model_copy(
            update={
                "name": stream_name(judge.name, name),
                "family": judge.family or judge.name,
                "asks": SingleCriterion(judge=judge.name, criterion=name, text=criterion.ask),
                "parser": criterion.parser or judge.parser,
                "law": (judge.law and judge.law.criteria.get(name)) or judge.law,
            }
        )
        for name, criterion in study.asked.items()
    ]


def criteria_problems(
    study: Study, raw: Mapping[str, Any], origins: list[int]
) -> Iterator[Problem]:
    """Yield everything wrong with the criteria of a study, and with what names one.

    Args:
        study: the study.
        raw: the file's own keys.
        origins: the place in the file of each judge.
    """
    yield from _mixed(study)
    yield from _rules(study, origins)
    yield from _parsers_beside(study, raw)
    yield from _limits(study)
    yield from _depths(study)
    gate = study.gate.criteria if study.gate else {}
    yield from _unknown(study, gate, ("gate", "criteria"))
    for place, entry in enumerate(raw.get("judges") or ()):
        law = entry.get("law") if isinstance(entry, dict) else None
        written = law.get("criteria") if isinstance(law, dict) else None
        yield from _unknown(study, written or {}, ("judges", place, "law", "criteria"))


def _mixed(study: Study) -> Iterator[Problem]:
    if study.asked and len(study.asked) < len(study.criteria):
        read = next(name for name in study.criteria if name not in study.asked)
        text = (
            f"{read!r}, is read from a reply, and {next(iter(study.asked))!r} has calls of its "
            "own; give ask: to all of them or to none"
        )
        yield Problem(path=("criteria", read), text=text)


def _rules(study: Study, origins: list[int]) -> Iterator[Problem]:
    """Yield what is wrong with the rules that criteria are read by."""
    for name, criterion in study.criteria.items():
        asked = isinstance(criterion, AskedCriterion)
        rule = criterion.parser if isinstance(criterion, AskedCriterion) else criterion
        if rule is not None:
            path: Path = ("criteria", name, "parser") if asked else ("criteria", name)
            for key, text in (*parser_problems(rule, study.task), *_verdicts(rule, study)):
                yield Problem(path=(*path, *key), text=text)
    for judge, origin in zip(study.judges, origins, strict=True):
        if judge.asks is not None and study.asked[judge.asks.criterion].parser is None:
            for key, text in parser_problems(judge.parser, study.task):
                yield Problem(path=("judges", origin, "parser", *key), text=text)


def _verdicts(rule: ParserSpec, study: Study) -> Iterator[tuple[Path, str]]:
    """Yield where a rule and the verdicts of the study do not go together."""
    for judge in study.judges[:1]:
        reads = judge.model_copy(update={"parser": rule, "criteria": {}})
        for key, text in verdict_problems(reads, study):
            yield key[1:], text


def _limits(study: Study) -> Iterator[Problem]:
    """Yield limits on a criterion that no component of the study's verdicts can reach."""
    for name, limits in (study.gate.criteria if study.gate else {}).items():
        for found in gate_problems(study.model_copy(update={"gate": limits})):
            yield replace(found, path=("gate", "criteria", name, *found.path[1:]))


def _depths(study: Study) -> Iterator[Problem]:
    """Refuse a depth that hangs on one verdict where a reply holds several."""
    if not study.criteria or study.asked:
        return
    by_item = not isinstance(study.repeats, int)
    for key, there in (("stop", study.stop is not None), ("repeats", by_item)):
        if there:
            text = (
                "looks at one verdict of a reply, and this reply holds several; give equal "
                "repeats, or calls of its own to each criterion with ask:"
            )
            yield Problem(path=(key,), text=text)


def _parsers_beside(study: Study, raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Refuse a judge's own parser where criteria say how replies are read."""
    if not study.criteria or study.asked:
        return
    for place, entry in enumerate(raw.get("judges") or ()):
        if isinstance(entry, dict) and "parser" in entry:
            text = "criteria say how replies are read; leave it out, or add a criterion for it"
            yield Problem(path=("judges", place, "parser"), text=text)


def _unknown(study: Study, named: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    for name in named:
        if name not in study.criteria:
            known = ", ".join(study.criteria) or "the study declares none"
            near = did_you_mean(name, study.criteria)
            text = f"{name!r}, must be one of criteria ({known}){near}; name one of them"
            yield Problem(path=(*path, name), text=text)


def gold_text(
    written: Any,
    criteria: Collection[str],
    where: str,
    read: Callable[[Any], str | None],
    problems: list[str],
) -> str | None:
    """Return the right verdict of an item on each criterion that its gold names, as one text.

    Args:
        written: a mapping of criteria, or its JSON; None where an item has no gold.
        criteria: of the study.
        where: the item's place in its file.
        read: reads one right verdict.
        problems: what is wrong is added here.
    """
    if written is None or written == "":
        return None
    try:
        named = json_of(written) if isinstance(written, str) else written
    except ValueError:
        named = written
    strange = sorted(set(named) - set(criteria)) if isinstance(named, dict) else [str(written)[:40]]
    if strange:
        problems.append(
            f"{where}: gold: {strange[0]!r}, with criteria it names a verdict for some of "
            f"{', '.join(criteria)}; write {{{json.dumps(next(iter(criteria)))}: ...}}"
        )
        return None
    return canonical_json({name: read(value) for name, value in named.items()})


def gold_of(gold: str | None, criterion: str | None) -> str | None:
    """Return the right verdict of an item on one criterion, out of what is frozen of it."""
    if gold is None or criterion is None:
        return gold
    found: str | None = json_of(gold).get(criterion)
    return found
