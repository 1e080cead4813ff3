"""Freezing: every logical call is written down, with its hashes, before the first request."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from judgelaw.design.blueprint import Block, Blueprint, blocks, survey
from judgelaw.design.identity import depth, differences, free, identity
from judgelaw.design.items import to_jsonl
from judgelaw.design.loading import LoadedStudy
from judgelaw.design.manifest import (
    ITEMS,
    STUDY,
    FrozenRun,
    open_run,
)
from judgelaw.design.model import sha256_hex
from judgelaw.design.record import RECORD, RunRecord, Session, versions
from judgelaw.design.seeds import CAPACITY
from judgelaw.design.store import exclusive, recover, scratch, staged
from judgelaw.errors import IntegrityError, StudyChangedError, StudyError
from judgelaw.render.writing import (
    Tick,
    counts,
    namespaces,
    silent,
    write_calls,
    write_prompts,
)


def freeze(loaded: LoadedStudy, run: Path | str, *, tick: Tick = silent) -> FrozenRun:
    """Write the manifest of a study into a run folder, or find that it is already there.

    The same study again changes nothing. A study that differs in what is frozen is refused with
    the differences; one that differs in transport, budget, gate or analysis, or in the address,
    key or price of a judge, is recorded as an amendment.

    Args:
        loaded: the study.
        run: the run folder; it is made where it is missing.
        tick: told how many calls were hashed since the last time.
    """
    run = Path(run)
    blueprint = survey(loaded)
    with exclusive(run):
        recover(run)
        if (run / RECORD).exists():
            _resume(loaded, blueprint, run)
        elif (run / "ledger.sqlite").exists():
            raise IntegrityError(
                f"{run}: a ledger without a manifest; restore {RECORD} or use another folder"
            )
        else:
            _freeze_new(loaded, blueprint, run, tick)
    return open_run(run)


def _freeze_new(loaded: LoadedStudy, blueprint: Blueprint, run: Path, tick: Tick) -> None:
    planned = blocks(blueprint)
    record = record_of(loaded, blueprint, planned)
    with scratch(run) as spare, staged(run) as stage:
        (stage / "inputs").mkdir()
        (stage / STUDY).write_text(loaded.source, encoding="utf-8", newline="")
        (stage / ITEMS).write_text(to_jsonl(blueprint.items), encoding="utf-8", newline="")
        write_prompts(blueprint, stage)
        write_calls(planned, blueprint, run, stage, spare, tick=tick)
        (stage / RECORD).write_bytes(record.to_json())


def record_of(loaded: LoadedStudy, blueprint: Blueprint, planned: Sequence[Block]) -> RunRecord:
    """Return what `manifest.json` says of a first freeze."""
    study, calls = blueprint.study, sum(block.count for block in planned)
    if calls > CAPACITY:
        raise StudyError(f"{loaded.path}: {calls} calls, seeds reach {CAPACITY}; plan fewer")
    session = Session(kind="freeze", calls=calls, depth=depth(study), seeds=namespaces(planned, 0))
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
