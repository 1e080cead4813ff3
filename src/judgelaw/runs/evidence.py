"""What a run folder knows of its calls beside their verdicts, for the diagnostics."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.parquet import one_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from judgelaw.analysis import Key
    from judgelaw.design import FrozenRun
    from judgelaw.diagnose import Cell, Evidence, ReplyFacts
    from judgelaw.ledger import LedgerView, StoredReply
    from judgelaw.tensor import VerdictTensor

TIMING = "timing.parquet"
_SHORT = 40
"""Longer texts are held as their hash: whether two are the same is all that matters."""


Flags = Mapping[str, set[str]]
"""Kinds of suspicion by the call whose reply they fall on."""


def read_flags(frozen: "FrozenRun") -> Flags:
    """Read which replies look like another model's or an earlier one's."""
    from judgelaw.ledger import LEDGER_NAME, SqliteView

    kinds: dict[str, set[str]] = defaultdict(set)
    if (frozen.path / LEDGER_NAME).is_file():
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            for call_id, kind, _ in view.flags():
                kinds[call_id].add(kind)
    return kinds


def read_evidence(
    frozen: "FrozenRun", tensors: "Mapping[Key, VerdictTensor]", flags: Flags
) -> "Evidence":
    """Read times of calls, response ids, texts and seeds, as far as the run kept them."""
    from judgelaw.diagnose import Evidence
    from judgelaw.ledger import LEDGER_NAME, SqliteView

    seconds: Mapping[Any, Any] = {}
    replies: Mapping[Any, Any] = {}
    if (frozen.path / TIMING).is_file():
        seconds = read_seconds(frozen.path / TIMING, tensors)
    if (frozen.path / LEDGER_NAME).is_file():
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            replies = read_replies(view, tensors, flags)
    return Evidence(seconds=seconds, replies=replies, adjacent=frozen.study.schedule == "cells")


def read_seconds(
    path: Path, tensors: "Mapping[Key, VerdictTensor]"
) -> "dict[Key, NDArray[np.float64]]":
    """Read when each call was made, shaped like the ranked verdicts of its stream."""
    import duckdb
    import numpy as np

    query = (
        'SELECT item, prompt, "order", repeat, started_s '  # noqa: S608 - quoted
        f"FROM {one_file(path)} WHERE started_s IS NOT NULL AND layer = ? AND judge = ?"
    )
    found: dict[Key, NDArray[np.float64]] = {}
    with duckdb.connect() as connection:
        for key, tensor in tensors.items():
            if tensor.ranked is None:
                continue
            *names, repeats, started = connection.execute(query, list(key)).fetchnumpy().values()
            axes = (tensor.items, tensor.prompts, tensor.orders)
            places = np.array([*map(_places, axes, names), repeats])
            # Items that were dropped as incomplete, or ranks that were cut, have no place.
            there = ((places >= 0) & (repeats < tensor.ranked.shape[-1])).all(axis=0)
            found[key] = np.full(tensor.ranked.shape, np.nan)
            found[key][tuple(places[:, there])] = started[there]
    return found


def _places(axis: "Sequence[str]", names: "NDArray[Any]") -> list[int]:
    """Return the place of every name on an axis, -1 where it has none."""
    places = {name: i for i, name in enumerate(axis)}
    return [places.get(name, -1) for name in names.tolist()]


def read_replies(
    view: "LedgerView", tensors: "Mapping[Key, VerdictTensor]", flags: Flags
) -> "dict[Key, ReplyFacts]":
    """Read what the ledger knows of the replies of each stream, (cells, repeats)."""
    from judgelaw.diagnose import ReplyFacts

    streams: dict[Key, list[StoredReply]] = defaultdict(list)
    for reply in view.replies():
        streams[reply.layer, reply.judge].append(reply)
    found = {}
    for key, replies in streams.items():
        if key not in tensors:
            continue
        spread = _spread(replies)
        found[key] = ReplyFacts(
            response_ids=spread([reply.response_id for reply in replies]),
            texts=spread([_told(reply.text) for reply in replies]),
            seeds=spread([reply.seed for reply in replies]),
            flags=_tally(flags, replies),
        )
    return found


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


def read_integrity(frozen: "FrozenRun", flags: Flags) -> list[tuple[str, str]]:
    """Return what the ledger counts: planned, completed, retried, flagged."""
    from judgelaw.ledger import LEDGER_NAME, SqliteView

    rows = [("Frozen manifest", f"{frozen.count:,} calls")]
    if not (frozen.path / LEDGER_NAME).is_file():
        return rows
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        totals, flagged, losses = view.totals(), len(flags), view.losses()
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
        return view.coverage()


def _told(text: str | None) -> str | None:
    if text is None or len(text) < _SHORT:
        return text
    return sha256(text.encode()).hexdigest()


def _tally(flags: Flags, replies: "Sequence[StoredReply]") -> dict[str, int]:
    """Count the flagged replies of one stream, by kind."""
    kinds = (sorted(flags[reply.call_id]) for reply in replies if reply.call_id in flags)
    return dict(Counter(chain.from_iterable(kinds)))


def _spread(replies: "Sequence[StoredReply]") -> "Callable[[list[Any]], NDArray[Any]]":
    """Return a function that lays out one value for each reply, (cells, repeats)."""
    import numpy as np

    numbers: dict[tuple[str, str, str], int] = {}
    cells = [numbers.setdefault((x.item, x.prompt, x.order), len(numbers)) for x in replies]
    repeats = [x.repeat for x in replies]
    shape = (len(numbers), 1 + max(repeats))

    def spread(values: list[Any]) -> "NDArray[Any]":
        grid = np.full(shape, None, dtype=object)
        grid[cells, repeats] = values
        return grid

    return spread
