"""Adding calls to a frozen run: more repeats or prompts by hand, or the next depth after a look."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from judgelaw.errors import InputError
from judgelaw.steps import Progress, unseen
from judgelaw.study.blueprint import Block, Blueprint, blocks
from judgelaw.study.manifest import REWORDINGS, FrozenRun, open_run
from judgelaw.study.models import Study
from judgelaw.study.prompt_models import Generator, Reworded, drawn_count
from judgelaw.study.prompts import default_block, fields_of, generate
from judgelaw.study.record import RECORD, LookRecord, RunRecord, Session, depth
from judgelaw.study.reworded import reworded_prompts
from judgelaw.study.run_files import exclusive, recover, scratch, staged
from judgelaw.study.schedule import CAPACITY, counts, namespaces, write_calls, write_prompts
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

    A run that is as deep as that already stays as it is: so the same command, killed at any
    moment, goes on.

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
        _refuse_chosen(frozen)
        study = _deeper(frozen, repeats, layer, prompts)
        if study is None:
            return frozen
        target = _extended(frozen, study)
        added = tuple(_additions(frozen.blueprint, target))
        write_additions(frozen, target, added, progress)
    return open_run(run)


def record_looks(
    run: Path | str, looks: Sequence[LookRecord], *, progress: Progress = unseen
) -> FrozenRun:
    """Write down looks that were taken and, with them, the calls of the judges that go on.

    Both become durable at once: a run killed before has to look again, at the same calls; a run
    killed after goes on where the look sent it. A look that is there is not taken again.
    """
    run = Path(run)
    with exclusive(run):
        recover(run)
        frozen = open_run(run)
        waiting = frozen.undecided
        taken = tuple(look for look in looks if waiting.get(look.judge) == look.depth)
        record = replace(frozen.record, looks=(*frozen.record.looks, *taken))
        target = replace(frozen.blueprint, reached=replace(frozen, record=record).reached)
        added = tuple(_additions(frozen.blueprint, target))
        if added:
            write_additions(frozen, target, added, progress, kind="look", record=record)
        elif taken:
            with staged(frozen.path) as stage:
                (stage / RECORD).write_bytes(record.to_json())
    return open_run(run)


def _refuse_chosen(frozen: FrozenRun) -> None:
    """Refuse repeats by hand where looks, or an earlier run, say how many there are."""
    if frozen.study.stop is not None:
        raise InputError(
            f"{frozen.path} stops by its own looks, at {list(frozen.study.stop.looks)} repeats: "
            "calls added by hand would come after looking, and the error rates would no longer "
            "hold; start another run with --out and more looks"
        )
    if frozen.record.repeats:
        raise InputError(
            f"{frozen.path} has repeats by item, chosen before its first call; start another run "
            "with --out and a larger mean"
        )


def _deeper(
    frozen: FrozenRun, repeats: int | None, layer: str | None, prompts: int | None
) -> Study | None:
    """Return the study at the depth asked for; None where the run has just that depth."""
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
    grown = drawn_count(study.prompts)
    if wanted != reached or (prompts or 0) > (grown or 0):
        return study.deepened(wanted, prompts)
    there = {None, *(now for name, now in reached.items() if layer in (None, name))}
    _refuse_less(reached, same=repeats in there and prompts in (None, grown))
    return None


def _refuse_less(reached: Mapping[str, int], *, same: bool) -> None:
    """Accept the depth that a run has; refuse a lower one, which somebody took for more."""
    if same:
        return
    listed = ", ".join(f"{name} has {now} repeats" for name, now in reached.items())
    raise InputError(f"nothing to add: {listed}; ask for more")


def _check_prompts(study: Study, prompts: int) -> None:
    count = drawn_count(study.prompts)
    if count is None:
        raise InputError(
            "prompts: adding prompts to a census changes what is estimated; freeze a new run, or "
            "declare a generator"
        )
    if prompts < count:
        raise InputError(
            f"prompts {prompts}: the run holds {count} and calls are never taken away; ask for more"
        )


def _extended(frozen: FrozenRun, study: Study) -> Blueprint:
    blueprint = replace(frozen.blueprint, study=study)
    if isinstance(study.prompts, Reworded) and drawn_count(study.prompts) is not None:
        return _reworded(frozen, blueprint)
    if not isinstance(study.prompts, Generator):
        return blueprint
    block = study.prompts.block or default_block(study)
    others = dict.fromkeys(name for item in blueprint.items for name, _ in item.fields)
    templates = generate(study.prompts, study.seed, block, fields_of(study, others))
    return replace(blueprint, templates=templates)


def _reworded(frozen: FrozenRun, blueprint: Blueprint) -> Blueprint:
    """Return the blueprint with as many rewordings; those that are there stay what they are."""
    found = reworded_prompts(blueprint.study, frozen.path)
    for old, new in zip(frozen.templates.values(), found.templates, strict=False):
        if (old.id, old.sha256) != (new.id, new.sha256):
            raise InputError(
                f"{frozen.path}: its rewording {old.id} is {new.id} with another text among the "
                "draws now (drawn anew, or struck since); restore the draws, or start another run "
                "with --out"
            )
    return replace(blueprint, templates=found.templates, rewordings=found)


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


def write_additions(
    frozen: FrozenRun,
    target: Blueprint,
    added: tuple[Block, ...],
    progress: Progress,
    *,
    kind: str = "extend",
    date: str | None = None,
    record: RunRecord | None = None,
) -> None:
    """Write blocks of calls behind those that are there, and the record that tells of them.

    Manifest and record change together or not at all; `record` is the one to go on from.
    """
    if frozen.shard is not None:
        raise InputError(
            f"{frozen.path} is shard {frozen.shard} of a run: join the shards first (`judgelaw "
            "merge RUN... --out RUN`), then add calls to what that makes"
        )
    record, calls = record or frozen.record, sum(block.count for block in added)
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
        if target.rewordings is not None:
            text = target.rewordings.to_text()
            (stage / REWORDINGS).write_text(text, encoding="utf-8", newline="")
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
