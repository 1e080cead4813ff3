"""Repeats by item from an earlier run: read it, make sure that it is another, choose."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from judgelaw.errors import InputError, JudgelawError
from judgelaw.runs.source import Source, read_source
from judgelaw.words import listed

if TYPE_CHECKING:
    from judgelaw.study import Blueprint, Choose, FrozenRun, LoadedStudy, RepeatsFrom


def chooser(loaded: "LoadedStudy", run: Path) -> "Choose | None":
    """Return what chooses the repeats of a study that takes them from an earlier run."""
    chosen = loaded.study.repeats
    return None if isinstance(chosen, int) else partial(_choose, loaded, run, chosen)


def _choose(
    loaded: "LoadedStudy", run: Path, asked: "RepeatsFrom", blueprint: "Blueprint"
) -> tuple[Mapping[str, Mapping[str, int]], str]:
    """Choose the repeats of every judge and item."""
    from judgelaw.decide import choose_repeats

    earlier = _earlier(loaded, run, asked)
    study, tensors = blueprint.study, earlier.main()
    wanted = blueprint.members[study.main.name]
    repeats, reasons = {}, []
    for judge in study.judges_of(study.main):
        tensor = tensors.get(judge.name)
        if tensor is None:
            text = f"{asked.run!r}, has no judge {judge.name!r}; it has {listed(list(tensors))}"
            raise loaded.error(("repeats", "from"), f"{text}; name a run of the same judges")
        known = set(tensor.items)
        if missing := [item for item in wanted if item not in known]:
            text = f"{asked.run!r}, knows nothing of {len(missing)} items ({listed(missing)})"
            raise loaded.error(("repeats", "from"), f"{text}; name a run of the same items")
        try:
            found = choose_repeats(
                tensor.select(items=wanted),
                least=asked.least,
                most=asked.most,
                mean=asked.average,
                component=asked.component,
                estimand=earlier.estimand,
                seed=study.seed,
            )
        except InputError as error:
            raise loaded.error(("repeats", "from"), str(error)) from None
        repeats[judge.name] = found.repeats
        reasons.append(f"{judge.name}: {found.reason}")
    return repeats, "; ".join(reasons)


def _earlier(loaded: "LoadedStudy", run: Path, asked: "RepeatsFrom") -> Source:
    """Read the earlier run, and refuse one whose calls are not independent of those to come."""
    from judgelaw.study import RECORD, open_run

    folder = loaded.folder / asked.run
    where = ("repeats", "from")
    if not (folder / RECORD).is_file():
        text = f"{asked.run!r}, no run folder; name one that `judgelaw run` or `audit` wrote"
        raise loaded.error(where, text)
    if folder.resolve() == run.resolve():
        text = (
            f"{asked.run!r}, is this very run: repeats chosen by looking at the same calls bias "
            "every estimate; name an earlier run, or write repeats: as a number"
        )
        raise loaded.error(where, text)
    before = open_run(folder).study
    sent = [judge.name for judge in loaded.study.judges if judge.seed == "sent"]
    if before.seed == loaded.study.seed and sent:
        text = (
            f"{loaded.study.seed}, is also the seed of {asked.run}, and {listed(sent)} would be "
            "sent the same seeds: the same calls would choose how often they are asked; write "
            "another number"
        )
        raise loaded.error(("seed",), text)
    try:
        return read_source(str(folder))
    except JudgelawError as error:
        raise loaded.error(where, f"{asked.run!r}, cannot be used: {error}") from None


def repeats_note(frozen: "FrozenRun", judge: str) -> tuple[str, ...]:
    """Say where the repeats of a judge's items come from; nothing where they are equal."""
    chosen = frozen.record.repeats.get(judge, {})
    if len(set(chosen.values())) < 2:  # noqa: PLR2004 - they differ
        return ()
    return ("repeats by item were chosen before the first call, from an earlier run",)
