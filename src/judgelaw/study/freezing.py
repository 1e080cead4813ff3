"""Freezing and extending a run: every call is written down before it is asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date as calendar_date
from pathlib import Path

from judgelaw.errors import InputError, IntegrityError, StudyChangedError, StudyError
from judgelaw.steps import Progress, unseen
from judgelaw.study.blueprint import Block, Blueprint, blocks, survey
from judgelaw.study.items import to_jsonl
from judgelaw.study.loading import LoadedStudy
from judgelaw.study.manifest import (
    CHANGED,
    ITEMS,
    STUDY,
    FrozenRun,
    changed_jsonl,
    open_run,
)
from judgelaw.study.models import Generator, Study
from judgelaw.study.prompts import default_block, fields_of, generate
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
from judgelaw.study.run_files import exclusive, recover, scratch, staged
from judgelaw.study.schedule import (
    CAPACITY,
    counts,
    namespaces,
    write_calls,
    write_prompts,
)
from judgelaw.wire import (
    JsonParser,
    JudgeSpec,
    RegexParser,
    parser_name,
    sha256_hex,
)
from judgelaw.words import probed_by


def extend(
    run: Path | str,
    repeats: int | None = None,
    *,
    layer: str | None = None,
    prompts: int | None = None,
    progress: Progress = unseen,
) -> FrozenRun:
    """Add calls to a frozen run; ids, seeds and positions of existing calls do not change.

    Args:
        run: the run folder.
        repeats: raise every layer below this depth to it.
        layer: raise this layer only.
        prompts: raise the number of a generator's prompts; a census has a fixed set.
        progress: opens what shows how far it is.
    """
    run = open_run(run).path
    with exclusive(run):
        recover(run)
        frozen = open_run(run)
        if dates := frozen.record.dates:
            raise InputError(
                f"{run} is asked again on later dates, {dates[-1]} was the last, and all its waves "
                "have one depth; start another run with --out for more repeats or prompts"
            )
        study = _deeper(frozen, repeats, layer, prompts)
        target = _extended(frozen, study)
        added = tuple(_additions(frozen.blueprint, target))
        _write(frozen, target, added, progress)
    return open_run(run)


def _deeper(
    frozen: FrozenRun, repeats: int | None, layer: str | None, prompts: int | None
) -> Study:
    study = frozen.study
    reached: dict[str, int] = study.depth
    wanted = dict(reached)
    if layer is not None and probed_by(layer):
        raise InputError(f"layer {layer!r}, probes are as deep as their layer; extend that one")
    if layer is not None and layer not in reached:
        raise InputError(f"layer {layer!r}, must be one of {', '.join(reached)}; choose one")
    if repeats is not None and repeats > CAPACITY:
        raise InputError(f"{repeats} repeats, seeds reach {CAPACITY}; ask for fewer")
    for name, now in reached.items():
        if repeats is not None and layer in (None, name):
            wanted[name] = max(now, repeats)
    for stream in study.streams:
        source = stream.reuse.layer if stream.reuse else stream.name
        if wanted[stream.name] > wanted[source]:
            raise InputError(
                f"layer {stream.name!r} reuses calls of {source!r}, which has {wanted[source]} "
                f"repeats, not {wanted[stream.name]}; extend {source!r} first"
            )
    if prompts is not None:
        _check_prompts(study, prompts)
    grows = wanted != reached or (
        isinstance(study.prompts, Generator) and (prompts or 0) > study.prompts.count
    )
    if not grows:
        listed = ", ".join(f"{name} has {now} repeats" for name, now in reached.items())
        raise InputError(f"nothing to add: {listed}; ask for more")
    return study.deepened(wanted, prompts)


def _check_prompts(study: Study, prompts: int) -> None:
    if not isinstance(study.prompts, Generator):
        raise InputError(
            "prompts: adding prompts to a census changes what is estimated; freeze a new run, or "
            "declare a generator"
        )
    if prompts < study.prompts.count:
        raise InputError(
            f"prompts {prompts}: the run holds {study.prompts.count} and calls are never taken "
            "away; ask for more"
        )


def _extended(frozen: FrozenRun, study: Study) -> Blueprint:
    blueprint = replace(frozen.blueprint, study=study)
    if not isinstance(study.prompts, Generator):
        return blueprint
    block = study.prompts.block or default_block(study)
    templates = generate(study.prompts, study.seed, block, fields_of(study))
    return replace(blueprint, templates=templates)


def _additions(old: Blueprint, new: Blueprint) -> Iterator[Block]:
    """Yield what the new design has and the old has not: ranks of old prompts, new prompts."""
    for before, after in zip(blocks(old), blocks(new), strict=True):
        known = len(before.prompts)
        ranks = range(before.repeats.stop, after.repeats.stop)
        if ranks:
            yield replace(
                after,
                prompts=after.prompts[:known],
                templates=after.templates[:known],
                repeats=ranks,
            )
        if len(after.prompts) > known:
            yield replace(after, prompts=after.prompts[known:], templates=after.templates[known:])


def _write(
    frozen: FrozenRun,
    target: Blueprint,
    added: tuple[Block, ...],
    progress: Progress,
    *,
    kind: str = "extend",
    date: str | None = None,
) -> None:
    record, calls = frozen.record, sum(block.count for block in added)
    if frozen.count + calls > CAPACITY:
        raise InputError(f"{frozen.count + calls} calls, seeds reach {CAPACITY}; ask for fewer")
    session = Session(
        kind=kind,
        calls=calls,
        depth=depth(target.study),
        seeds=namespaces(added, frozen.count),
        date=date,
    )
    waves = (*record.dates, date) if date is not None else (None,)
    planned = tuple(block for wave in waves for block in blocks(target, wave))
    extended = replace(
        record,
        study=target.study.model_dump(mode="json", by_alias=True),
        prompts={template.id: template.sha256 for template in target.templates},
        counts=counts(planned, target),
        sessions=(*record.sessions, session),
    )
    with scratch(frozen.path) as spare, staged(frozen.path) as stage:
        (stage / "inputs").mkdir()
        write_prompts(target, stage)
        write_calls(
            added,
            target,
            frozen.path,
            stage,
            spare,
            first=frozen.count,
            session=len(record.sessions),
            progress=progress,
        )
        (stage / RECORD).write_bytes(extended.to_json())


def freeze(
    loaded: LoadedStudy, run: Path | str, *, date: str | None = None, progress: Progress = unseen
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
        progress: opens what shows how far it is.
    """
    run = Path(run)
    blueprint = survey(loaded)
    if date is not None:
        check_date(date)
    with exclusive(run):
        recover(run)
        if (run / RECORD).exists():
            _resume(loaded, blueprint, run)
            if date is not None:
                _add_wave(open_run(run), date, progress)
        elif (run / "ledger.sqlite").exists():
            raise IntegrityError(
                f"{run}: a ledger without a manifest; restore {RECORD} or use another folder"
            )
        else:
            _freeze_new(loaded, blueprint, run, date, progress)
    return open_run(run)


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
    _write(
        frozen, frozen.blueprint, blocks(frozen.blueprint, date), progress, kind="wave", date=date
    )


def _freeze_new(
    loaded: LoadedStudy, blueprint: Blueprint, run: Path, date: str | None, progress: Progress
) -> None:
    planned = blocks(blueprint, date)
    record = record_of(loaded, blueprint, planned)
    with scratch(run) as spare, staged(run) as stage:
        (stage / "inputs").mkdir()
        (stage / STUDY).write_text(loaded.source, encoding="utf-8", newline="")
        (stage / ITEMS).write_text(to_jsonl(blueprint.items), encoding="utf-8", newline="")
        if blueprint.study.probes:
            text = changed_jsonl(blueprint.changed)
            (stage / CHANGED).write_text(text, encoding="utf-8", newline="")
        write_prompts(blueprint, stage)
        write_calls(planned, blueprint, run, stage, spare, progress=progress)
        (stage / RECORD).write_bytes(record.to_json())


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
    )


def _resume(loaded: LoadedStudy, blueprint: Blueprint, run: Path) -> None:
    """Accept the same study, record an amended one, refuse any other."""
    frozen = open_run(run)
    blueprint = replace(blueprint, study=_read_as_frozen(blueprint.study, frozen.record))
    found = [*differences(identity(frozen.blueprint), identity(blueprint))]
    known = [session.depth for session in frozen.record.sessions]
    wanted = depth(blueprint.study)
    if wanted not in known:
        found += differences(known[-1], wanted)
    if found:
        raise StudyChangedError(_refusal(run, loaded, blueprint, found))
    changed = [*differences(free(frozen.study), free(blueprint.study))]
    if changed:
        _amend(loaded, blueprint, frozen, changed)


def adopt(frozen: FrozenRun, readers: Mapping[str, JudgeSpec]) -> FrozenRun:
    """Make other parsers the run's own: the calls table and the analysis take their verdicts.

    The judges stay as they were frozen, and the verdicts of their parsers stay in the ledger.

    Args:
        frozen: the run.
        readers: judges with the parser and the terminal rule to read by, by name.
    """
    record, rules = frozen.record, {"parser", "truncated"}
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


def _refusal(run: Path, loaded: LoadedStudy, blueprint: Blueprint, found: list[str]) -> str:
    lines = [f"{run} was frozen from another study than {loaded.path}:"]
    lines += [f"  {line}" for line in found]
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
