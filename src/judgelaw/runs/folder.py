"""A run folder, opened once: its frozen study, its ledger, its files and their sums."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

from judgelaw.duck import one_file
from judgelaw.ledger import LEDGER_NAME, SqliteView, StoredReply, Totals
from judgelaw.study import FrozenRun, open_run
from judgelaw.words import sides, stream_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from judgelaw.analysis import Key
    from judgelaw.diagnose import Cell, Evidence, ReplyFacts
    from judgelaw.page import Completions, Place, Questions
    from judgelaw.tensor import VerdictTensor
    from judgelaw.wire import JudgeSpec


TIMING = "timing.parquet"
_SECRET = ("api_key", "headers")
_SHORT = 40
"""Longer texts are held as their hash: whether two are the same is all that matters."""


class RunFolder:
    """A run folder that was opened: analysis and page read what it holds through one object.

    The ledger is opened when a row is first asked for, and closed with the object.

    Attributes:
        path: the folder.
        frozen: the study as it was frozen.
        ledger: the rows of the run; None before anything was acquired.
        date: the wave that is looked at, the latest unless told; None where the run has none.
    """

    def __init__(self, path: Path, date: str | None = None) -> None:
        self.path = path
        self.frozen: FrozenRun = open_run(path)
        self.date = date or (self.frozen.record.dates or (None,))[-1]
        self.ledger: SqliteView | None = None
        if (path / LEDGER_NAME).is_file():
            self.ledger = SqliteView(path / LEDGER_NAME)
            finalize(self, self.ledger.close)
        self._replies: dict[str | None, list[StoredReply]] = {}

    @cached_property
    def flags(self) -> Mapping[str, Sequence[str]]:
        """Kinds of suspicion by the call whose reply looks like another's, each kind once."""
        kinds: dict[str, set[str]] = {}
        for call_id, kind, _ in self.ledger.flags() if self.ledger else ():
            kinds.setdefault(call_id, set()).add(kind)
        return {call_id: sorted(found) for call_id, found in kinds.items()}

    @cached_property
    def totals(self) -> Totals | None:
        """What the rows count; None before anything was acquired."""
        return self.ledger.totals() if self.ledger else None

    @cached_property
    def asked(self) -> Mapping[str, str]:
        """The judge that the calls of a stream were asked of, by the stream's name."""
        return {name: j.name for j in self.frozen.judges.values() for name in j.streams}

    def coverage(self) -> dict[str, float]:
        """Return the share of planned calls that completed, by judge and criterion."""
        shares = self.ledger.coverage() if self.ledger else {}
        return {name: shares[judge] for name, judge in self.asked.items() if judge in shares}

    @property
    def reused(self) -> "dict[Key, Key]":
        """The streams that are calls of another stream, with the stream that made them."""
        return {
            (layer.name, name): (layer.reuse.layer, name)
            for layer in self.frozen.study.streams
            if layer.reuse is not None
            for name in self.frozen.judges[layer.reuse.judge].streams
        }

    def seconds(
        self, tensors: "Mapping[Key, VerdictTensor]", column: str = "started_s"
    ) -> "dict[Key, NDArray[np.float64]]":
        """Read when each call was made, of reused calls too; empty where that was not kept.

        Or how long it took, from another column of the table of times.
        """
        timing = self.path / TIMING
        if not timing.is_file():
            return {}
        made = {key: self.reused.get(key, key) for key in tensors}
        calls = {key: (layer, self.asked.get(name, name)) for key, (layer, name) in made.items()}
        return _seconds(timing, tensors, calls, self.date, column)

    def evidence(
        self,
        tensors: "Mapping[Key, VerdictTensor]",
        main: str | None,
        reused: "Mapping[Key, Key]",
    ) -> "Evidence":
        """Read times of calls, response ids, texts and seeds, as far as the run kept them.

        The replies are read once: those of the main layer are kept for the page. Replies that a
        layer reuses are looked at where they were made.
        """
        from judgelaw.diagnose import Evidence

        return Evidence(
            seconds=self.seconds(tensors),
            latency=self.seconds(tensors, "latency_s"),
            replies=self._reply_facts(tensors, main),
            adjacent=self.frozen.study.schedule != "random",
            reused=reused,
        )

    def _reply_facts(
        self, tensors: "Mapping[Key, VerdictTensor]", main: str | None
    ) -> "dict[Key, ReplyFacts]":
        """Return what the ledger knows of the replies of each stream."""
        streams = {key: _Stream() for key in tensors}
        kept = self._replies[main] = []
        homes: dict[tuple[str, str], list[_Stream]] = {}
        flags = self.flags
        for reply in self._of_wave():
            layer, judge = reply.layer, reply.judge
            if (layer, judge) not in homes:
                keys = [(layer, name) for name in self.frozen.judges[judge].streams]
                homes[layer, judge] = [streams[key] for key in keys if key in streams]
            for stream in homes[layer, judge]:
                stream.add(reply, flags.get(reply.call_id, ()))
            if layer == main:
                kept.append(reply)
        models = self.ledger.returned_models() if self.ledger else {}
        asked = {name: judge.model or None for name, judge in self.frozen.judges.items()}
        return {
            key: stream.facts(
                asked=asked.get(self.asked.get(key[1], key[1])),
                models=models.get(self.asked.get(key[1], key[1]), {}),
                unreadable=self._unreadable.get(key[1], {}),
            )
            for key, stream in streams.items()
            if stream.rows
        }

    @cached_property
    def _unreadable(self) -> dict[str, dict[str, int]]:
        """Replies in which the frozen parser found no label, by judge and by how they begin."""
        from judgelaw.wire import parser_name

        parsers = {name: parser_name(judge) for name, judge in self.frozen.readers.items()}
        found: dict[str, dict[str, int]] = {}
        for judge, criterion, parser, form, count in (
            self.ledger.unreadable() if self.ledger else ()
        ):
            if parser == parsers.get(judge):
                found.setdefault(stream_name(judge, criterion), {})[form] = count
        return found

    def _of_wave(self, layer: str | None = None) -> Iterator[StoredReply]:
        """Yield the replies of the wave that is looked at."""
        for reply in self.ledger.replies(layer) if self.ledger else ():
            if reply.date == self.date:
                yield reply

    def completions(self, layer: str | None) -> "Completions":
        """Return the replies of the layer that a page shows, by judge and place."""
        if layer not in self._replies:
            self._replies[layer] = list(self._of_wave(layer))
        found: dict[str, dict[Place, str]] = {}
        for reply in chain(self._reused_replies(layer), self._replies[layer]):
            place = (reply.item, reply.prompt, reply.order, reply.repeat)
            for name in self.frozen.judges[reply.judge].streams:
                found.setdefault(name, {})[place] = _text(reply)
        return found

    def _reused_replies(self, layer: str | None) -> Iterator[StoredReply]:
        """Yield the replies of another layer that are part of this one too."""
        depth = self.frozen.study.depth.get(str(layer), 0)
        items = set(self.frozen.blueprint.members.get(str(layer), ()))
        for (name, judge), (source, _) in self.reused.items():
            for reply in self._of_wave(source) if name == layer else ():
                if (
                    reply.judge == self.asked[judge]
                    and reply.repeat < depth
                    and reply.item in items
                ):
                    yield reply

    def questions(self) -> "Questions":
        """Return what was asked about every item, and the answers that were judged."""
        from judgelaw.page import Question

        return {
            item.id: Question(
                instruction=item.instruction,
                answers=(
                    *(
                        (name, text)
                        for name, text in item.texts.items()
                        if text not in (item.instruction, *item.candidates)
                    ),
                    *zip(
                        sides(self.frozen.study.task, len(item.candidates)),
                        item.candidates,
                        strict=True,
                    ),
                ),
            )
            for item in self.frozen.items.values()
        }

    def judge_configurations(self) -> "dict[str, dict[str, Cell]]":
        """Return the frozen configuration of every judge as the columns of a table."""
        from judgelaw.wire import parser_name

        found: dict[str, dict[str, Cell]] = {}
        for name, judge in self.frozen.judges.items():
            decoding = judge.decoding.model_dump(exclude_none=True)
            found[name] = {
                "provider": judge.provider,
                "renderer": _renderer(judge),
                "model": judge.model,
                "revision": judge.revision,
                "decoding": ", ".join(f"{k} {v}" for k, v in decoding.items()),
                "stop": ", ".join(map(repr, judge.stop or ())),
                "truncated": judge.truncated,
                "seed": judge.seed,
                "parser": parser_name(self.frozen.readers[name]),
                "sha256": judge.fingerprint,
            }
        return found

    def integrity(self) -> list[tuple[str, str]]:
        """Return what the ledger counts, for the analysis: planned, completed, retried, flagged."""
        rows = [("Frozen manifest", f"{self.frozen.count:,} calls")]
        if self.ledger is None or self.totals is None:
            return rows
        failed = f"{self.totals.failed:,} and {self.totals.orphaned:,}"
        rows += [
            ("Completed calls", f"{self.totals.completed:,}"),
            ("Attempts that failed or were orphaned", failed),
            ("Replies flagged as replayed or of another model", f"{len(self.flags):,}"),
        ]
        if losses := self.ledger.losses():
            replies = sum(loss.replies for loss in losses)
            attempts = sum(loss.attempts for loss in losses)
            rows += [
                ("Replies lost from the ledger and asked again", f"{replies:,}"),
                ("Attempts lost from the ledger", f"{attempts:,}"),
            ]
        return rows

    def checks(self, *, verified: bool = False) -> dict[str, str]:
        """Return what acquisition left behind, for the page, in words; verify the run if asked."""
        found: dict[str, str] = {}
        if t := self.totals:
            found = {
                "Calls planned and completed": f"{t.planned:,} and {t.completed:,}",
                "Replies that may be paid for and lost": f"{t.at_risk:,}",
                "Tokens read and written": f"{t.input_tokens:,} and {t.output_tokens:,}",
            }
            if t.cached_tokens:
                found["Tokens read from the providers' prompt cache"] = f"{t.cached_tokens:,}"
        if verified:
            from judgelaw.acquire.verify import verify

            for check in verify(self.path).checks:
                found[check.name] = f"{'ok' if check.ok else 'WRONG'}: {check.detail}"
        return found

    def configuration(self) -> dict[str, Any]:
        """Lay out study, judges and prompts with their hashes, without any provider's key."""
        from judgelaw.page import PROMPTS_PART

        record = self.frozen.record
        elsewhere = {"judges", "prompts", "items"}
        if self.frozen.study.task == "pointwise":
            elsewhere.add("orders")  # single answers have none, whatever the field's default
        study = {k: v for k, v in record.study.items() if k not in elsewhere}
        parts: dict[str, Any] = {
            "Study": {"source_sha256": record.source_sha256, **_only_limits(study)},
            "Fixed before the first request": _only_limits(record.beforehand)
            or "nothing beyond the study",
        }
        for name, judge in self.frozen.judges.items():
            values = judge.model_dump(mode="json", exclude_none=True, exclude=set(_SECRET))
            parts[f"Judge {name}"] = {"sha256": record.judges.get(name), **values}
        parts[PROMPTS_PART] = {name: self._prompt(name) for name in record.prompts}
        if changes := record.amendments:
            parts["Changed since"] = {str(i): change for i, change in enumerate(changes, start=1)}
        parts["Versions"] = record.versions
        return parts

    def _prompt(self, name: str) -> dict[str, str]:
        from judgelaw.page import OPENS_WITH, TEXT, opening

        found = {"sha256": self.frozen.record.prompts[name]}
        if name in self.frozen.templates:
            text = self.frozen.templates[name].text
            found |= {OPENS_WITH: opening(text), TEXT: text}
        return found


def _renderer(judge: "JudgeSpec") -> str:
    """Return what makes the request: a chat template of the study, else the provider's format."""
    if judge.template is None:
        return judge.provider
    name = judge.template.path and Path(judge.template.path).name
    return f"{judge.provider}, {name or 'chat template'}"


def _only_limits(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the limits that a gate does not declare."""
    gate = declared.get("gate")
    if not isinstance(gate, dict):
        return dict(declared)
    return {**declared, "gate": {name: limit for name, limit in gate.items() if limit is not None}}


def _seconds(
    path: Path,
    tensors: "Mapping[Key, VerdictTensor]",
    calls: "Mapping[Key, Key]",
    date: str | None,
    column: str,
) -> "dict[Key, NDArray[np.float64]]":
    """Read a time of each call, shaped like the ranked verdicts of its stream."""
    import duckdb
    import numpy as np

    query = (
        f'SELECT item, prompt, "order", repeat, {column} '  # noqa: S608 - quoted
        f"FROM {one_file(path)} WHERE {column} IS NOT NULL AND layer = ? AND judge = ?"
        + ("" if date is None else " AND date = ?")
    )
    wave = () if date is None else (date,)
    found: dict[Key, NDArray[np.float64]] = {}
    with duckdb.connect() as connection:
        for key, tensor in tensors.items():
            if tensor.ranked is None:
                continue
            made = connection.execute(query, [*calls[key], *wave]).fetchnumpy()
            *names, repeats, started = made.values()
            axes = (tensor.items, tensor.prompts, tensor.orders)
            places = np.array([*map(_places, axes, names), repeats])
            # Items that were dropped as incomplete, or ranks that were cut, have no place.
            there = ((places >= 0) & (repeats < tensor.ranked.shape[-1])).all(axis=0)
            found[key] = np.full(tensor.ranked.shape, np.nan)
            found[key][tuple(places[:, there])] = started[there]
    return found


def _places(axis: Sequence[str], names: "NDArray[Any]") -> list[int]:
    """Return the place of every name on an axis, -1 where it has none."""
    places = {name: i for i, name in enumerate(axis)}
    return [places.get(name, -1) for name in names.tolist()]


class _Stream:
    """What the replies of one stream say, gathered row by row: long texts are not kept."""

    def __init__(self) -> None:
        self.cells: dict[tuple[str, str, str], int] = {}
        self.rows: list[tuple[int, int, str | None, str | None, int | None]] = []
        self.flags: Counter[str] = Counter()

    def add(self, reply: StoredReply, flags: Iterable[str]) -> None:
        """Take in one reply."""
        _, _, _, item, prompt, order, repeat, seed, response_id, text, _, _, _ = reply
        cell = self.cells.setdefault((item, prompt, order), len(self.cells))
        if text is not None and len(text) >= _SHORT:
            text = sha256(text.encode()).hexdigest()
        self.rows.append((cell, repeat, response_id, text, seed))
        for kind in flags:
            self.flags[kind] += 1

    def facts(
        self, *, asked: str | None, models: Mapping[str, int], unreadable: Mapping[str, int]
    ) -> "ReplyFacts":
        """Lay out one value for each reply, (cells, repeats)."""
        import numpy as np

        from judgelaw.diagnose import ReplyFacts

        cells, repeats, *columns = (list(column) for column in zip(*self.rows, strict=True))
        grids = []
        for values in columns:
            grid = np.full((len(self.cells), 1 + max(repeats)), None, dtype=object)
            grid[cells, repeats] = values
            grids.append(grid)
        response_ids, texts, seeds = grids
        return ReplyFacts(
            response_ids=response_ids,
            texts=texts,
            seeds=seeds,
            flags=dict(self.flags),
            asked=asked,
            models={name: count for name, count in models.items() if name != "not said"},
            unreadable=unreadable,
        )


def _text(reply: StoredReply) -> str:
    """Return what a reply says, or why it says nothing."""
    if reply.content_filtered:
        return "(withheld by the provider's content filter)"
    return f"(refusal) {reply.refusal}" if reply.refusal else reply.text or ""
