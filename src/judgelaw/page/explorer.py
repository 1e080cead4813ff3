"""The item explorer: what the page carries so that every item can be opened down to its replies.

Counts, labels and completions travel as base64 of gzip inside the page; the script unpacks the
part that is asked for. Completions are cut, and cut again where the page would grow too large.
"""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from judgelaw.analysis import JudgeAnalysis
from judgelaw.arrays import ABSENT
from judgelaw.page import drawing
from judgelaw.page.component_figure import LABELS, present
from judgelaw.page.document import (
    Block,
    ExplorerView,
    GridRow,
    ItemView,
    Number,
    Part,
    Section,
    decimal,
    finite,
    note,
    paragraph,
    path,
)
from judgelaw.page.laws import MOST_CORNERS, corners_of, given_verdicts
from judgelaw.tensor import VerdictTensor
from judgelaw.words import ELLIPSIS, visible

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
BUDGET = 12_000_000
"""Characters of the page that completions may take."""
LISTED = 500
"""Items in the plain list that a page without JavaScript shows."""
_CHUNK = 24
_CUTS = (COMPLETION_CUT, 500, 250, 120, 60)
_CLEAR = 2.0
"""An estimate this many call errors above zero is taken as more than call noise."""


def pack(value: Any) -> str:
    """Return a value as base64 of gzipped JSON; the same value gives the same text."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=4, mtime=0)).decode()


def explorer(
    judges: Mapping[str, Part[JudgeAnalysis]],
    tensors: Mapping[str, VerdictTensor],
    completions: Completions | None,
    questions: Questions | None = None,
) -> ExplorerView:
    """Return the explorer of the items of every judge."""
    first = next(iter(judges))
    tensor = tensors[first]
    texts, cut = _texts(tensors, completions or {})
    payloads = []
    for j, name in enumerate(judges):
        chunks = texts.get(name, ())
        payloads.append((f"grid-{j}", pack(_grid(name, judges[name], tensors[name], len(chunks)))))
        payloads += [(f"text-{j}-{c}", chunk) for c, chunk in enumerate(chunks)]
    if questions:
        payloads.append(("questions", pack(_asked(tensors, questions))))
    items = _listed(judges[first], tensor)
    return ExplorerView(
        judges=tuple(visible(name) for name in judges),
        components=tuple((name, LABELS[name]) for name in present(judges[first].value.components)),
        verdicts=tuple(visible(v) for v in tensor.verdicts),
        orders=_orders(tensor),
        items=tuple(items),
        total=len(tensor.items),
        cut=cut if texts else None,
        payloads=tuple(payloads),
    )


def _asked(tensors: Mapping[str, VerdictTensor], questions: Questions) -> dict[str, Any]:
    """Return question and answers of every item that a judge was asked about, by shown name."""
    items = dict.fromkeys(item for tensor in tensors.values() for item in tensor.items)
    return {
        visible(item): [
            _cut(found.instruction),
            [[visible(label), _cut(text)] for label, text in found.answers],
        ]
        for item in items
        if (found := questions.get(item)) is not None
    }


def _cut(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= _QUESTION_CUT else shown[:_QUESTION_CUT] + f" {ELLIPSIS}"


def _grid(
    name: str, judge: Part[JudgeAnalysis], tensor: VerdictTensor, chunks: int
) -> dict[str, Any]:
    return {
        "judge": name,
        "shown": visible(name),
        "path": judge.at(lambda j: j.item_values.estimates).path,
        "prompts": [visible(p) for p in tensor.prompts],
        "orders": [*_orders(tensor)],
        "verdicts": [visible(v) for v in tensor.verdicts],
        "roles": drawing.verdict_roles(tensor.verdicts),
        "corners": _corners(tensor),
        "counts": tensor.counts.reshape(-1).tolist(),
        "components": [[c, LABELS[c]] for c in present(judge.value.components)],
        "ranked": ranked_by(judge.value),
        "names": [visible(i) for i in tensor.items],
        "gold": None if tensor.gold is None else [g and visible(g) for g in tensor.gold],
        "strata": None if tensor.strata is None else [visible(s) for s in tensor.strata],
        "chunk": _CHUNK if chunks else 0,
    }


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


def ranked_by(judge: JudgeAnalysis) -> str:
    """Return the component that the list starts ranked by: the first systematic one there is."""
    names = present(judge.components)
    return next((n for n in ("prompt", "order", "call") if n in names), "total")


def _listed(judge: Part[JudgeAnalysis], tensor: VerdictTensor) -> Iterator[ItemView]:
    values = judge.value.item_values
    by = ranked_by(judge.value)
    names = present(judge.value.components)
    ranking, variance = values.of(by), values.variance_of(by)
    order = np.argsort(-np.nan_to_num(ranking, nan=-np.inf), kind="stable")
    for i in order[:LISTED].tolist():
        yield ItemView(
            item=visible(tensor.items[i]),
            stratum="" if tensor.strata is None else visible(tensor.strata[i]),
            values=tuple(_estimate(judge, name, i) for name in names),
            belief=belief(
                finite(ranking[i]),
                None if variance is None else finite(variance[i]),
                has_errors=variance is not None,
            ),
            grid=tuple(
                GridRow(
                    prompt=visible(prompt), cells=tuple(map(tuple, tensor.counts[i, k].tolist()))
                )
                for k, prompt in enumerate(tensor.prompts)
            ),
        )


def _estimate(judge: Part[JudgeAnalysis], component: str, item: int) -> Number:
    """Show one component of one item; the JSON holds a list for each component."""
    found = judge.at(lambda j: j.item_values.estimates)
    value = judge.value.item_values.of(component)[item]
    return decimal(float(value), where=path(*found.where, component, item))


def belief(estimate: float | None, variance: float | None, *, has_errors: bool) -> str:
    """Say how far the estimate of a single item can be believed.

    No component can be below 0, so a negative estimate is noise however small its error looks.
    """
    if not has_errors:
        return "no error below four repeats"
    if estimate is None or variance is None or variance <= 0:
        return "error not known"
    return "clear of call noise" if estimate >= _CLEAR * sqrt(variance) else "within call noise"


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
            pack(_chunk(tensor, found, start, cut)) for start in range(0, len(tensor.items), _CHUNK)
        )
        for name, tensor in tensors.items()
        if (found := completions.get(name))
    }


def _chunk(
    tensor: VerdictTensor, found: Mapping[Place, str], start: int, cut: int
) -> list[list[list[list[Any]]]]:
    """Return replies as items > cells > [verdict code, text, whether it was cut]."""
    items = range(start, min(start + _CHUNK, len(tensor.items)))
    cells = [(k, o) for k in range(len(tensor.prompts)) for o in range(len(tensor.orders))]
    return [[_replies(tensor, found, (i, k, o), cut) for k, o in cells] for i in items]


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


PROMPTS_PART = "Prompts"
"""The part of a frozen configuration that names the prompts."""
OPENS_WITH = "opens with"
_LENGTH = 72


def opening(text: str) -> str:
    """Return the first words of a prompt on one line."""
    line = " ".join(text.split())
    if len(line) <= _LENGTH:
        return line
    return line[:_LENGTH].rpartition(" ")[0].rstrip(",;:") + f" {ELLIPSIS}"


def openings(frozen: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the first words of every prompt that the configuration knows, by id."""
    found = (frozen or {}).get(PROMPTS_PART)
    if not isinstance(found, Mapping):
        return {}
    return {
        name: str(values[OPENS_WITH])
        for name, values in found.items()
        if isinstance(values, Mapping) and OPENS_WITH in values
    }


def items_section(
    judges: Mapping[str, Part[JudgeAnalysis]],
    tensors: Mapping[str, VerdictTensor],
    completions: Completions | None,
    questions: Questions,
) -> Section:
    """Return the items one by one, with how far single items can be believed."""
    explored = explorer(judges, tensors, completions, questions)
    blocks = (_about_items(judges), *_belief_legend(judges), explored)
    return Section(id="items", title="Item by item", blocks=blocks)


def _about_items(judges: Mapping[str, Part[JudgeAnalysis]]) -> Block:
    """Say how far single items can be believed before showing them."""
    first = next(iter(judges.values()))
    cells = "prompt" if first.value.single else "prompt and order"
    split = first.at(lambda j: j.split)
    parts: list[str | Number] = [
        (
            f"Open an item for its verdict counts in every {cells}. Estimates of single items "
            "rest on few calls"
        )
    ]
    known = [
        found
        for name in ("prompt", "order")
        if (found := split.find(name)) and finite(found.value.reliability) is not None
    ]
    for found in known:
        parts += [
            f"; reliability of {found.where[-1]} ",
            found.decimal(lambda s: s.reliability, 2),
        ]
    if any(found.value.reliability < 0 for found in known):
        parts.append(". Below 0 means that no difference between items was seen")
    return paragraph(*parts, ". Near 0 a ranking is noise, near 1 it would come out again.")


def _belief_legend(judges: Mapping[str, Part[JudgeAnalysis]]) -> tuple[Block, ...]:
    """Say what the last column means; nothing where no item has a call error."""
    if all(judge.value.item_values.call_variance is None for judge in judges.values()):
        return ()
    return (
        note(
            "Clear of call noise: the estimate is at least two call errors above 0. No true "
            "component is below 0, so a negative estimate is never clear. Error not known: the "
            "unbiased estimate of the error's square came out at 0 or below, as it can with so "
            "few calls, and has no root."
        ),
    )
