"""What can be learnt from imported calls: K, O and R found, what is missing, in words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from judgelaw.importers.values import ImportedCall

ENOUGH = 2
"""Calls that a cell needs: agreement of distinct calls takes two."""

_EXACT = 4
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class JudgeSurvey:
    """What one judge's calls can tell.

    Attributes:
        judge, layer: whose calls they are, and of which stream; None where the log has no layers.
        calls, items: how many there are.
        prompts, orders: the levels found; no order where the log has none.
        repeats: calls of the emptiest and of the fullest cell of the crossed design.
        complete: items with two calls or more in every cell.
        outcomes: calls by verdict.
        unread: calls whose verdict is `invalid`, by reason.
        identified: components that these calls can estimate.
        missing: what cannot be, or less well than it could, and what to do, in sentences.
    """

    judge: str
    layer: str | None
    calls: int
    items: int
    prompts: tuple[str, ...]
    orders: tuple[str, ...]
    repeats: tuple[int, int]
    complete: int
    outcomes: dict[str, int]
    unread: dict[str, int]
    identified: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Say what was found."""
        low, high = self.repeats
        depth = f"{high}" if low == high else f"{low} to {high}"
        prompts = _counted(len(self.prompts), "prompt")
        name = self.judge if self.layer is None else f"{self.judge} ({self.layer})"
        return (
            f"{name}: {_counted(self.items, 'item')} x {prompts} x "
            f"{_counted(max(len(self.orders), 1), 'order')}, {depth} "
            f"repeat{'' if high == 1 else 's'} in each cell, {_counted(self.calls, 'call')}."
        )


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What an import found.

    Attributes:
        judges: one survey for each judge and layer.
        left_out: entries that hold an error and no completion, as `place: error`.
        copies: copied responses that were left out.
        notes: what else a reader should know.
    """

    judges: tuple[JudgeSurvey, ...]
    left_out: tuple[str, ...] = ()
    copies: int = 0
    notes: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Say all of it, line by line."""
        lines = []
        for judge in self.judges:
            found = ", ".join(judge.identified) or "nothing"
            lines += [judge.sentence, f"  identified: {found}"]
            lines += [f"  missing: {text}" for text in judge.missing]
            if judge.unread:
                why = ", ".join(f"{n} {reason}" for reason, n in judge.unread.items())
                lines.append(f"  invalid: {sum(judge.unread.values())} of {judge.calls} ({why})")
        if self.left_out:
            more = (
                f", and {len(self.left_out) - _NAMED} more" if len(self.left_out) > _NAMED else ""
            )
            lines.append(
                f"left out: {_counted(len(self.left_out), 'entry', 'entries')} without a "
                f"completion ({'; '.join(self.left_out[:_NAMED])}{more})"
            )
        if self.copies:
            lines.append(f"left out: {_counted(self.copies, 'copy', 'copies')} of other responses")
        return lines + [f"note: {note}" for note in self.notes]


def survey_judge(
    judge: str, layer: str | None, calls: Sequence[ImportedCall], *, how_to_repeat: str
) -> JudgeSurvey:
    """Find the crossed design in one judge's calls of one layer, and say what it identifies."""
    items = sorted({call.item for call in calls})
    prompts = tuple(sorted({call.prompt for call in calls}))
    orders = tuple(sorted({call.order for call in calls if call.order is not None}))
    depth = Counter((call.item, call.prompt, call.order) for call in calls)
    cells = {
        item: [depth[item, prompt, order] for prompt in prompts for order in orders or (None,)]
        for item in items
    }
    counts = [n for row in cells.values() for n in row]
    complete = sum(min(row) >= ENOUGH for row in cells.values())
    crossed = {"prompt": len(prompts) > 1, "order": len(orders) > 1}
    wanted = ["call", *(name for name, there in crossed.items() if there)]
    wanted += ["interaction"] if all(crossed.values()) else []
    return JudgeSurvey(
        judge=judge,
        layer=layer,
        calls=len(calls),
        items=len(items),
        prompts=prompts,
        orders=orders,
        repeats=(min(counts), max(counts)),
        complete=complete,
        outcomes=dict(sorted(Counter(call.verdict for call in calls).items())),
        unread=dict(Counter(call.reason for call in calls if call.verdict == "invalid")),
        identified=(*wanted, "total") if complete else (),
        missing=tuple(_missing(cells, crossed, orders, complete, how_to_repeat)),
    )


def _missing(
    cells: dict[str, list[int]],
    crossed: dict[str, bool],
    orders: Sequence[str],
    complete: int,
    how_to_repeat: str,
) -> list[str]:
    counts = [n for row in cells.values() for n in row]
    empty, single = counts.count(0), counts.count(1)
    said = []
    if max(counts) < ENOUGH:
        said.append(
            "repeats: with one call in a cell nothing is identified, since the dice cannot be told "
            f"from prompt and order; ask every cell again ({how_to_repeat})"
        )
    elif empty or single:
        said.append(
            f"calls: {_counted(empty, 'cell')} of {len(counts)} without a call, {single} with one; "
            f"{complete} of {_counted(len(cells), 'item')} complete, which "
            "`judgelaw analyze --incomplete drop` keeps"
        )
    elif min(counts) < _EXACT:
        said.append(f"an exact error of the calls: it needs {_EXACT} repeats ({how_to_repeat})")
    if not crossed["order"]:
        one = f"only {orders[0]}" if orders else "the log has no orders"
        said.append(f"the order facet ({one}): order and interaction cannot be estimated")
    if not crossed["prompt"]:
        said.append("the prompt facet (one prompt): prompt and interaction cannot be estimated")
    return said


def _counted(n: int, noun: str, plural: str | None = None) -> str:
    return f"{n} {noun if n == 1 else plural or noun + 's'}"
