"""Bugs that are planted to see that they are found; each takes a `monkeypatch`."""

from dataclasses import replace

from judgelaw.acquire.lane import Lane
from judgelaw.acquire.readings import Readings, _Unread
from judgelaw.judges.http import HttpJudge
from judgelaw.ledger import SqliteLedger, sqlite
from judgelaw.ledger.lock import LeftMarks
from judgelaw.wire import Answer, Failure, FailureKind


def commit_after_parse(patch) -> None:
    answered = Lane._answered

    def eager(lane, sent, reply, answer, now):
        call = sent.reservation.call
        unread = _Unread(call_id=call.call_id, order=call.order, completion=answer.completion)
        lane.reading.take(unread)
        answered(lane, sent, reply, answer, now)

    patch.setattr(Lane, "_answered", eager)
    patch.setattr(Readings, "durable", lambda _readings, _records: None)


def mark_after_send(patch) -> None:
    send, mark = Lane._send, SqliteLedger.sending

    async def nothing(_ledger, _reservation):
        return True

    async def late(lane, sent):
        failure = await send(lane, sent)
        await mark(lane.ledger, sent.reservation)
        return failure

    patch.setattr(SqliteLedger, "sending", nothing)
    patch.setattr(Lane, "_send", late)


def commits_without_sync(patch) -> None:
    connect = sqlite._connect

    def unsynced(path):
        connection = connect(path)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    patch.setattr(sqlite, "_connect", unsynced)


def marks_of_another_boot(patch) -> None:
    patch.setattr(LeftMarks, "never_sent", lambda _marks, _attempt: True)


def retry_on_content(patch) -> None:
    decode = HttpJudge.decode

    def fussy(judge, reply):
        answer = decode(judge, reply)
        if isinstance(answer, Answer) and "cannot" in (answer.completion.text or ""):
            return Failure(kind=FailureKind.NO_COMPLETION, detail="no verdict in it")
        return answer

    patch.setattr(HttpJudge, "decode", fussy)


def another_reply_stored(patch) -> None:
    answered = Lane._answered

    def changed(lane, sent, reply, answer, now):
        answered(lane, sent, replace(reply, body=reply.body.replace(b"TIE", b"A")), answer, now)

    patch.setattr(Lane, "_answered", changed)
