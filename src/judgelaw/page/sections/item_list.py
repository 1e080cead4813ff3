"""The items with their texts: wrong ones and those that change often first, down to each reply.

Counts, labels and completions travel as base64 of gzip inside the page; the script unpacks the
part that is asked for. Completions are cut, and cut again where the page would grow too large.
"""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np

from judgelaw.analysis import JudgeAnalysis, reading_order, right_by_item
from judgelaw.arrays import ABSENT
from judgelaw.blocks import Block, Explorer, ItemCard, Paragraph, Run, note, paragraph
from judgelaw.page import drawing
from judgelaw.page.sections.laws import MOST_CORNERS, corners_of, given_verdicts
from judgelaw.page.sections.parts import label
from judgelaw.page.subject import Judge, Kind, Report, present
from judgelaw.tensor import VerdictTensor
from judgelaw.vocabulary import CHANGES
from judgelaw.words import ELLIPSIS, counted, in_document, joined, visible

Place = tuple[str, str, str, int]
"""Item, prompt, order and repeat of a completion."""
Completions = Mapping[str, Mapping[Place, str]]
"""By judge, then place."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What was asked about an item, and the answers that were judged, each by its label."""

    instruction: str
    answers: tuple[tuple[str, str], ...] = ()


Questions = Mapping[str, Question]
"""By item."""

COMPLETION_CUT = 1000
_QUESTION_CUT = 4000
"""Characters of a question or an answer that the page holds."""
_PLAIN_CUT = 300
"""The same without JavaScript."""
BUDGET = 12_000_000
"""Characters of the page that completions may take."""
LISTED = 500
"""Items in the plain list that a page without JavaScript shows."""
_CHUNK = 24
_QUICK = 1
"""Level of gzip for replies: a tenth more to store, in half the time."""
_CUTS = (COMPLETION_CUT, 500, 250, 120, 60)
_CLEAR = 2.0
"""An estimate this many call errors above zero is taken as more than chance."""
_WRONG = 0.5
_LENGTH = 72


def items(report: Report) -> Sequence[Block]:
    """Return the items one by one, with how many are wrong and how many change."""
    explored = explorer(report)
    first = report.judges[0]
    blocks: list[Block] = [_order(first), *_about(report)]
    if not first.found.one_call:
        blocks += [*_reliable(report), *_belief_legend(report)]
    return (*blocks, explored)


def items_title(report: Report) -> str:
    """Return how many items there are, with their texts where these are known."""
    n = len(report.judges[0].tensor.items)
    return f"{counted(n, 'item')}{' with their texts' if report.questions else ''}"


def _order(judge: Judge) -> Paragraph:
    if judge.found.answer.right is None:
        return paragraph("Those that change often first.")
    first = "Mostly wrong ones" if judge.found.answer.span is None else "Those far off"
    return paragraph(f"{first} first, then those that change often.")


def _about(report: Report) -> list[Paragraph]:
    """Bridge items that change and calls that change, two counts of one thing; of one judge."""
    judge = report.judges[0]
    calls = int(judge.tensor.counts.sum(axis=(1, 2, 3)).max())
    if len(report.judges) > 1 or calls == 1:
        return []
    place = judge.place.at("answer", "contested")
    return [
        paragraph(
            place.value("changed", form=",d"),
            " of ",
            place.value("of", form=",d"),
            f" items changed at least once in their {calls:,} calls, ",
            place.value("items", form=",d"),
            " change often (shown to go against themselves in more than 1 call of 10). ",
            *_bridge(judge),
        ),
        *_facets_move(judge),
    ]


def _facets_move(judge: Judge) -> list[Paragraph]:
    """Say how many items a prompt or an order is shown to move, and how sure that is."""
    moved = judge.found.item_values.moved
    counts = [(facet, int(found.shown.sum())) for facet, found in moved.items()]
    said = [f"{_MOVER[facet]} {'no item' if not n else counted(n, 'item')}" for facet, n in counts]
    if not said:
        return []
    return [
        paragraph(
            f"Shown to matter: {joined(said)}. Of the items named so, about 1 in 20 at most is "
            "named by chance; of the others these calls do not tell."
        )
    ]


_MOVER = {"prompt": "the prompt to", "order": "the answer order to"}


def moved_tags(judge: Judge) -> list[list[str]]:
    """Return for each item which facets are shown to move it, in words."""
    tags: list[list[str]] = [[] for _ in judge.tensor.items]
    for facet, found in judge.found.item_values.moved.items():
        name = "the prompt" if facet == "prompt" else "the answer order"
        for i in np.flatnonzero(found.shown).tolist():
            most = found.most[i]
            tags[i].append(f"moved by {name if most is None else f'{facet} {visible(most)}'}")
    return tags


def _squares(judge: Judge) -> str:
    """Say what the squares of an item are."""
    tensor = judge.tensor
    across = "prompt" if tensor.single else "prompt (across) and order (down)"
    filled = "are right" if judge.found.answer.right is not None else "agree with its usual verdict"
    return f"One square is one {across}, filled as far as its calls {filled}."


def _bridge(judge: Judge) -> Run:
    """Set the calls that change beside the items that do."""
    known = [c for c, rate in judge.found.changes.items() if rate is not None and c != "both"]
    if judge.found.scores is not None or not known:
        return ()
    said: Run = ("Call by call that is less: of 100 verdicts ",)
    for i, change in enumerate(known):
        rate = judge.place.value("changes", change, "estimate", form="100")
        said += (", " if i else "", rate, f" change when {_WHEN[change]}")
    return (*said, "; an item counts as changed if any two of its calls differ.")


_WHEN = {
    "ask_again": CHANGES["ask_again"].title,
    "reword": f"asked with {CHANGES['reword'].title}",
    "swap": "the answers are swapped",
}


def _reliable(report: Report) -> list[Paragraph]:
    """Say how far single items can be believed before showing them; of one judge."""
    judge = report.judges[0]
    if len(report.judges) > 1:
        return []
    cells = "prompt" if judge.found.single else "prompt and order"
    split = judge.found.split
    known = [n for n in ("prompt", "order") if n in split and isfinite(split[n].reliability)]
    said: Run = (
        f"Open an item for its verdicts in every {cells}. ",
        "Estimates of single items rest on few calls",
    )
    for name in known:
        reliability = judge.place.value("split", name, "reliability", form=".2f")
        said += (f"; reliability of {label(name).lower()} ", reliability)
    if any(split[name].reliability < 0 for name in known):
        said += (". Below 0 means that no difference between items was seen",)
    said += (". Near 0 a ranking is noise, near 1 it would come out again.",)
    return [note(*said, brief=False)]


def _belief_legend(report: Report) -> Sequence[Block]:
    """Say what is believed of an estimate; nothing where no item has a call error."""
    if all(judge.found.item_values.call_variance is None for judge in report.judges):
        return ()
    return (
        note(
            "Clear of chance: the estimate is at least two call errors above 0. No true "
            "component is below 0, so a negative estimate is never clear. Error not known: the "
            "unbiased estimate of the error's square came out at 0 or below, as it can with so "
            "few calls, and has no root.",
            brief=False,
        ),
    )


# What the script gets -------------------------------------------------------------------------


def pack(value: Any, *, level: int = 4) -> str:
    """Return a value as base64 of gzipped JSON; the same value gives the same text."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=level, mtime=0)).decode()


def explorer(report: Report) -> Explorer:
    """Return the explorer of the items of every judge."""
    first = report.judges[0]
    tensors = {judge.name: judge.tensor for judge in report.judges}
    texts, cut = _texts(tensors, report.completions or {})
    payloads = []
    for judge in report.judges:
        chunks = texts.get(judge.name, ())
        payloads.append((f"grid-{judge.number}", pack(_grid(judge, len(chunks)))))
        payloads += [(f"text-{judge.number}-{c}", chunk) for c, chunk in enumerate(chunks)]
    if report.questions:
        payloads.append(("questions", pack(_asked(tensors, report.questions))))
    return Explorer(
        judges=tuple(visible(judge.name) for judge in report.judges),
        verdicts=tuple(visible(v) for v in first.tensor.verdicts),
        orders=_orders(first.tensor),
        items=tuple(_listed(first)),
        total=len(first.tensor.items),
        cut=cut if texts else None,
        payloads=tuple(payloads),
    )


def _asked(tensors: Mapping[str, VerdictTensor], questions: Questions) -> dict[str, Any]:
    """Return question and answers of every item that a judge was asked about, by shown name."""
    every = dict.fromkeys(item for tensor in tensors.values() for item in tensor.items)
    return {
        visible(item): [
            _cut(found.instruction),
            [[visible(name), _cut(text)] for name, text in found.answers],
        ]
        for item in every
        if (found := questions.get(item)) is not None
    }


def _cut(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= _QUESTION_CUT else shown[:_QUESTION_CUT] + f" {ELLIPSIS}"


def _grid(judge: Judge, chunks: int) -> dict[str, Any]:
    found, tensor = judge.found, judge.tensor
    right, contested = item_right(tensor), {*found.answer.contested.ids}
    return {
        "keys": in_document(judge.name),
        "shown": visible(judge.name),
        "path": judge.place.at("item_values", "estimates").path,
        "prompts": [visible(p) for p in tensor.prompts],
        "orders": [*_orders(tensor)],
        "verdicts": [visible(v) for v in tensor.verdicts],
        "roles": drawing.verdict_roles(tensor.verdicts),
        "corners": _corners(tensor),
        "counts": tensor.counts.reshape(-1).tolist(),
        "components": [[c, label(c)] for c in present(found.components)],
        "names": [visible(i) for i in tensor.items],
        "gold": None if tensor.gold is None else [g and visible(g) for g in tensor.gold],
        "right": None if right is None else [None if x != x else round(x, 6) for x in right],  # noqa: PLR0124 - nan
        "scored": tensor.scale is not None,
        "contested": [int(name in contested) for name in tensor.items],
        "moved": moved_tags(judge),
        "first": ranking(judge).tolist(),
        "strata": None if tensor.strata is None else [visible(s) for s in tensor.strata],
        "legend": _squares(judge),
        "chunk": _CHUNK if chunks else 0,
    }


def item_right(tensor: VerdictTensor) -> list[float] | None:
    """Return how often each item was judged right, nan without a right answer; None for none."""
    found = right_by_item(tensor)
    return None if np.isnan(found).all() else [float(x) for x in found]


def ranking(judge: Judge) -> "np.ndarray[Any, Any]":
    """Return the items in the order in which they are looked at."""
    tensor = judge.tensor
    contested = {name: i for i, name in enumerate(judge.found.answer.contested.ids)}
    often = [contested.get(name) for name in tensor.items]
    return reading_order(tensor.counts.sum(axis=(1, 2)), right_by_item(tensor), often)


def _orders(tensor: VerdictTensor) -> tuple[str, ...]:
    """Return the headings of the columns of an item; single answers have no order."""
    return ("calls",) if tensor.single else tuple(visible(o) for o in tensor.orders)


def _corners(tensor: VerdictTensor) -> dict[str, Any] | None:
    """Return which verdicts stand at which corner of the simplex, by position.

    Scores stand on a line from low to high, `at` says where. None for more labels than corners.
    """
    verdicts = tensor.verdicts
    if (scale := tensor.scale) is not None:
        at = (scale.scores(verdicts) - scale.values[0]) / scale.span
        ends = (verdicts.index(scale.names[0]), verdicts.index(scale.names[-1]))
        places = [None if np.isnan(x) else round(float(x), 4) for x in at]
        return {"left": ends[0], "right": ends[1], "top": [], "at": places}
    if tensor.single:
        given = given_verdicts(tensor)
        if len(given) > MOST_CORNERS:
            return None
        if len(given) > 1:
            left, right, *top = (verdicts.index(v) for v in given)
            return {"left": left, "right": right, "top": top}
    found = corners_of(verdicts, tensor.counts.sum(axis=(0, 1, 2)).astype(float))
    return {
        "left": verdicts.index(found.left),
        "right": verdicts.index(found.right),
        "top": [verdicts.index(v) for v in found.top],
    }


# The plain list -------------------------------------------------------------------------------


def _listed(judge: Judge) -> Iterator[ItemCard]:
    tensor, found, place = judge.tensor, judge.found, judge.place.at("item_values", "estimates")
    values, names = found.item_values, present(found.components)
    right, contested = item_right(tensor), {*found.answer.contested.ids}
    by = ranked_by(found)
    variance, moved = values.variance_of(by), moved_tags(judge)
    for i in ranking(judge)[:LISTED].tolist():
        share = None if right is None else right[i]
        asked = judge.report.questions.get(tensor.items[i])
        gold = None if tensor.gold is None else tensor.gold[i]
        yield ItemCard(
            item=visible(tensor.items[i]),
            stratum="" if tensor.strata is None else visible(tensor.strata[i]),
            tags=(*_tags(tensor, i, share, often=tensor.items[i] in contested), *moved[i]),
            question="" if asked is None else _plain(asked.instruction),
            answers=()
            if asked is None
            else tuple((visible(n), _plain(text), n == gold) for n, text in asked.answers),
            told=_told(tensor, i, share),
            values=tuple((label(name), place.value(name, i)) for name in names),
            belief=belief(
                float(values.of(by)[i]),
                None if variance is None else float(variance[i]),
                has_errors=variance is not None,
            )
            if names
            else "",
            grid=tuple(
                (visible(prompt), tuple(map(tuple, tensor.counts[i, k].tolist())))
                for k, prompt in enumerate(tensor.prompts)
            ),
        )


def _plain(text: str) -> str:
    return visible(text if len(text) <= _PLAIN_CUT else text[:_PLAIN_CUT] + f" {ELLIPSIS}")


def _tags(tensor: VerdictTensor, item: int, right: float | None, *, often: bool) -> Iterator[str]:
    if right is not None and right < _WRONG:
        yield "mostly wrong" if tensor.scale is None else "far off"
    if often:
        yield "changes often"
    if int((tensor.counts[item].sum(axis=(0, 1)) > 0).sum()) == 1:
        yield "never changed"


def _told(tensor: VerdictTensor, item: int, right: float | None) -> str:
    """Say how often an item was right, and what came out."""
    sums = tensor.counts[item].sum(axis=(0, 1)).tolist()
    calls = sum(sums)
    given = sorted(((n, v) for n, v in zip(sums, tensor.verdicts, strict=True) if n), reverse=True)
    told = f"{calls:,} calls: " + ", ".join(f"{n:,} × {visible(v)}" for n, v in given)
    gold = None if tensor.gold is None else tensor.gold[item]
    if right is None or gold not in tensor.verdicts or tensor.scale is not None:
        return told
    hits = sums[tensor.verdicts.index(str(gold))]
    return f"right in {hits:,} of {told}"


def ranked_by(judge: JudgeAnalysis) -> str:
    """Return the component that says most of an item: the first systematic one there is."""
    names = present(judge.components)
    return next((n for n in ("prompt", "order", "call") if n in names), "total")


def belief(estimate: float | None, variance: float | None, *, has_errors: bool) -> str:
    """Say how far the estimate of a single item can be believed.

    No component can be below 0, so a negative estimate is noise however small its error looks.
    """
    if not has_errors:
        return "no error below four repeats"
    known = estimate is not None and variance is not None
    if not known or not isfinite(estimate) or not variance > 0:  # type: ignore[arg-type, operator] # known
        return "error not known"
    return "clear of chance" if estimate >= _CLEAR * sqrt(variance) else "within chance"  # type: ignore[operator, arg-type] # known


# Replies --------------------------------------------------------------------------------------


def _texts(
    tensors: Mapping[str, VerdictTensor], completions: Completions
) -> tuple[dict[str, tuple[str, ...]], int]:
    """Pack completions at the longest cut that keeps the page within its budget."""
    chunks: dict[str, tuple[str, ...]] = {}
    cut = COMPLETION_CUT
    for cut in _CUTS if completions else ():
        chunks = _packed(tensors, completions, cut)
        if sum(len(c) for group in chunks.values() for c in group) <= BUDGET:
            break
    return chunks, cut


def _packed(
    tensors: Mapping[str, VerdictTensor], completions: Completions, cut: int
) -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(
            pack(_chunk(tensor, found, start, cut), level=_QUICK)
            for start in range(0, len(tensor.items), _CHUNK)
        )
        for name, tensor in tensors.items()
        if (found := completions.get(name))
    }


def _chunk(
    tensor: VerdictTensor, found: Mapping[Place, str], start: int, cut: int
) -> list[list[list[list[Any]]]]:
    """Return replies as items > cells > [verdict code, text, whether it was cut]."""
    among = range(start, min(start + _CHUNK, len(tensor.items)))
    cells = [(k, o) for k in range(len(tensor.prompts)) for o in range(len(tensor.orders))]
    return [[_replies(tensor, found, (i, k, o), cut) for k, o in cells] for i in among]


def _replies(
    tensor: VerdictTensor, found: Mapping[Place, str], cell: tuple[int, int, int], cut: int
) -> list[list[Any]]:
    i, k, o = cell
    where = (tensor.items[i], tensor.prompts[k], tensor.orders[o])
    codes: list[int | None] = (
        [None] * int(tensor.counts[cell].sum())
        if tensor.ranked is None
        else tensor.ranked[cell].tolist()
    )
    return [
        [code, visible(text[:cut]), int(len(text) > cut)]
        for repeat, code in enumerate(codes)
        if code != ABSENT and (text := found.get((*where, repeat))) is not None
    ]


def opening(text: str) -> str:
    """Return the first words of a prompt on one line."""
    line = " ".join(text.split())
    if len(line) <= _LENGTH:
        return line
    return line[:_LENGTH].rpartition(" ")[0].rstrip(",;:") + f" {ELLIPSIS}"


SECTIONS = (Kind(id="items", title=items_title, order=20, make=items, of="report", open=True),)
