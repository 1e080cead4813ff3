"""Freezing and extending a run, and a preview: every call is written down before it is asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from judgelaw.errors import InputError, IntegrityError, StudyChangedError, StudyError
from judgelaw.steps import Progress, unseen
from judgelaw.study.blueprint import Block, Blueprint, blocks, survey
from judgelaw.study.items import to_jsonl
from judgelaw.study.loading import LoadedStudy
from judgelaw.study.manifest import ITEMS, STUDY, FrozenRun, PlannedCall, open_run
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
from judgelaw.study.requests import call_id, payload
from judgelaw.study.run_files import exclusive, recover, scratch, staged
from judgelaw.study.schedule import (
    CAPACITY,
    counts,
    distinct_seeds,
    namespaces,
    write_calls,
    write_prompts,
)
from judgelaw.wire import request, sha256_hex


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
    block = study.prompts.block or default_block(study.task)
    templates = generate(study.prompts, study.seed, block, fields_of(study.task))
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
    frozen: FrozenRun, target: Blueprint, added: tuple[Block, ...], progress: Progress
) -> None:
    record, calls = frozen.record, sum(block.count for block in added)
    if frozen.count + calls > CAPACITY:
        raise InputError(f"{frozen.count + calls} calls, seeds reach {CAPACITY}; ask for fewer")
    session = Session(
        kind="extend",
        calls=calls,
        depth=depth(target.study),
        seeds=namespaces(added, frozen.count),
    )
    extended = replace(
        record,
        study=target.study.model_dump(mode="json", by_alias=True),
        prompts={template.id: template.sha256 for template in target.templates},
        counts=counts(blocks(target), target),
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


def freeze(loaded: LoadedStudy, run: Path | str, *, progress: Progress = unseen) -> FrozenRun:
    """Write the manifest of a study into a run folder, or find that it is already there.

    The same study again changes nothing. A study that differs in what is frozen is refused with
    the differences; one that differs in transport, budget, gate or analysis, or in the address,
    key or price of a judge, is recorded as an amendment.

    Args:
        loaded: the study.
        run: the run folder; it is made where it is missing.
        progress: opens what shows how far it is.
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
            _freeze_new(loaded, blueprint, run, progress)
    return open_run(run)


def _freeze_new(loaded: LoadedStudy, blueprint: Blueprint, run: Path, progress: Progress) -> None:
    planned = blocks(blueprint)
    record = record_of(loaded, blueprint, planned)
    with scratch(run) as spare, staged(run) as stage:
        (stage / "inputs").mkdir()
        (stage / STUDY).write_text(loaded.source, encoding="utf-8", newline="")
        (stage / ITEMS).write_text(to_jsonl(blueprint.items), encoding="utf-8", newline="")
        write_prompts(blueprint, stage)
        write_calls(planned, blueprint, run, stage, spare, progress=progress)
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


CHARACTERS_A_TOKEN = 4
"""A rule of thumb for English text, good enough to see a budget coming."""

_LOOKED_AT = 25


@dataclass(frozen=True, kw_only=True)
class Preview:
    """A study as it would be frozen.

    Attributes:
        run: what freezing would give; its folder holds nothing.
        planned: the blocks of calls.
        examples: the first call of every judge, with its request.
        input_tokens: about how many tokens all requests hold, from a few items of every block.
    """

    run: FrozenRun
    planned: tuple[Block, ...]
    examples: tuple[tuple[PlannedCall, bytes], ...]
    input_tokens: int


def preview(loaded: LoadedStudy) -> Preview:
    """Read everything that a study names and render one request of every judge."""
    blueprint = survey(loaded)
    planned = blocks(blueprint)
    record = record_of(loaded, blueprint, planned)
    run = FrozenRun(
        path=loaded.folder,
        study=blueprint.study,
        items={item.id: item for item in blueprint.items},
        templates={template.id: template for template in blueprint.templates},
        judges={judge.name: judge for judge in blueprint.study.judges},
        count=record.calls,
        record=record,
    )
    return Preview(
        run=run,
        planned=planned,
        examples=_examples(planned, blueprint.study.seed),
        input_tokens=sum(_characters(block) for block in planned) // CHARACTERS_A_TOKEN,
    )


def _examples(planned: tuple[Block, ...], seed: int) -> tuple[tuple[PlannedCall, bytes], ...]:
    found: dict[str, tuple[PlannedCall, bytes]] = {}
    first = 0
    for block in planned:
        if block.judge.name not in found:
            found[block.judge.name] = _first_call(
                block, int(distinct_seeds(seed, first, first + 1)[0])
            )
        first += block.count
    return tuple(found.values())


def _first_call(block: Block, seed: int) -> tuple[PlannedCall, bytes]:
    judge, item = block.judge, block.items[0]
    prompt, order = block.prompts[0], block.orders[0]
    text = payload(block.templates[0], item, order)
    body = request(judge, text, seed)
    name = call_id(
        judge, layer=block.layer.name, item=item.id, prompt=prompt, order=order, repeat=0
    )
    call = PlannedCall(
        call_id=name,
        judge=judge.name,
        layer=block.layer.name,
        item=item.id,
        stratum=item.stratum,
        prompt=prompt,
        order=order,
        repeat=0,
        seed=None if judge.seed == "none" else seed,
        position=0,
        request_sha256=sha256_hex(body),
        payload_sha256=sha256_hex(text),
        judge_sha256=judge.fingerprint,
        gold=item.gold,
    )
    return call, body


def _characters(block: Block) -> int:
    """Estimate the characters of all payloads of a block from a few evenly spaced items."""
    step = max(1, len(block.items) // _LOOKED_AT)
    looked_at = block.items[::step]
    total = sum(
        len(payload(template, item, order))
        for item in looked_at
        for template in block.templates
        for order in block.orders
    )
    return total * len(block.repeats) * len(block.items) // len(looked_at)
