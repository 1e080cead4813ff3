"""Panels: judges of one source or of several, matched by item, and what they are worth together."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from judgelaw.errors import InputError
from judgelaw.option_types import checked
from judgelaw.runs.decisions import call_prices
from judgelaw.runs.reading_options import SEED, Reading, names_of
from judgelaw.runs.several_sources import compared
from judgelaw.runs.source import Source, read_source

if TYPE_CHECKING:
    from judgelaw.analysis import PanelAnswer
    from judgelaw.decide import Ties


@checked
def panel(
    *xs: Any,
    size: int | Iterable[int] | None = None,
    of: str | Iterable[str] | Iterable[Iterable[str]] | None = None,
    ties: Literal["random", "tie", "first"] = "random",
    seed: Annotated[int, SEED] = 0,
    **reading: Unpack[Reading],
) -> "PanelAnswer":
    """Say whether a panel of judges is worth its calls, and which: combine, keep one, or ask one.

    Args:
        xs: each as for `analyze`, matched by item; one alone may hold several judges.
        size: how many judges vote, 3 or 5 or both; both by default.
        of: the judges among whom panels are formed, `["a", "b", "c"]`, or several such lists; by
            default all. Of more than five judges those of three neighbours as listed are tried.
        ties: who wins a tied vote: one of the tied verdicts at random, the verdict `tie`, or the
            one among them that the judge listed first gave.
        seed: of the random weights of items.
        reading: which calls, and how to read them.

    >>> import numpy as np, judgelaw as jl
    >>> rng = np.random.default_rng(1)
    >>> laws = ([0.9, 0.1, 0, 0], [0.8, 0.2, 0, 0], [0.85, 0.15, 0, 0])
    >>> judges = {
    ...     name: jl.VerdictTensor.from_counts(
    ...         rng.multinomial(3, law, size=(40, 1, 1)), gold=["candidate_1"] * 40
    ...     )
    ...     for name, law in zip("abc", laws)
    ... }
    >>> jl.panel(judges).panel.best.judge
    'a'
    """
    if len(xs) == 1 and isinstance(xs[0], list | tuple) and _are_places(xs[0]):
        xs = tuple(xs[0])
    if not xs:
        raise InputError("no judges: give a run, a table or tensors by judge")
    judges = names_of(reading.get("judge"))
    every: Reading = {**reading, "judge": None}
    read = [read_source(x, every) for x in xs]
    names = [fspath(x) if isinstance(x, str | PathLike) else f"{i + 1}" for i, x in enumerate(xs)]
    return panel_of_sources(
        names, read, judges=judges, size=sizes_of(size), of=groups_of(of), ties=ties, seed=seed
    )


def _are_places(xs: Sequence[Any]) -> bool:
    return bool(xs) and all(isinstance(x, str | PathLike) for x in xs)


def sizes_of(size: int | Iterable[int] | None) -> tuple[int, ...] | None:
    """Return sizes of panels, however they were written."""
    if size is None:
        return None
    found = (size,) if isinstance(size, int) else tuple(size)
    if not found or not all(type(m) is int for m in found):
        raise InputError(f"size = {size!r}: how many judges vote, 3 or 5, or (3, 5)")
    return found


def groups_of(
    of: str | Iterable[str] | Iterable[Iterable[str]] | None,
) -> tuple[tuple[str, ...], ...]:
    """Return lists of judges among whom panels are formed, however they were written."""
    if of is None:
        return ()
    given: list[Any] = [of] if isinstance(of, str) else list(of)
    if isinstance(of, str) or all(isinstance(one, str) for one in given):
        names = (
            [name.strip() for one in given for name in one.split(",")]
            if isinstance(of, str)
            else given
        )
        return (tuple(names),)
    groups = tuple(tuple(one) if not isinstance(one, str) else (one,) for one in given)
    if not all(isinstance(name, str) for group in groups for name in group):
        raise InputError(f"of = {of!r}: names of judges, ['a', 'b', 'c'], or lists of such names")
    return groups


def panel_of_sources(
    names: Sequence[str],
    read: Sequence[Source],
    *,
    judges: Sequence[str] = (),
    size: Sequence[int] | None = None,
    of: Sequence[Sequence[str]] = (),
    ties: "Ties" = "random",
    seed: int = 0,
) -> "PanelAnswer":
    """Return what the judges of several sources are worth together."""
    from judgelaw.analysis import panel_of

    chosen = compared(names, read, judges=judges)
    return panel_of(
        chosen.tensors,
        chosen.estimand,
        size=size,
        of=of,
        ties=ties,
        prices=_prices(read),
        seed=seed,
    )


def _prices(read: Sequence[Source]) -> Mapping[str, float]:
    """Return what a call of each judge cost, where runs declare it."""
    found: dict[str, float] = {}
    for calls in read:
        if calls.folder is not None:
            found |= call_prices(calls.folder)
    return found
