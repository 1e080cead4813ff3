"""The rows of the calls table: by criterion, with token probabilities, where there are some."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from judgelaw.ledger import Judged
from judgelaw.study import FrozenRun, gold_of
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID
from judgelaw.wire import JudgeSpec, Reader, label_words, parser_name, vector_of
from judgelaw.words import candidate_names

CALLS_COLUMNS = (
    "judge",
    "layer",
    "item",
    "stratum",
    "prompt",
    "order",
    "repeat",
    "verdict",
    "gold",
)
_DIGITS = 9

Row = tuple[Any, ...]


def calls_columns(frozen: FrozenRun) -> tuple[str, ...]:
    """Return the columns of the calls table: clusters, dates and the like where it has any."""
    cluster = ("cluster",) if _has_clusters(frozen) else ()
    date = ("date",) if frozen.record.dates else ()
    criterion = ("criterion",) if frozen.study.criteria else ()
    verdicts = _verdicts(frozen)
    soft = (*(f"p_{verdict}" for verdict in verdicts), "missing") if verdicts else ()
    return (*CALLS_COLUMNS, *cluster, *date, *criterion, *soft)


def _has_clusters(frozen: FrozenRun) -> bool:
    return any(item.cluster for item in frozen.items.values())


def calls_rows(
    frozen: FrozenRun, judged: Iterable[Judged], parsers: Mapping[str, str] | None = None
) -> Iterator[Row]:
    """Yield the rows of the calls table: no ids, no times, no accounts.

    A reply has a row for each of its criteria; whoever counts replies counts them once. Vectors are
    read by the frozen parser: a judge whose verdicts are another parser's has none.
    """
    verdicts = _verdicts(frozen)
    asked = {
        name: spec
        for name, spec in frozen.readers.items()
        if spec.logprobs is not None and (parsers is None or parsers.get(name) == parser_name(spec))
    }
    clustered = _has_clusters(frozen)
    with ExitStack() as open_readers:
        readers = {n: open_readers.enter_context(Reader(spec)) for n, spec in asked.items()}
        for j in judged:
            c = j.call
            rest = (c.layer, c.item, c.stratum, c.prompt, c.order, c.repeat)
            cluster = (frozen.items[c.item].cluster,) if clustered else ()
            date = () if c.date is None else (c.date,)
            soft: Row = (None,) * (len(verdicts) + 1) if verdicts else ()
            if c.judge in asked:
                soft = _soft(j, asked[c.judge], readers[c.judge], verdicts)
            for judge, verdict, gold, *criterion in _answers(frozen, j):
                yield (judge, *rest, verdict, gold, *cluster, *date, *criterion, *soft)


def _answers(frozen: FrozenRun, j: Judged) -> Iterator[Row]:
    """Yield judge, verdict and gold of a reply, for each of its criteria where it has some."""
    c, asks = j.call, frozen.judges[j.call.judge].asks
    if asks is not None:
        yield (asks.judge, j.verdict.verdict, gold_of(c.gold, asks.criterion), asks.criterion)
    elif j.verdict.criteria:
        for name, part in j.verdict.criteria:
            yield (c.judge, part.verdict, gold_of(c.gold, name), name)
    else:
        yield (c.judge, j.verdict.verdict, c.gold)


def _soft(j: Judged, spec: JudgeSpec, reader: Reader, verdicts: tuple[str, ...]) -> Row:
    """Return the vector of a call, and the mass that it lacks; all of it where there is none."""
    found: Mapping[str, float] = {}
    if j.tokens is not None and j.completion is not None:
        found = vector_of(j.tokens, spec, j.completion, j.call.order, reader.read_all).verdicts
    p = [round(found.get(verdict, 0.0), _DIGITS) for verdict in verdicts]
    return (*p, round(max(0.0, 1 - sum(p)), _DIGITS))


def _verdicts(frozen: FrozenRun) -> tuple[str, ...]:
    """Return the verdicts that have a column; none where nobody asked for probabilities."""
    asked = [spec for spec in frozen.readers.values() if spec.logprobs is not None]
    if not asked:
        return ()
    if frozen.study.task != "pointwise":
        return (*candidate_names(frozen.study.candidates), *DEFAULT_VERDICTS[2:])
    labels = set(frozen.study.verdicts or ()) or {
        meaning for spec in asked for meaning in _meanings(spec)
    }
    return (*sorted(labels - {INVALID}), INVALID)


def _meanings(spec: JudgeSpec) -> tuple[str, ...]:
    labels = getattr(spec.parser, "labels", None)
    return tuple(labels.values()) if labels else label_words(spec)
