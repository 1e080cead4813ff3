"""Ask the grader of a log again, or others, about the answers that the log holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError
from judgelaw.runs.auditing import Audited, Shown, audit_study
from judgelaw.study import AS_GIVEN, LoadedStudy, load_study
from judgelaw.tables.importers import Grading, gradings_of
from judgelaw.words import did_you_mean, listed

if TYPE_CHECKING:
    from judgelaw.record_files import Record

LOGGED = "logged_verdict"
"""The field of an item that holds what the log says."""

_SERVERS: Mapping[str, tuple[str, str]] = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "google": ("https://generativelanguage.googleapis.com/v1beta/openai", "GOOGLE_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "together": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
}
"""Where models are served, by the first part of the name that tools give them."""
_FORMATS = {"anthropic": "anthropic"}
_CHAT = "openai-chat"
_WITH_SERVICE = "openai-api"
"""Inspect's name for any server that speaks the format of OpenAI; the service follows."""
_OTHERS = "invalid"


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How often a judge that was asked again says what the log says.

    Attributes:
        judge: who was asked.
        items: answers with a verdict in the log.
        calls: calls about them.
        same: how many of these give the verdict of the log.
    """

    judge: str
    items: int
    calls: int
    same: int

    @property
    def share(self) -> float:
        """The share of calls that agree."""
        return self.same / self.calls if self.calls else float("nan")


@dataclass(frozen=True, kw_only=True)
class Regraded:
    """A log that was graded again: the run, and what the log had said."""

    audited: Audited
    agreement: tuple[Agreement, ...]


def regrade_study(
    log: str | PathLike[str],
    *,
    judges: Sequence[str] = (),
    declared: Sequence[Mapping[str, Any]] = (),
    scorer: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    price: tuple[float, float] | None = None,
    repeats: int = 4,
    concurrency: int = 8,
) -> LoadedStudy:
    """Return the study that puts the recorded prompts of a log to graders.

    Args:
        log: the log.
        judges: graders as `PROVIDER/MODEL`, or names of those declared; the log's own by default.
        declared: judges as a study declares them.
        scorer: the scorer to ask again, where a log has several.
        base_url: where the models are served, in place of their provider's address.
        api_key: `env:NAME` of the key; by default the provider's usual variable.
        price: dollars per million tokens of input and of output.
        repeats: calls of each answer.
        concurrency: calls at a time.
    """
    found = _of_scorer(gradings_of(log), scorer, log)
    first = found[0]
    named = judges or tuple(dict.fromkeys(each.grader for each in found))
    served = {"base_url": base_url, "api_key": api_key, "price": price}
    specs = [_judge(name, declared, first, served) for name in named]
    labels = [*dict.fromkeys(first.labels.values())] if first.labels else None
    study: dict[str, Any] = {
        "version": 1,
        "name": _name(log),
        "seed": 0,
        "task": "pointwise",
        "items": {"source": "jsonl", "path": "inputs/items.jsonl"},
        "prompts": {
            "policy": "census",
            "templates": [{"id": AS_GIVEN, "text": "{candidate}"}],
        },
        "repeats": repeats,
        "judges": specs,
        "transport": {"concurrency": concurrency},
    }
    study |= {"labels": labels} if labels else {}
    return replace(load_study(study), records=_records(found))


def regrade(
    log: str | PathLike[str],
    out: Path | None = None,
    *,
    shown: Shown | None = None,
    **options: Any,
) -> Regraded:
    """Ask graders about the answers of a log; analyse, report, and hold both verdicts together.

    The same call resumes a run that was interrupted.
    """
    loaded = regrade_study(log, **options)
    audited = audit_study(loaded, out, shown=shown)
    return Regraded(audited=audited, agreement=_agreement(audited.run))


def _name(log: str | PathLike[str]) -> str:
    stem = Path(log).name.split(".")[0]
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in stem)
    return f"regrade-{plain}"[:100]


def _of_scorer(
    found: Sequence[Grading], scorer: str | None, log: str | PathLike[str]
) -> list[Grading]:
    there = list(dict.fromkeys(each.criterion for each in found))
    if scorer is None and len(there) > 1:
        raise InputError(
            f"{log}: scorers {listed(there)} ask different things: name one, --scorer {there[0]}"
        )
    if scorer is not None and scorer not in there:
        near = did_you_mean(scorer, there)
        raise InputError(f"{log}: no scorer is called {scorer!r}{near}: {listed(there)}")
    chosen = [each for each in found if scorer in (None, each.criterion)]
    systems = {each.system for each in chosen}
    if len(systems) > 1:
        raise InputError(
            f"{log}: the graders were given {len(systems)} different system messages, and a judge "
            "has one: split the log by them"
        )
    return chosen


def _records(found: Sequence[Grading]) -> "tuple[Record, ...]":
    """Return each answer once, with the first verdict that the log gave it."""
    items: dict[str, dict[str, Any]] = {}
    for each in found:
        if each.item in items:
            continue
        human = each.human
        items[each.item] = {
            "id": each.item,
            "cluster": each.cluster,
            "answer": each.answer,
            "instruction": each.question,
            "candidate_1": each.text,
            "gold": human,
            LOGGED: None if each.verdict == _OTHERS else each.verdict,
        }
    return tuple((f"answer {name}", record) for name, record in items.items())


# Graders --------------------------------------------------------------------------------------


def _judge(
    name: str,
    declared: Sequence[Mapping[str, Any]],
    grading: Grading,
    served: Mapping[str, Any],
) -> dict[str, Any]:
    own = next((dict(each) for each in declared if each.get("name") == name), None)
    judge = own or _by_name(name, served)
    parser: dict[str, Any] = {"regex": grading.pattern}
    if grading.labels:
        parser["labels"] = dict(grading.labels)
    judge.setdefault("parser", parser)
    if grading.system is not None:
        judge.setdefault("system", grading.system)
    if served["price"] is not None:
        judge["price"] = dict(
            zip(("input_per_mtok", "output_per_mtok"), served["price"], strict=True)
        )
    return judge


def _by_name(name: str, served: Mapping[str, Any]) -> dict[str, Any]:
    """Return a judge from the name that tools give a model: `openai/gpt-4o`."""
    provider, slash, model = name.partition("/")
    if provider == _WITH_SERVICE:
        provider, slash, model = model.partition("/")
    if not slash:
        raise InputError(
            f"judge {name!r}: write PROVIDER/MODEL, as openai/gpt-4o, or name a judge of --judges"
        )
    address, variable = _SERVERS.get(provider, (None, None))
    url = served["base_url"] or address
    if url is None:
        raise InputError(
            f"judge {name!r}: where {provider} serves models is not known ({', '.join(_SERVERS)} "
            "are): give --base-url, or declare the judge in a file, --judges FILE"
        )
    key = served["api_key"]
    if key is None and served["base_url"] is None:
        key = f"env:{variable}"
    return {
        "name": name,
        "provider": _FORMATS.get(provider, _CHAT),
        "base_url": url,
        **({} if key is None else {"api_key": key}),
        "model": model,
        **({"decoding": {"max_tokens": 4096}} if provider in _FORMATS else {}),
    }


# What the log had said ------------------------------------------------------------------------


def _agreement(run: Path) -> tuple[Agreement, ...]:
    from judgelaw.runs.source import read_source
    from judgelaw.study import open_run

    logged = {item.id: item.others.get(LOGGED) for item in open_run(run).items.values()}
    found = []
    for judge, tensor in read_source(str(run)).main().items():
        places = [
            (i, tensor.verdicts.index(str(said)))
            for i, item in enumerate(tensor.items)
            if (said := logged.get(item)) in tensor.verdicts
        ]
        known = sum(logged.get(item) is not None for item in tensor.items)
        calls = sum(
            int(tensor.counts[i].sum())
            for i, item in enumerate(tensor.items)
            if logged.get(item) is not None
        )
        same = sum(int(tensor.counts[i, ..., code].sum()) for i, code in places)
        found.append(Agreement(judge=judge, items=known, calls=calls, same=same))
    return tuple(found)
