"""The shards of a run, joined into the folder that one process would have written."""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from judgelaw.acquire.acquisition import write_outputs
from judgelaw.errors import IncompleteRunError, InputError, IntegrityError
from judgelaw.ledger import (
    LEDGER_NAME,
    SENT_NAME,
    RunLock,
    SqliteLedger,
    SqliteView,
    Totals,
    join_ledgers,
    refuse_missing,
)
from judgelaw.study import (
    MANIFEST,
    RECORD,
    FrozenRun,
    exclusive,
    file_sha256,
    frozen_identity,
    open_run,
    staged,
)
from judgelaw.words import listed

_NAMED = 5
_INPUTS = ("study.yaml", MANIFEST)
_FOLDERS = ("inputs", "sealed", "amendments")


def merge_shards(runs: Sequence[Path], out: Path) -> Totals:
    """Join shards of one frozen study into a run folder, and write its tables.

    Every attempt of every shard is there, orphans too. Shards with open calls are joined as they
    are: the folder resumes as any run does.

    Args:
        runs: the folders of all shards.
        out: the folder to write; it must not hold a run.

    Raises:
        IncompleteRunError: shards are missing; the message names them.
        InputError: a folder is no shard, is there twice, or is of another study.
        IntegrityError: two shards asked one call, or a folder is damaged.
        RunLockedError: a shard is still being asked.
    """
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is not empty: name a new folder for the run that the shards make")
    shards = _in_sequence([open_run(run) for run in runs])
    first = shards[0]
    for other in shards[1:]:
        _refuse_other(first, other)
    with ExitStack() as stack:
        for shard in shards:
            _settle(shard, stack.enter_context(RunLock(shard.path)))
        with exclusive(out), staged(out) as stage:
            _copy_frozen(first, stage)
            join_ledgers(
                [shard.path / LEDGER_NAME for shard in shards],
                stage / LEDGER_NAME,
                judges=first.judges,
                calls=first.iter_calls(),
                manifest=file_sha256(first.path / MANIFEST),
            )
    merged = open_run(out)
    write_outputs(merged)
    with SqliteView(out / LEDGER_NAME) as view:
        return view.totals()


def _in_sequence(runs: Sequence[FrozenRun]) -> list[FrozenRun]:
    """Return the shards by number; refuse a whole run, a shard given twice, and one that lacks."""
    by_number: dict[int, FrozenRun] = {}
    numbers = set()
    for run in runs:
        if run.shard is None:
            raise InputError(
                f"{run.path} is a whole run, not a shard: `judgelaw audit STUDY --shard 1/8` makes "
                "a shard"
            )
        numbers.add(run.shard.of)
        if (there := by_number.setdefault(run.shard.number, run)) is not run:
            raise InputError(f"{there.path} and {run.path} are both shard {run.shard}: give one")
    if len(numbers) > 1:
        said = listed([f"{run.path} ({run.shard})" for run in runs][:_NAMED])
        raise InputError(f"shards of different divisions do not join: {said}")
    of = numbers.pop()
    if missing := [f"{number}/{of}" for number in range(1, of + 1) if number not in by_number]:
        some = listed(missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
        raise IncompleteRunError(
            f"{len(missing)} of {of} shards missing: {some}; give their folders too, or ask one "
            f"with `judgelaw audit STUDY --shard {missing[0]}`. Nothing was written"
        )
    return [by_number[number] for number in range(1, of + 1)]


def _refuse_other(first: FrozenRun, other: FrozenRun) -> None:
    """Refuse a shard of another study, or of other calls."""
    different = frozen_identity(first.blueprint) != frozen_identity(other.blueprint)
    if different or first.record.judges != other.record.judges:
        raise InputError(
            f"{first.path} and {other.path} were frozen from different studies: shards of one "
            "study join"
        )
    if first.record.readings != other.record.readings:
        raise InputError(
            f"{first.path} and {other.path} are read by different parsers: adopt the same with "
            "`judgelaw reparse` in each, then merge"
        )
    if file_sha256(first.path / MANIFEST) == file_sha256(other.path / MANIFEST):
        return
    # Another version of the library that writes tables may write other bytes.
    for one, two in zip_longest(first.iter_calls(), other.iter_calls()):
        if one != two:
            name = "" if (call := one or two) is None else call.call_id
            raise InputError(
                f"{first.path} and {other.path} plan different calls, {name} first: freeze the "
                "shards with one version of judgelaw"
            )


def _settle(shard: FrozenRun, lock: RunLock) -> None:
    """Let what a killed session left open end as it would when the shard is resumed."""
    refuse_missing(shard.path)
    if not (shard.path / LEDGER_NAME).exists():
        raise IncompleteRunError(
            f"{shard.path}: nothing was asked there yet; `judgelaw audit STUDY --shard "
            f"{shard.shard}` does. Nothing was written"
        )
    if not (shard.path / SENT_NAME).exists():
        return
    with SqliteLedger(shard.path, lock=lock):
        pass
    write_outputs(shard)


def _copy_frozen(shard: FrozenRun, stage: Path) -> None:
    """Copy what was frozen, as a whole run."""
    for name in _INPUTS:
        shutil.copyfile(shard.path / name, stage / name)
    for name in _FOLDERS:
        if (shard.path / name).is_dir():
            shutil.copytree(shard.path / name, stage / name)
    record = replace(shard.record, shard=None)
    (stage / RECORD).write_bytes(record.to_json())
    if file_sha256(stage / MANIFEST) != file_sha256(shard.path / MANIFEST):
        raise IntegrityError(f"{shard.path} changed while it was read; merge again")
