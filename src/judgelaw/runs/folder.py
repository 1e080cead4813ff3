"""What a run folder adds to its calls: replies, configuration, how acquisition went."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.acquire.verify import Verification
from judgelaw.duck import one_file
from judgelaw.ledger import LEDGER_NAME, SqliteView, StoredReply, Totals
from judgelaw.page import COMPLETION_CUT, OPENS_WITH, PROMPTS_PART, Place, opening
from judgelaw.study import FrozenRun, open_run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from judgelaw.analysis import Key
    from judgelaw.diagnose import Cell, Evidence, ReplyFacts
    from judgelaw.ledger import LedgerView
    from judgelaw.tensor import VerdictTensor


_SECRET = ("api_key", "headers")


@dataclass(frozen=True, kw_only=True)
class RunExtras:
    """What the report shows of a run beside its figures.

    Attributes:
        title: name of the study.
        completions: replies of one layer, by judge and place.
        configuration: what was frozen, by part.
        integrity: what acquisition left behind, in words, by check.
    """

    title: str
    completions: Mapping[str, Mapping[Place, str]]
    configuration: Mapping[str, Any]
    integrity: Mapping[str, Any]


def read_run(run: Path, layer: str | None, *, verified: Verification | None = None) -> RunExtras:
    """Read what a run folder holds; replies of the layer that the report shows."""
    frozen = open_run(run)
    completions: Mapping[str, Mapping[Place, str]] = {}
    integrity: dict[str, Any] = {}
    if (run / LEDGER_NAME).exists():
        with SqliteView(run / LEDGER_NAME) as view:
            completions = _completions(view, layer)
            integrity = _acquired(view.totals())
    if verified is not None:
        integrity |= {
            check.name: f"{'ok' if check.ok else 'WRONG'}: {check.detail}"
            for check in verified.checks
        }
    return RunExtras(
        title=frozen.study.name,
        completions=completions,
        configuration=_configuration(frozen),
        integrity=integrity,
    )


def _completions(view: SqliteView, layer: str | None) -> dict[str, dict[Place, str]]:
    found: dict[str, dict[Place, str]] = {}
    for reply in view.replies(layer):
        place = (reply.item, reply.prompt, reply.order, reply.repeat)
        found.setdefault(reply.judge, {})[place] = _text(reply)
    return found


def _text(reply: StoredReply) -> str:
    """Return what the page may show, and one character more to say that there is more."""
    if reply.content_filtered:
        return "(withheld by the provider's content filter)"
    if reply.refusal:
        return f"(refusal) {reply.refusal}"
    return (reply.text or "")[: COMPLETION_CUT + 1]


def _acquired(totals: Totals) -> dict[str, Any]:
    """Count rows: every total here is one."""
    return {
        "Calls planned and completed": f"{totals.planned:,} and {totals.completed:,}",
        "Replies that may be paid for and lost": f"{totals.at_risk:,}",
        "Tokens read and written": f"{totals.input_tokens:,} and {totals.output_tokens:,}",
    }


def _configuration(frozen: FrozenRun) -> dict[str, Any]:
    """Lay out the study, judges and prompts with their hashes; keys of providers are left out."""
    record = frozen.record
    study = {k: v for k, v in record.study.items() if k not in {"judges", "prompts", "items"}}
    parts: dict[str, Any] = {
        "Study": {"source_sha256": record.source_sha256, **study},
        "Fixed before the first request": record.beforehand or "nothing beyond the study",
    }
    for name, judge in frozen.judges.items():
        values = judge.model_dump(mode="json", exclude_none=True, exclude=set(_SECRET))
        parts[f"Judge {name}"] = {"sha256": record.judges.get(name), **values}
    parts[PROMPTS_PART] = {name: _prompt(frozen, name) for name in record.prompts}
    if record.amendments:
        parts["Changed since"] = {str(i + 1): change for i, change in enumerate(record.amendments)}
    parts["Versions"] = record.versions
    return parts


def _prompt(frozen: FrozenRun, name: str) -> dict[str, str]:
    found = {"sha256": frozen.record.prompts[name]}
    if name in frozen.templates:
        found[OPENS_WITH] = opening(frozen.templates[name].text)
    return found


TIMING = "timing.parquet"
_SHORT = 40
"""Longer texts are held as their hash: whether two are the same is all that matters."""


Flags = Mapping[str, set[str]]
"""Kinds of suspicion by the call whose reply they fall on."""


def read_flags(frozen: "FrozenRun") -> Flags:
    """Read which replies look like another model's or an earlier one's."""
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

    seconds: Mapping[Any, Any] = {}
    replies: Mapping[Any, Any] = {}
    if (frozen.path / TIMING).is_file():
        seconds = read_seconds(frozen.path / TIMING, tensors)
    if (frozen.path / LEDGER_NAME).is_file():
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            asked = {name: judge.model or None for name, judge in frozen.judges.items()}
            replies = read_replies(view, tensors, flags, asked)
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
    view: "LedgerView",
    tensors: "Mapping[Key, VerdictTensor]",
    flags: Flags,
    asked: Mapping[str, str | None],
) -> "dict[Key, ReplyFacts]":
    """Read what the ledger knows of the replies of each stream, (cells, repeats)."""
    from judgelaw.diagnose import ReplyFacts

    streams: dict[Key, list[StoredReply]] = defaultdict(list)
    for reply in view.replies():
        streams[reply.layer, reply.judge].append(reply)
    models = {summary.judge: _named(summary.models) for summary in view.summaries()}
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
            asked=asked.get(key[1]),
            models=models.get(key[1], {}),
        )
    return found


def _named(models: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in models.items() if name != "not said"}


def read_configurations(frozen: "FrozenRun") -> "dict[str, dict[str, Cell]]":
    """Return the frozen configuration of every judge as the columns of a table."""
    from judgelaw.wire import parser_name

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
