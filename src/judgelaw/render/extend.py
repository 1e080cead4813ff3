"""Extending a run: more repeats, or more prompts of a generator; what is there stays."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from judgelaw.design.blueprint import Block, Blueprint, blocks
from judgelaw.design.generator import generate
from judgelaw.design.identity import depth
from judgelaw.design.manifest import FrozenRun, open_run
from judgelaw.design.record import RECORD, Session
from judgelaw.design.seeds import CAPACITY
from judgelaw.design.store import exclusive, recover, scratch, staged
from judgelaw.design.study import Generator, Study
from judgelaw.design.templates import default_block, fields_of
from judgelaw.errors import InputError
from judgelaw.render.writing import (
    Tick,
    counts,
    namespaces,
    silent,
    write_calls,
    write_prompts,
)


def extend(
    run: Path | str,
    repeats: int | None = None,
    *,
    layer: str | None = None,
    prompts: int | None = None,
    tick: Tick = silent,
) -> FrozenRun:
    """Add calls to a frozen run; ids, seeds and positions of existing calls do not change.

    Args:
        run: the run folder.
        repeats: raise every layer below this depth to it.
        layer: raise this layer only.
        prompts: raise the number of a generator's prompts; a census has a fixed set.
        tick: told how many calls were hashed since the last time.
    """
    run = open_run(run).path
    with exclusive(run):
        recover(run)
        frozen = open_run(run)
        study = _deeper(frozen, repeats, layer, prompts)
        target = _extended(frozen, study)
        added = tuple(_additions(frozen.blueprint, target))
        _write(frozen, target, added, tick)
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


def _write(frozen: FrozenRun, target: Blueprint, added: tuple[Block, ...], tick: Tick) -> None:
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
            tick=tick,
        )
        (stage / RECORD).write_bytes(extended.to_json())
