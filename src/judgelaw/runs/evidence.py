"""What a run folder knows of its calls beside their verdicts, for the diagnostics."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.parquet import one_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from judgelaw.analysis import Key
    from judgelaw.design import FrozenRun
    from judgelaw.diagnose import Cell, Evidence, ReplyFacts
    from judgelaw.ledger import LedgerView
    from judgelaw.tensor import VerdictTensor

TIMING = "timing.parquet"
_SHORT = 40
"""Longer texts are held as their hash: whether two are the same is all that matters."""


def read_evidence(frozen: "FrozenRun", tensors: "Mapping[Key, VerdictTensor]") -> "Evidence":
    """Read times of calls, response ids, texts and seeds, as far as the run kept them."""
    from judgelaw.diagnose import Evidence
    from judgelaw.ledger import LEDGER_NAME, SqliteView

    seconds: Mapping[Any, Any] = {}
    replies: Mapping[Any, Any] = {}
    if (frozen.path / TIMING).is_file():
        seconds = read_seconds(frozen.path / TIMING, tensors)
    if (frozen.path / LEDGER_NAME).is_file():
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            replies = read_replies(view, tensors)
    return Evidence(seconds=seconds, replies=replies, adjacent=frozen.study.schedule == "cells")


def read_seconds(
    path: Path, tensors: "Mapping[Key, VerdictTensor]"
) -> "dict[Key, NDArray[np.float64]]":
    """Read when each call was made, shaped like the ranked verdicts of its stream."""
    import duckdb
    import numpy as np

    query = (
        'SELECT layer, judge, item, prompt, "order", repeat, started_s '  # noqa: S608 - quoted
        f"FROM {one_file(path)} WHERE started_s IS NOT NULL"
    )
    with duckdb.connect() as connection:
        rows = connection.execute(query).fetchall()
    places = {
        key: [{n: i for i, n in enumerate(axis)} for axis in (t.items, t.prompts, t.orders)]
        for key, t in tensors.items()
    }
    found: dict[Key, NDArray[np.float64]] = {
        key: np.full(t.ranked.shape, np.nan) for key, t in tensors.items() if t.ranked is not None
    }
    for layer, judge, item, prompt, order, repeat, started in rows:
        array = found.get((layer, judge))
        if array is None:
            continue
        items, prompts, orders = places[layer, judge]
        # Items that were dropped as incomplete, or ranks that were cut, have no place.
        if item in items and prompt in prompts and order in orders and repeat < array.shape[-1]:
            array[items[item], prompts[prompt], orders[order], repeat] = started
    return found


def read_replies(
    view: "LedgerView", tensors: "Mapping[Key, VerdictTensor]"
) -> "dict[Key, ReplyFacts]":
    """Read what the ledger knows of the replies of each stream, (cells, repeats)."""
    from judgelaw.diagnose import ReplyFacts

    kinds: dict[str, set[str]] = defaultdict(set)
    for call_id, kind, _ in view.flags():
        kinds[call_id].add(kind)
    cells: dict[Key, dict[tuple[str, str, str], dict[int, tuple[Any, ...]]]] = {}
    flags: dict[Key, Counter[str]] = defaultdict(Counter)
    for stored in view.completions():
        call = stored.call
        key = (call.layer, call.judge)
        if key not in tensors:
            continue
        cell = cells.setdefault(key, {}).setdefault((call.item, call.prompt, call.order), {})
        cell[call.repeat] = (stored.receipt.response_id, _told(stored.completion.text), call.seed)
        flags[key].update(kinds[call.call_id])
    return {
        key: ReplyFacts(
            response_ids=_grid(grid, 0),
            texts=_grid(grid, 1),
            seeds=_grid(grid, 2),
            flags=dict(flags[key]),
        )
        for key, grid in cells.items()
    }


def read_configurations(frozen: "FrozenRun") -> "dict[str, dict[str, Cell]]":
    """Return the frozen configuration of every judge as the columns of a table."""
    from judgelaw.render import parser_name

    found: dict[str, dict[str, Cell]] = {}
    for name, judge in frozen.judges.items():
        decoding = judge.decoding.model_dump(exclude_none=True)
        found[name] = {
            "provider": judge.provider,
            "model": judge.model,
            "revision": judge.revision,
            "decoding": ", ".join(f"{k} {v}" for k, v in decoding.items()),
            "stop": ", ".join(map(repr, judge.stop or ())),
            "truncated": judge.truncated,
            "seed": judge.seed,
            "parser": parser_name(judge),
            "sha256": judge.fingerprint,
        }
    return found


def read_integrity(frozen: "FrozenRun") -> list[tuple[str, str]]:
    """Return what the ledger counts: planned, completed, retried, flagged."""
    from judgelaw.ledger import LEDGER_NAME, SqliteView

    rows = [("Frozen manifest", f"{frozen.count:,} calls")]
    if not (frozen.path / LEDGER_NAME).is_file():
        return rows
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        totals, flagged, losses = view.totals(), view.flagged(), view.losses()
    lost = [
        ("Replies lost from the ledger and asked again", f"{sum(x.replies for x in losses):,}"),
        ("Attempts lost from the ledger", f"{sum(x.attempts for x in losses):,}"),
    ]
    return [
        *rows,
        ("Completed calls", f"{totals.completed:,}"),
        ("Attempts that failed or were orphaned", f"{totals.failed:,} and {totals.orphaned:,}"),
        ("Replies flagged as replayed or of another model", f"{flagged:,}"),
        *(lost if losses else []),
    ]


def read_coverage(frozen: "FrozenRun") -> dict[str, float]:
    """Return the share of planned calls that completed, by judge."""
    from judgelaw.ledger import LEDGER_NAME, SqliteView

    if not (frozen.path / LEDGER_NAME).is_file():
        return {}
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        return {s.judge: s.completed / s.planned for s in view.summaries() if s.planned}


def _told(text: str | None) -> str | None:
    if text is None or len(text) < _SHORT:
        return text
    return sha256(text.encode()).hexdigest()


def _grid(
    cells: Mapping[tuple[str, str, str], Mapping[int, tuple[Any, ...]]], fact: int
) -> "NDArray[Any]":
    import numpy as np

    repeats = 1 + max(r for cell in cells.values() for r in cell)
    grid = np.full((len(cells), repeats), None, dtype=object)
    for row, cell in zip(grid, cells.values(), strict=True):
        for repeat, facts in cell.items():
            row[repeat] = facts[fact]
    return grid
