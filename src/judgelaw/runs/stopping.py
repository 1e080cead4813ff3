"""Asking depth by depth: look at what is there, write the look down, go on or stop.

Each judge stops for itself. A look becomes durable together with the calls that it adds, so that
a run killed at any moment goes on as if nothing had happened: before that, the same calls give the
same look again; after it, the look is not taken twice.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from math import isclose
from time import monotonic
from typing import TYPE_CHECKING

from judgelaw.runs.source import as_declared, read_source
from judgelaw.steps import Progress

if TYPE_CHECKING:
    from judgelaw.acquire import Acquisition
    from judgelaw.analysis import Key
    from judgelaw.decide import StopRule
    from judgelaw.study import Blueprint, FrozenRun, LoadedStudy, LookRecord, Stop
    from judgelaw.tensor import VerdictTensor

_CLOSE = 1e-9
"""Looks taken again agree up to rounding."""
_AT_ONCE_S = 0.001
"""A deadline that is over: nothing new is sent."""


def rule_of(stop: "Stop") -> "StopRule":
    """Return the rule that a study declares."""
    from judgelaw.decide import StopRule

    return StopRule(
        component=stop.component, looks=stop.looks, limit=stop.limit, half_width=stop.half_width
    )


def ask_by_looks(
    frozen: "FrozenRun",
    ask: "Callable[[FrozenRun], Acquisition]",
    *,
    tell: "Callable[[FrozenRun], object]",
    bar: Progress,
    say: Callable[[str], None],
) -> "Acquisition":
    """Ask the calls of a run; where its study stops by looks, look and ask on until all stopped.

    Args:
        frozen: the run.
        ask: asks its open calls.
        tell: is told of the last looks, after which nothing more is asked.
        bar: opens what shows how far freezing is.
        say: is told in words what a look found.
    """
    from judgelaw.study import record_looks

    begun = monotonic()
    acquired, frozen = ask(frozen), _present(frozen)
    while acquired.complete and frozen.undecided:
        looks = take_looks(frozen)
        asked, frozen = frozen.count, record_looks(frozen.path, looks, progress=bar)
        for look in looks:
            say(in_words(look))
        if frozen.count == asked:
            tell(frozen)
            break
        acquired, frozen = ask(_within(frozen, monotonic() - begun)), _present(frozen)
    return acquired


def _present(frozen: "FrozenRun") -> "FrozenRun":
    """Return a run as it stands: looks of another folder may have been taken over meanwhile."""
    from judgelaw.study import open_run

    return frozen if frozen.study.stop is None else open_run(frozen.path)


def _within(frozen: "FrozenRun", spent_s: float) -> "FrozenRun":
    """Leave a session that goes on after a look as much of its deadline as is left."""
    budget = frozen.study.budget
    if budget is None or budget.deadline_s is None:
        return frozen
    left = budget.model_copy(update={"deadline_s": max(budget.deadline_s - spent_s, _AT_ONCE_S)})
    return replace(frozen, study=frozen.study.model_copy(update={"budget": left}))


def take_looks(frozen: "FrozenRun") -> "list[LookRecord]":
    """Look at every judge that waits for it, at the depth that it has come to."""
    return _looks(frozen, list(frozen.undecided.items()))


def differing_looks(frozen: "FrozenRun") -> list[str]:
    """Take every look again, and say which came out otherwise than the run says."""
    taken = frozen.record.looks
    again = _looks(frozen, [(look.judge, look.depth) for look in taken])
    return [
        f"{then.judge} at {then.depth} repeats: {then.reason}; taken again: {now.reason}"
        for then, now in zip(taken, again, strict=True)
        if not _same(then, now)
    ]


def _same(then: "LookRecord", now: "LookRecord") -> bool:
    numbers = zip(then.numbers, now.numbers, strict=True)
    near = all(isclose(a, b, rel_tol=_CLOSE, abs_tol=_CLOSE) for a, b in numbers)
    return near and (then.action, then.verdict) == (now.action, now.verdict)


def _looks(frozen: "FrozenRun", asked: list[tuple[str, int]]) -> "list[LookRecord]":
    """Look at judges at depths that they have come to."""
    from judgelaw.decide import look
    from judgelaw.study import LookRecord

    if frozen.study.stop is None or not asked:
        return []
    rule, calls = rule_of(frozen.study.stop), read_source(str(frozen.path))
    tensors, found = calls.main(), []
    for judge, depth in asked:
        seen = asdict(look(rule, tensors[judge], calls.estimand, depth=depth))
        del seen["next_depth"]
        found.append(LookRecord(judge=judge, **seen))
    return found


def in_words(look: "LookRecord") -> str:
    """Say what a look found."""
    then = {"stop": " stops", "exhausted": " ends"}.get(look.action, "")
    return f"{look.judge}{then} after {look.depth} repeats: {look.reason}"


def looked_at(
    tensors: "Mapping[Key, VerdictTensor]", frozen: "FrozenRun"
) -> "Mapping[Key, VerdictTensor]":
    """Tell the calls of judges that were looked at, so that every bound spends what is left."""
    stop = frozen.study.stop
    if stop is None:
        return tensors
    rule, main, last = rule_of(stop), frozen.study.main.name, frozen.last_looks
    return {
        key: replace(
            tensor,
            looks=rule.spends(last[key[1]].depth),
            notes=(*tensor.notes, _note(rule, last[key[1]])),
        )
        if key[0] == main and key[1] in last
        else tensor
        for key, tensor in tensors.items()
    }


def _note(rule: "StopRule", look: "LookRecord") -> str:
    *earlier, last = [str(depth) for depth in rule.looks if depth <= look.depth]
    at = f"{', '.join(earlier)} and {last}" if earlier else last
    text = f"asked depth by depth, looked at with {at} repeats: {look.reason}"
    if rule.limit is None:
        return text
    return f"{text}; bounds and intervals hold over all these looks"


def refuse_out_of_reach(loaded: "LoadedStudy", blueprint: "Blueprint") -> None:
    """Refuse a limit or a width that no look can decide, even if all calls said the same.

    Raises:
        StudyError: with the line, and with what the looks can reach at best.
    """
    import numpy as np

    from judgelaw.decide import best_case
    from judgelaw.tensor import DEFAULT_VERDICTS, VerdictTensor

    study = loaded.study
    if study.stop is None:
        return
    rule = rule_of(study.stop)
    items = len(blueprint.members[study.main.name])
    prompts, orders = len(blueprint.templates), len(study.order_labels)
    empty = np.zeros((items, prompts, orders, len(study.verdicts or DEFAULT_VERDICTS)), dtype=int)
    calls = VerdictTensor.from_counts(empty, verdicts=study.verdicts or DEFAULT_VERDICTS)
    low, high = best_case(rule, as_declared(calls, study))
    design = f"{items} items x {prompts} prompts x {orders} orders at {rule.looks[-1]} repeats"
    if rule.limit is not None and rule.limit <= high:
        text = (
            f"{rule.limit:g}, no look can show it: if all calls of every cell said the same, "
            f"{rule.component} of {design} would be shown to be below {high:.2g} and no less; "
            "raise it, add a deeper look, or take more items"
        )
        raise loaded.error(("stop", "limit"), text)
    if rule.half_width is not None and rule.half_width < (high - low) / 2:
        text = (
            f"{rule.half_width:g}, no look can reach it: if all calls of every cell said the same, "
            f"{rule.component} of {design} would be known to \u00b1{(high - low) / 2:.2g}; raise "
            "it, add a deeper look, or take more items"
        )
        raise loaded.error(("stop", "half_width"), text)


def look_rows(looks: "Iterable[LookRecord]") -> list[list[str]]:
    """Return the looks as rows of a table: judge, repeats, estimate, bounds, levels, outcome."""
    return [
        [
            look.judge,
            str(look.depth),
            f"{look.estimate:.4f}",
            f"{look.lower:.4f} to {look.upper:.4f}",
            f"{look.fail_level:.2%}, {look.pass_level:.2%}",
            look.reason,
        ]
        for look in looks
    ]


def looks_in_words(
    frozen: "FrozenRun",
) -> tuple[str, Sequence[str], Sequence[Sequence[str]]] | None:
    """Return what a report tells of the looks, its columns and rows; None where none was taken."""
    stop, looks = frozen.study.stop, frozen.record.looks
    if stop is None or not looks:
        return None
    wanted = f"is shown to be below or above {stop.limit:g}"
    spent = (
        " Every bound on this page spends the error that earlier looks have left, so that it holds "
        "over all of them."
    )
    if stop.limit is None:
        wanted, spent = f"is known to \u00b1{stop.half_width:g}", ""
    text = (
        f"Every judge was asked depth by depth, and stopped for itself once its {stop.component} "
        f"component {wanted}. The looks were declared before the first call: "
        f"{', '.join(str(depth) for depth in stop.looks)} repeats.{spent}"
    )
    return text, LOOK_COLUMNS, look_rows(looks)


LOOK_COLUMNS = ("judge", "repeats", "estimate", "bounds", "their levels", "what follows")
