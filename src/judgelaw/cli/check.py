"""`judgelaw check`: what a study would run, before anything is frozen or paid for."""

import asyncio
import os
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import echo, show_table, write_json

if TYPE_CHECKING:
    import aiohttp

    from judgelaw.study import PlannedCall, Preview
    from judgelaw.wire import Answer, JudgeSpec, Reader, Vector, Verdict


_UNREAD = ("no label", "unknown label", "empty")


@dataclass(frozen=True, kw_only=True)
class Probe:
    """How one judge answered one call.

    Attributes:
        judge: its name.
        ok: whether a completion came back.
        verdict: what it counts as.
        why: why it counts as invalid, and what the parser wants; None where it does not.
        said: the completion's text, or the failure in words.
        model: the model that the provider names.
        seconds: how long it took.
        exit_code: of the failure; 0 where there is none.
        probabilities: what came of `logprobs`: `status` is "decided", "undecided", "none" (the
            provider returns none) or "refused" (it rejects the parameter), `words` says more; None
            where nobody asked.
    """

    judge: str
    ok: bool
    verdict: str | None
    said: str
    model: str | None
    seconds: float
    exit_code: int = 0
    why: str | None = None
    probabilities: dict[str, Any] | None = None


def probe(preview: "Preview") -> list[Probe]:
    """Ask every judge the calls that are shown, one after the other."""
    return asyncio.run(_all(preview))


async def _all(preview: "Preview") -> list[Probe]:
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=preview.run.study.transport.timeout_s)
    async with aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session:
        return [await _one(preview, session, call, body) for call, body in preview.examples]


async def _one(
    preview: "Preview", session: "aiohttp.ClientSession", call: "PlannedCall", body: bytes
) -> Probe:
    from judgelaw.errors import ProviderRefusedError, RunError
    from judgelaw.judges import JudgeContext, open_judge
    from judgelaw.wire import Answer, Consequence, Failure, FailureKind, Reader

    spec = preview.run.judges[call.judge]
    around = JudgeContext(frozen=preview.run, session=session, clock=time.time)
    async with open_judge(spec, around) as judge:
        started = time.monotonic()
        limit = preview.run.study.transport.timeout_s
        try:
            reply = await asyncio.wait_for(judge.ask(call, body), limit)
        except TimeoutError:
            reply = Failure(kind=FailureKind.TIMEOUT, detail=f"no reply in {limit:g} s")
        seconds = time.monotonic() - started
        answer = reply if isinstance(reply, Failure) else judge.decode(reply)
    if isinstance(answer, Answer):
        with Reader(spec) as reader:
            verdict = reader.read(answer.completion, call.order)
            soft = _probabilities(spec, answer, call.order, reader)
        return Probe(
            judge=call.judge,
            ok=True,
            verdict=verdict.verdict,
            said=answer.completion.text or answer.completion.refusal or "",
            model=answer.model,
            seconds=seconds,
            why=_why(spec, verdict, call.order),
            probabilities=soft,
        )
    retried = answer.kind.consequence is Consequence.RETRY
    return Probe(
        judge=call.judge,
        ok=False,
        verdict=None,
        said=f"{answer.kind}: {answer.detail}",
        model=None,
        seconds=seconds,
        exit_code=RunError.exit_code if retried else ProviderRefusedError.exit_code,
        probabilities=None if retried else _refused(spec, answer.detail),
    )


def _refused(spec: "JudgeSpec", detail: str) -> dict[str, Any] | None:
    """Say that a provider rejects the parameter, where its words name it."""
    if spec.logprobs is None or "logprob" not in detail.casefold():
        return None
    words = (
        f"the provider refuses logprobs: {spec.logprobs}: ask for fewer, or leave logprobs out of "
        f"judge {spec.name} and use sampled verdicts"
    )
    return {"status": "refused", "words": words}


def _probabilities(
    spec: "JudgeSpec", answer: "Answer", order: str, reader: "Reader"
) -> dict[str, Any] | None:
    """Say which token decides, and what its alternatives count as."""
    from judgelaw.wire import vector_of

    if spec.logprobs is None:
        return None
    if answer.tokens is None:
        words = (
            f"no token probabilities came back, although logprobs: {spec.logprobs} asks for them: "
            f"the provider ignores it; leave it out of judge {spec.name}, or ask another provider"
        )
        return {"status": "none", "words": words}
    found = vector_of(answer.tokens, spec, answer.completion, order, reader.read_all)
    if found.why is not None:
        words = f"no vector could be made: {found.why}; all of its mass counts as missing"
        return {"status": "undecided", "words": words}
    verdicts = {verdict: round(p, _DIGITS) for verdict, p in found.verdicts.items()}
    listed = ", ".join(f"{verdict} {p:.4f}" for verdict, p in verdicts.items())
    place = (found.place or 0) + 1
    words = f"token {place} ({found.token!r}) decides: {listed}, missing {found.missing:.4f}"
    return {
        "status": "decided",
        "words": words + _of_several_tokens(found) + _tempered(spec),
        "token": found.place,
        "text": found.token,
        "verdicts": verdicts,
        "missing": round(found.missing, _DIGITS),
        "begun": list(found.begun),
        "completed": list(found.completed),
    }


def _of_several_tokens(found: "Vector") -> str:
    """Say what happens with labels that take more than one token."""
    parts = []
    if found.completed:
        tokens = ", ".join(map(repr, found.completed))
        parts.append(f"{tokens} begin a label of several tokens, and count for it by the grammar")
    if found.begun:
        tokens = ", ".join(map(repr, found.begun))
        parts.append(f"{tokens} begin a label of several tokens, and count as missing")
    if not parts:
        parts.append("every listed label is one token")
    return "; " + "; ".join(parts)


def _tempered(spec: "JudgeSpec") -> str:
    T = spec.decoding.temperature
    if T in (None, 1.0) or spec.grammar is not None:
        return ""
    return (
        f"; temperature {T:g}: returned probabilities p are taken as p^(1/{T:g}), which holds if "
        "the provider returns them as they are before the temperature"
    )


def _why(spec: "JudgeSpec", verdict: "Verdict", order: str) -> str | None:
    """Say why a reply counts as invalid, in the words of whoever would correct it."""
    from judgelaw.tensor import INVALID
    from judgelaw.wire import wanted

    if verdict.verdict != INVALID:
        return None
    if verdict.reason not in _UNREAD:
        return f"it counts as invalid ({verdict.reason})"
    return (
        f"it counts as invalid ({verdict.reason}): {wanted(spec, order)}; see parser of judge "
        f"{spec.name} in the study"
    )


_FEWEST_FOR_ERRORS = 4
_DIGITS = 6
_SHOWN = 1000


@click.command(
    epilog=examples(
        "judgelaw check study.yaml",
        "judgelaw check study.yaml --probe",
        "judgelaw check studies/*.yaml",
    )
)
@click.argument(
    "studies", metavar="STUDY...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--probe",
    "probing",
    type=click.IntRange(min=1),
    is_flag=False,
    flag_value=1,
    metavar="[N]",
    help="Make one real call with every judge, or calls of N cells, and say what could be read.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(studies: tuple[Path, ...], *, probing: int | None, json_file: str | None) -> None:
    """Check a study: every problem with its line, or what it would run.

    Nothing is written and nothing is sent, unless --probe asks for calls of every judge. A pattern
    of a parser is tried on texts that make patterns backtrack. Of several studies each one is
    checked; the first problem ends it.
    """
    if len(studies) > 1 and (probing or json_file):
        raise click.UsageError("--probe and --json are about one study: name one")
    for study in studies:
        _check(study, probing, json_file)


def _check(study: Path, probing: int | None, json_file: str | None) -> None:
    from judgelaw.runs import preview_study
    from judgelaw.study import load_study
    from judgelaw.wire import try_pattern

    loaded = load_study(study)
    seen = preview_study(loaded, cells=probing or 1)
    slow = []
    for place, judge in enumerate(loaded.study.judges):
        tried = try_pattern(judge)
        if tried is not None and tried.refused:
            at = ("criteria",) if judge.criteria else ("judges", place, "parser")
            raise loaded.error(at, tried.words)
        slow += [f"judge {judge.name}: {tried.words}"] if tried else []
    probes: list[Probe] = []
    if probing:
        probes = probe(seen)
    if json_file is not None:
        write_json(summary(seen, probes, slow), json_file)
    if json_file != "-":
        _show(study, seen, probes, slow)
    failed = [each for each in probes if not each.ok]
    if failed:
        raise click.exceptions.Exit(max(each.exit_code for each in failed))


def summary(seen: "Preview", probes: "list[Probe]", slow: list[str]) -> dict[str, Any]:
    """Return what the command shows, as plain data; `slow` warns of slow patterns."""
    run = seen.run
    return {
        "schema": "judgelaw.check/1",
        "name": run.study.name,
        "items": len(run.items),
        "strata": dict(Counter(item.stratum or "" for item in run.items.values())),
        "prompts": list(run.templates),
        "orders": run.study.order_weights if run.study.task != "pointwise" else {},
        "judges": {name: judge.fingerprint for name, judge in run.judges.items()},
        "blocks": [dict(zip(_COLUMNS, row, strict=True)) for row in _rows(seen)],
        "calls": run.count,
        "input_tokens": seen.input_tokens,
        "notes": [*notes(seen), *slow],
        "requests": {call.judge: body.decode() for call, body in reversed(seen.examples)},
        "probes": [asdict(each) for each in probes],
        "unreadable": unreadable(probes),
    }


def unreadable(probes: "list[Probe]") -> dict[str, list[dict[str, Any]]]:
    """Count what no parser could read, by judge, the most frequent forms first."""
    forms: dict[str, Counter[str]] = {}
    for each in probes:
        if each.ok and each.why is not None:
            forms.setdefault(each.judge, Counter())[beginning(each.said)[:_FORM]] += 1
    return {
        judge: [{"form": form, "count": count} for form, count in found.most_common(_FORMS)]
        for judge, found in forms.items()
    }


_FORM, _FORMS = 120, 5
_COLUMNS = ("layer", "role", "judge", "items", "prompts", "orders", "repeats", "calls")


def _rows(seen: "Preview") -> list[tuple[Any, ...]]:
    return [
        (
            block.layer.name,
            block.layer.role,
            block.judge.name,
            len(block.items),
            len(block.prompts),
            len(block.orders),
            len(block.repeats),
            block.count,
        )
        for block in seen.planned
    ]


def notes(seen: "Preview") -> list[str]:
    """Return what is allowed and worth knowing before the first call."""
    from judgelaw.study import field_notes, probe_notes

    found = []
    for layer in seen.run.study.streams:
        if layer.role == "probe":
            continue
        depth = layer.repeats or 0
        if depth == 1:
            found.append(
                f"layer {layer.name}: one repeat cannot tell dice from prompts; take 2 or more"
            )
        elif depth < _FEWEST_FOR_ERRORS:
            found.append(
                f"layer {layer.name}: call standard errors need {_FEWEST_FOR_ERRORS} repeats, "
                f"it has {depth}"
            )
    found += field_notes(seen.run.blueprint)
    found += probe_notes(seen.run.blueprint)
    found += _depths(seen)
    if (kind := seen.run.study.schedule) != "random":
        found.append(f"schedule {kind}: repeats run close together, so drift is hard to see")
    for judge in seen.run.judges.values():
        variable = judge.api_key_variable
        if variable is not None and not os.environ.get(variable):
            found.append(f"judge {judge.name}: the environment variable {variable} is not set")
    return found


def _depths(seen: "Preview") -> list[str]:
    """Say what decides how deep the main layer goes, where no number does."""
    stop, record = seen.run.study.stop, seen.run.record
    if stop is not None:
        looks = ", ".join(str(depth) for depth in stop.looks)
        text = f"stop: these calls go to {stop.looks[0]} repeats; every judge is looked at after "
        return [f"{text}{looks} repeats, and stops for itself"]
    return [f"repeats: {record.repeats_reason}"] if record.repeats_reason else []


def beginning(said: str) -> str:
    """Return the beginning of a judge's words in one line."""
    text = said[:_SHOWN].replace("\n", "\\n").replace("\t", "\\t")
    cut = f"... ({len(said)} characters)" if len(said) > _SHOWN else ""
    return (text or "(nothing)") + cut


def _show(study: Path, seen: "Preview", probes: "list[Probe]", slow: list[str]) -> None:
    facts = summary(seen, probes, slow)
    strata = ", ".join(f"{name or '(none)'} {count}" for name, count in facts["strata"].items())
    orders = ", ".join(f"{name} {weight:g}" for name, weight in facts["orders"].items())
    echo(f"{study}: no problem found")
    echo(f"items    {facts['items']:,} ({strata})")
    echo(f"prompts  {len(facts['prompts'])} ({', '.join(facts['prompts'])})")
    echo(f"orders   {orders or 'none (single answers)'}\n")
    rows = [[str(value) for value in row[:-1]] + [f"{row[-1]:,}"] for row in _rows(seen)]
    show_table(_COLUMNS, rows, title="")
    echo(f"\n{facts['calls']:,} calls, about {facts['input_tokens']:,} tokens in")
    first = {call.judge: (call, body) for call, body in reversed(seen.examples)}
    for call, body in reversed(first.values()):
        echo(f"\nfirst request of {call.judge} ({call.layer}, {call.item}, {call.order}):")
        echo(body.decode())
    for each in probes:
        word = f"{each.verdict} in {each.seconds:.1f} s" if each.ok else "FAILED"
        echo(f"\nprobe {each.judge}: {word}: {beginning(each.said)}")
        if each.why is not None:
            echo(f"  {each.why}")
        if each.probabilities is not None:
            echo(f"  token probabilities: {each.probabilities['words']}")
    for judge, forms in facts["unreadable"].items():
        count = sum(form["count"] for form in forms)
        asked = sum(each.judge == judge for each in probes)
        listed = ", ".join(f"{form['form']!r} ({form['count']})" for form in forms)
        echo(f"\n{judge}: {count} of {asked} replies could not be read, most often {listed}")
    for note in facts["notes"]:
        echo(f"note: {note}", err=True)
