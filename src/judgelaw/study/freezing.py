"""Freezing a run: every call is written down before it is asked."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date as calendar_date
from pathlib import Path

from judgelaw.errors import InputError, IntegrityError, StudyChangedError, StudyError
from judgelaw.steps import Progress, unseen
from judgelaw.study.blueprint import Block, Blueprint, blocks, survey
from judgelaw.study.extending import write_additions
from judgelaw.study.items import to_jsonl
from judgelaw.study.loading import LoadedStudy
from judgelaw.study.manifest import (
    CHANGED,
    ITEMS,
    MANIFEST,
    REWORDINGS,
    STUDY,
    FrozenRun,
    changed_jsonl,
    open_run,
)
from judgelaw.study.models import Study
from judgelaw.study.record import (
    RECORD,
    RunRecord,
    Session,
    depth,
    differences,
    free,
    identity,
    versions,
)
from judgelaw.study.run_files import SUMS, exclusive, read_sums, recover, scratch, staged
from judgelaw.study.schedule import (
    CAPACITY,
    counts,
    namespaces,
    write_calls,
    write_prompts,
)
from judgelaw.study.shards import Shard, ShardRecord
from judgelaw.wire import (
    JsonParser,
    JudgeSpec,
    RegexParser,
    parser_name,
    sha256_hex,
)

Choose = Callable[[Blueprint], tuple[Mapping[str, Mapping[str, int]], str]]
"""From a study to repeats by judge and item, with the reason in a sentence."""

_WRITTEN = ("ledger.sqlite", "calls.parquet", MANIFEST)
"""What another run in the same folder would write over."""


def freeze(
    loaded: LoadedStudy,
    run: Path | str,
    *,
    date: str | None = None,
    choose: Choose | None = None,
    shard: Shard | None = None,
    progress: Progress = unseen,
) -> FrozenRun:
    """Write the manifest of a study into a run folder, or find that it is already there.

    The same study again changes nothing. A study that differs in what is frozen is refused with
    the differences; one that differs in transport, budget, gate or analysis, or in the address,
    key or price of a judge, is recorded as an amendment.

    Args:
        loaded: the study.
        run: the run folder; it is made where it is missing.
        date: ask everything as a wave of this date, YYYY-MM-DD; one that is there is not added
            again.
        choose: how often each item is asked, where an earlier run says so; asked before the first
            call, and never again.
        shard: the slice of the manifest that is asked here; all of it is frozen all the same.
        progress: opens what shows how far it is.
    """
    run = Path(run)
    blueprint = survey(loaded)
    if date is not None:
        check_date(date)
        _refuse_waves(loaded)
    if shard is not None:
        _refuse_shards(loaded, blueprint, shard)
    with exclusive(run):
        recover(run)
        if (run / RECORD).exists():
            _refuse_other_shard(open_run(run), shard)
            if date is not None:
                _refuse_moved(open_run(run), blueprint.study, date, loaded.path)
            _resume(loaded, blueprint, run)
            if date is not None:
                _add_wave(open_run(run), date, progress)
        elif left := _left_of_a_run(run):
            raise IntegrityError(
                f"{run}: {', '.join(left)} without {RECORD}: the folder holds what is left of a "
                "run; restore it from a copy, or use another folder with --out"
            )
        else:
            blueprint = with_repeats(loaded, blueprint, choose)
            _freeze_new(loaded, blueprint, run, date, shard, progress)
    return open_run(run)


def _left_of_a_run(run: Path) -> list[str]:
    """Return the files of a run that lie in a folder without a record."""
    found = [name for name in _WRITTEN if (run / name).exists()]
    return found or ([SUMS] if RECORD in read_sums(run) else [])


def _refuse_waves(loaded: LoadedStudy) -> None:
    """Refuse dates where looks decide: waves that stop at different depths are no series."""
    if loaded.study.stop is not None:
        text = "is about a study that is asked once; leave it out, or leave --date out"
        raise loaded.error(("stop",), text)


def _refuse_shards(loaded: LoadedStudy, blueprint: Blueprint, shard: Shard) -> None:
    """Refuse slices of what is decided on all calls together, and slices without an item."""
    if loaded.study.stop is not None:
        text = (
            "looks are taken at the calls of all items together, and a shard has its own alone; "
            "leave stop out, or share the calls through PostgreSQL (--ledger)"
        )
        raise loaded.error(("stop",), text)
    if shard.of > len(blueprint.items):
        raise InputError(
            f"--shard {shard}: the study has {len(blueprint.items)} items, and a shard holds whole "
            f"items; plan at most {len(blueprint.items)} shards"
        )


def _refuse_other_shard(frozen: FrozenRun, shard: Shard | None) -> None:
    """Refuse a folder that asks another slice: its calls would be asked twice."""
    held = frozen.shard
    if (held and (held.number, held.of)) == (shard and (shard.number, shard.of)):
        return
    if held is None:
        raise InputError(
            f"{frozen.path} holds a whole run, and shard {shard} is a slice of one; give the shard "
            "a folder of its own with --out"
        )
    raise InputError(
        f"{frozen.path} is shard {held}: go on with --shard {held}, or join the shards first "
        "(`judgelaw merge RUN... --out RUN`)"
    )


def check_date(date: str) -> None:
    """Refuse what is no date."""
    try:
        known = calendar_date.fromisoformat(date).isoformat()
    except ValueError:
        known = ""
    if known != date:
        raise InputError(f"--date {date}: no date; write it as YYYY-MM-DD, such as 2026-11-16")


def _add_wave(frozen: FrozenRun, date: str, progress: Progress) -> None:
    """Append the wave of a date, unless it is there: the same calls under names of their own."""
    dates = frozen.record.dates
    if date in dates:
        return
    if not dates:
        raise InputError(
            f"{frozen.path}: its calls have no date, so nobody could tell {date} from them; start "
            "a dated run in another folder, --date from the first wave on and --out"
        )
    if date < dates[-1]:
        raise InputError(
            f"--date {date}: the last wave of {frozen.path} is of {dates[-1]}, and waves go "
            "forward in time; give a later date"
        )
    write_additions(
        frozen, frozen.blueprint, blocks(frozen.blueprint, date), progress, kind="wave", date=date
    )


_ADDRESS = ("base_url", "query")


def _refuse_moved(frozen: FrozenRun, study: Study, date: str, path: Path) -> None:
    """Refuse a new wave that asks somewhere else: it could not be told from a judge that moved."""
    dates = frozen.record.dates
    if not dates or date in dates:
        return
    for judge in study.judges:
        before = frozen.judges.get(judge.name)
        for key in _ADDRESS:
            if before is None or getattr(judge, key) == getattr(before, key):
                continue
            said = f"{key} of judge {judge.name} is not what it was on {dates[-1]}"
            if key == "base_url":
                said = f"{said} ({judge.base_url}, was {before.base_url})"
            raise StudyChangedError(
                f"--date {date}: {said}: what answers there may be another system, and a change "
                "between the two dates would have two causes. Restore it, or start another run "
                "with --out; if it is the same system, record the move in the last wave, which "
                f"asks nothing again: judgelaw run {path} --out {frozen.path} --date {dates[-1]}"
            )


def with_repeats(loaded: LoadedStudy, blueprint: Blueprint, choose: Choose | None) -> Blueprint:
    """Return the study with the repeats of every item, where an earlier run says them."""
    if isinstance(blueprint.study.repeats, int):
        return blueprint
    if choose is None:
        text = "repeats by item need the calls of an earlier run; use `judgelaw run`"
        raise loaded.error(("repeats",), text)
    repeats, reason = choose(blueprint)
    return replace(blueprint, repeats=repeats, repeats_reason=reason)


def _freeze_new(  # noqa: PLR0917 - what is frozen, where, and how much of it is asked there
    loaded: LoadedStudy,
    blueprint: Blueprint,
    run: Path,
    date: str | None,
    shard: Shard | None,
    progress: Progress,
) -> None:
    planned = blocks(blueprint, date)
    record = record_of(loaded, blueprint, planned)
    if shard is not None:
        record = replace(record, shard=_shard_record(shard, blueprint, planned))
    with scratch(run) as spare, staged(run) as stage:
        (stage / "inputs").mkdir()
        (stage / STUDY).write_text(loaded.source, encoding="utf-8", newline="")
        (stage / ITEMS).write_text(to_jsonl(blueprint.items), encoding="utf-8", newline="")
        if blueprint.study.probes:
            text = changed_jsonl(blueprint.changed)
            (stage / CHANGED).write_text(text, encoding="utf-8", newline="")
        write_prompts(blueprint, stage)
        if blueprint.rewordings is not None:
            text = blueprint.rewordings.to_text()
            (stage / REWORDINGS).write_text(text, encoding="utf-8", newline="")
        write_calls(planned, blueprint, run, stage, spare, progress=progress)
        (stage / RECORD).write_bytes(record.to_json())


def _shard_record(shard: Shard, blueprint: Blueprint, planned: Sequence[Block]) -> ShardRecord:
    mine = {item.id for item in shard.of_items(blueprint.items)}
    calls = sum(
        len(block.prompts) * len(block.orders) * len(block.repeats)
        for block in planned
        for item in block.items
        if item.id in mine
    )
    return ShardRecord(number=shard.number, of=shard.of, calls=calls)


def record_of(loaded: LoadedStudy, blueprint: Blueprint, planned: Sequence[Block]) -> RunRecord:
    """Return what `manifest.json` says of a first freeze."""
    study, calls = blueprint.study, sum(block.count for block in planned)
    if calls > CAPACITY:
        raise StudyError(f"{loaded.path}: {calls} calls, seeds reach {CAPACITY}; plan fewer")
    session = Session(
        kind="freeze",
        calls=calls,
        depth=depth(study),
        seeds=namespaces(planned, 0),
        date=planned[0].date if planned else None,
    )
    return RunRecord(
        study=study.model_dump(mode="json", by_alias=True),
        source_sha256=sha256_hex(loaded.source),
        beforehand={
            "analysis": study.analysis and study.analysis.model_dump(mode="json"),
            "gate": study.gate and study.gate.model_dump(mode="json"),
        },
        members={name: list(ids) for name, ids in blueprint.members.items()},
        judges={judge.name: judge.fingerprint for judge in study.judges},
        prompts={template.id: template.sha256 for template in blueprint.templates},
        counts=counts(planned, blueprint),
        sessions=(session,),
        amendments=(),
        versions=versions(),
        repeats={judge: dict(by_item) for judge, by_item in blueprint.repeats.items()},
        repeats_reason=blueprint.repeats_reason,
    )


def _resume(loaded: LoadedStudy, blueprint: Blueprint, run: Path) -> None:
    """Accept the same study, record an amended one, refuse any other."""
    frozen = open_run(run)
    blueprint = replace(blueprint, study=_read_as_frozen(blueprint.study, frozen.record))
    if not any(item.fields for item in frozen.blueprint.items):
        blueprint = blueprint.without_fields()
    found = [*differences(identity(frozen.blueprint), identity(blueprint))]
    found += _other_prompts(frozen, blueprint)
    known = [session.depth for session in frozen.record.sessions]
    wanted = depth(blueprint.study)
    if wanted not in known:
        found += differences(known[-1], wanted)
    if found:
        raise StudyChangedError(_refusal(run, loaded, blueprint, found))
    changed = [*differences(free(frozen.study), free(blueprint.study))]
    if changed:
        _amend(loaded, blueprint, frozen, changed)


def _other_prompts(frozen: FrozenRun, blueprint: Blueprint) -> list[str]:
    """Say which rewordings are others than were frozen: a generator alone does not tell."""
    if blueprint.rewordings is None:
        return []
    changed = [
        t.id for t in blueprint.templates if frozen.templates.get(t.id, t).sha256 != t.sha256
    ]
    return [f"prompts.templates: {', '.join(changed)} changed"] if changed else []


def adopt(frozen: FrozenRun, readers: Mapping[str, JudgeSpec]) -> FrozenRun:
    """Make other parsers the run's own: the calls table and the analysis take their verdicts.

    The judges stay as they were frozen, and the verdicts of their parsers stay in the ledger.

    Args:
        frozen: the run.
        readers: judges with the parser and the terminal rule to read by, by name.
    """
    record, rules = frozen.record, {"parser", "truncated", "criteria"}
    adopted = {
        name: spec.model_dump(mode="json", by_alias=True, include=rules)
        for name, spec in readers.items()
    }
    words = [f"judges.{n}: read by {parser_name(spec)}" for n, spec in readers.items()]
    amendment = {"study": None, "changes": words}
    changed = replace(
        record,
        readings={**record.readings, **adopted},
        amendments=(*record.amendments, amendment),
    )
    with exclusive(frozen.path), staged(frozen.path) as stage:
        (stage / RECORD).write_bytes(changed.to_json())
    return open_run(frozen.path)


def note_change(frozen: FrozenRun, words: Sequence[str]) -> FrozenRun:
    """Write down what a run has to say of itself, beside the changes of its study."""
    amendment = {"study": None, "changes": list(words)}
    changed = replace(frozen.record, amendments=(*frozen.record.amendments, amendment))
    with exclusive(frozen.path), staged(frozen.path) as stage:
        (stage / RECORD).write_bytes(changed.to_json())
    return open_run(frozen.path)


def _read_as_frozen(study: Study, record: RunRecord) -> Study:
    """Keep labels to the letter in a run that was frozen before they could be read otherwise."""
    written = {judge["name"]: judge.get("parser") for judge in record.study["judges"]}

    def kept(judge: JudgeSpec) -> JudgeSpec:
        before, parser = written.get(judge.name), judge.parser
        old = isinstance(before, dict) and "strict" not in before
        if not old or not isinstance(parser, RegexParser | JsonParser):
            return judge
        strict = parser.model_copy(update={"strict": True})
        return judge.model_copy(update={"parser": strict})

    return study.model_copy(update={"judges": tuple(kept(judge) for judge in study.judges)})


_STOP_RULE = (
    "fixed before the first call, since looks under two rules would spend the error twice; write "
    "it as it was, or start another run with --out"
)
_SAME_CALLS = (
    "fixed before the first call: repeats chosen by looking at the same calls bias every estimate; "
    "write them as they were, or start another run with --out and another seed"
)
_FIXED = {"stop": ("stop", _STOP_RULE), "repeats_by_item": ("repeats", _SAME_CALLS)}
"""What may not change for a reason that needs saying: the key in the study, and the reason."""


def _refusal(run: Path, loaded: LoadedStudy, blueprint: Blueprint, found: list[str]) -> str:
    lines = [f"{run} was frozen from another study than {loaded.path}:"]
    lines += [f"  {line}" for line in found]
    for changed, (key, rule) in _FIXED.items():
        if any(re.match(rf"{changed}\b", line) for line in found):
            lines.append(f"{loaded.error((key,), rule)}")
    if any(line.startswith("prompts.templates") and "added" in line for line in found):
        lines.append(
            "Adding prompts to a census changes what is estimated, so it needs a run of its own."
        )
    if all(line.startswith(("repeats.", "prompts:")) for line in found):
        lines.append(
            f"To add calls to what is there: judgelaw extend {run} --repeats N"
            + (" --prompts N" if depth(blueprint.study)["prompts"] else "")
        )
    lines.append("Restore the study, or freeze it into another folder with --out.")
    return "\n".join(lines)


def _amend(
    loaded: LoadedStudy, blueprint: Blueprint, frozen: FrozenRun, changed: list[str]
) -> None:
    """Record a change that leaves every call as it is; the depth in force stays."""
    record = frozen.record
    reached = record.sessions[-1].depth
    study = blueprint.study.deepened(reached["repeats"], reached["prompts"])
    number = len(record.amendments) + 1
    name = f"amendments/{number}.yaml"
    with staged(frozen.path) as stage:
        (stage / "amendments").mkdir()
        (stage / name).write_text(loaded.source, encoding="utf-8", newline="")
        amended = replace(
            record,
            study=study.model_dump(mode="json", by_alias=True),
            amendments=(*record.amendments, {"study": name, "changes": changed}),
        )
        (stage / RECORD).write_bytes(amended.to_json())
