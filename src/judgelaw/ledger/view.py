"""What the rows of a ledger say: the same readings, whatever database gives the rows."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Self

from judgelaw.ledger.records import (
    Judged,
    JudgeSummary,
    Reservation,
    StoredAttempt,
    StoredBatch,
    StoredCompletion,
    StoredReply,
    Totals,
    VerdictCount,
)
from judgelaw.study import PlannedCall
from judgelaw.wire import Completion, Receipt, Verdict, same_model

_TOKENS = ("input_tokens", "output_tokens", "cached_tokens")
_CALL_TOTALS = ("planned", "completed", *_TOKENS, "unmetered")
_ATTEMPT_TOTALS = ("in_flight", "failed", "orphaned", "refused", "unsent", "at_risk")


class LedgerView(ABC):
    """What anybody can read from a ledger at any time. Every total is a count of rows."""

    def totals(self, judge: str | None = None) -> Totals:
        """Count the run, or one judge of it."""
        calls = zip(_CALL_TOTALS, self._one("count_calls", judge), strict=True)
        attempts = zip(_ATTEMPT_TOTALS, self._one("count_attempts", judge), strict=True)
        return Totals(**dict(calls), **dict(attempts))

    def manifest(self) -> str | None:
        """Return the hash of the manifest whose calls were all taken in; None before the first."""
        return next((str(value) for (value,) in self._rows("manifest")), None)

    def flagged(self, judge: str | None = None) -> int:
        """Count the completed calls whose reply looks like another model's or an earlier one's."""
        ((count,),) = self._rows("count_flagged", judge, self._aliases())
        return int(count)

    def _aliases(self) -> str:
        """List the names that a judge's model was returned under, where they are one and its own.

        A name that only extends the one asked for says which model answered, and nothing more. A
        second name within a run is another matter.
        """
        names: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for judge, asked, returned in self._rows("returned_models"):
            names[judge].add((asked, returned))
        own = [
            f"{judge}\x1f{returned}"
            for judge, pairs in names.items()
            for asked, returned in pairs
            if len(pairs) == 1 and same_model(asked, returned)
        ]
        return "\x1e" + "\x1e".join(own) + "\x1e"

    def returned_models(self) -> Mapping[str, Mapping[str, int]]:
        """Count the replies of each judge by the model that they name."""
        return self._tally("models")

    def summaries(self) -> tuple[JudgeSummary, ...]:
        """Say how the calls of each judge ended."""
        reasons, failures, models, fingerprints = (
            self._tally(name) for name in ("finish_reasons", "failures", "models", "fingerprints")
        )
        flags = self._tally("flag_kinds", self._aliases())
        return tuple(
            JudgeSummary(
                judge=judge,
                planned=planned,
                completed=completed,
                retried=retried,
                finish_reasons=reasons[judge],
                failures=failures[judge],
                flags=flags[judge],
                models=models[judge],
                fingerprints=fingerprints[judge],
            )
            for judge, planned, completed, retried in self._rows("judge_calls")
        )

    def verdict_counts(self) -> tuple[VerdictCount, ...]:
        """Count verdicts by judge, parser version and reason."""
        return tuple(
            VerdictCount(judge=judge, parser=parser, verdict=verdict, reason=reason, count=count)
            for judge, parser, verdict, reason, count in self._rows("verdict_counts")
        )

    def failure_words(self) -> Iterator[tuple[str, str, int]]:
        """Yield `(judge, words, count)` of the attempts that failed, most first."""
        yield from self._rows("failure_words")

    def unread_attempts(self) -> Iterator[int]:
        """Yield the attempts whose reply came, and that no reader has taken yet."""
        for (attempt,) in self._rows("unread_attempts"):
            yield attempt

    def unread_fields(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield `(judge, field, reason, count)` of what readers could not take, most first."""
        yield from self._rows("unread_fields")

    def unreadable(self) -> Iterator[tuple[str, str | None, str, str, int]]:
        """Yield replies without a label, most first.

        Each as `(judge, criterion, parser, beginning, count)`; the criterion is None where a
        reply holds one verdict.
        """
        yield from self._rows("unreadable")

    def calls(self) -> Iterator[PlannedCall]:
        """Yield every call in schedule order."""
        return map(planned_call, self._rows("calls"))

    def attempts(self) -> Iterator[StoredAttempt]:
        """Yield every attempt in the sequence of reservation."""
        return map(StoredAttempt._make, self._rows("attempts"))

    def completions(self) -> Iterator[StoredCompletion]:
        """Yield every completed call in schedule order."""
        return map(_stored_completion, self._rows("completions"))

    def replies(self, layer: str | None = None) -> Iterator[StoredReply]:
        """Yield what every reply of a layer, or of the run, says and belongs to."""
        return map(StoredReply._make, self._rows("replies", layer))

    def coverage(self) -> dict[str, float]:
        """Return the share of the planned calls that completed, by judge."""
        return {judge: done / planned for judge, planned, done in self._rows("judge_shares")}

    def verdicts(self, parser: str | None = None) -> Iterator[tuple[str, Verdict]]:
        """Yield `(call_id, verdict)` in schedule order, under one parser version or under all."""
        for rows in _whole(self._rows("verdicts", parser), call=8):
            yield rows[0][8], _verdict(rows)

    def judged(self) -> Iterator[Judged]:
        """Yield every verdict by judge, layer, item, order, repeat, prompt and parser version."""
        return map(_judged, _whole(self._rows("judged"), call=19))

    def unjudged(self, judge: str, parser: str) -> Iterator[tuple[str, str, Completion]]:
        """Yield `(call_id, order, completion)` where this parser version has not judged."""
        for call_id, order, text, finish, refusal, filtered in self._rows(
            "unjudged", judge, parser
        ):
            yield (
                call_id,
                order,
                Completion(
                    text=text,
                    finish_reason=finish,
                    refusal=refusal,
                    content_filtered=bool(filtered),
                ),
            )

    def batches(self) -> Iterator[StoredBatch]:
        """Yield every batch in the sequence of its preparation."""
        return map(StoredBatch._make, self._rows("batches"))

    def flags(self) -> Iterator[tuple[str, str, str]]:
        """Yield `(call_id, kind, detail)` of every reply that looks like somebody else's."""
        yield from self._rows("flags", self._aliases())

    @abstractmethod
    def close(self) -> None:
        """Close the database."""

    @abstractmethod
    def _rows(self, name: str, *values: object) -> Iterator[Any]:
        """Yield the rows of a named statement."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _one(self, name: str, judge: str | None) -> Sequence[Any]:
        (row,) = self._rows(name, judge)
        return row  # type: ignore[no-any-return]  # database rows are untyped

    def _tally(self, name: str, *values: object) -> defaultdict[str, dict[str, int]]:
        tally: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for judge, key, count in self._rows(name, *values):
            tally[judge][key] = count
        return tally


def reservation(row: Sequence[Any]) -> Reservation:
    """Make a reservation of an attempt, its number, and the columns of its call."""
    return Reservation(attempt=row[0], number=row[1], call=planned_call(row[2:]))


def planned_call(row: Sequence[Any]) -> PlannedCall:
    """Make a call of the columns that the statements select, in their sequence."""
    call_id, judge, layer, item, stratum, prompt, order, repeat, seed, position, *rest = row
    request, payload, judge_sha256, gold, date = rest
    return PlannedCall(
        call_id=call_id,
        judge=judge,
        layer=layer,
        item=item,
        stratum=stratum,
        prompt=prompt,
        order=order,
        repeat=repeat,
        seed=seed,
        position=position,
        request_sha256=request.hex(),
        payload_sha256=payload.hex(),
        judge_sha256=judge_sha256.hex(),
        gold=gold,
        date=date,
    )


def _whole(rows: Iterator[Any], *, call: int) -> Iterator[list[Sequence[Any]]]:
    """Gather the rows of one reply and parser version: one for each criterion, or one in all.

    Args:
        rows: four columns about a criterion, four about the reply, and more.
        call: the column that names the call.
    """
    for _, same in groupby(rows, key=lambda row: (row[call], row[4])):
        yield list(same)


def _verdict(rows: Sequence[Sequence[Any]]) -> Verdict:
    """Make the verdict of a reply, with those on its criteria."""
    parser, verdict, displayed, reason = rows[0][4:8]
    return Verdict(
        parser=parser,
        verdict=verdict,
        displayed=displayed,
        reason=reason,
        criteria=tuple(
            (row[0], Verdict(parser=parser, verdict=row[1], displayed=row[2], reason=row[3]))
            for row in rows
            if row[0] is not None
        ),
    )


def _judged(rows: Sequence[Sequence[Any]]) -> Judged:
    attempts, sent, ended, finish, tokens_in, tokens_out, cached = rows[0][8:15]
    tokens, text, refusal, filtered = rows[0][15:19]
    return Judged(
        call=planned_call(rows[0][19:]),
        verdict=_verdict(rows),
        attempts=attempts,
        sent_at=sent,
        ended_at=ended,
        finish_reason=finish,
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cached_tokens=cached,
        completion=None
        if tokens is None
        else Completion(
            text=text, finish_reason=finish, refusal=refusal, content_filtered=bool(filtered)
        ),
        tokens=tokens,
    )


def _stored_completion(row: Sequence[Any]) -> StoredCompletion:
    attempt, attempts, sent, ended, status, body, text, finish, refusal, filtered = row[:10]
    tokens_in, tokens_out, cached, model, fingerprint, response_id, seed, replayed = row[10:18]
    return StoredCompletion(
        call=planned_call(row[18:]),
        attempt=attempt,
        attempts=attempts,
        sent_at=sent,
        ended_at=ended,
        status=status,
        body=body,
        completion=Completion(
            text=text, finish_reason=finish, refusal=refusal, content_filtered=bool(filtered)
        ),
        receipt=Receipt(
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cached_tokens=cached,
            model=model,
            fingerprint=fingerprint,
            response_id=response_id,
            echoed_seed=seed,
            replayed=bool(replayed),
        ),
    )
