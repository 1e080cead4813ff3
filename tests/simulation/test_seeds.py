"""Engine, ledger and provider under seeds: whatever happens, the promises hold.

A seed that breaks one is printed with the command that replays it.
"""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from judgelaw.acquire.lane import Lane
from judgelaw.judges import Answer, Failure, FailureKind
from judgelaw.judges.http import HttpJudge
from judgelaw.ledger import SqliteLedger, sqlite
from judgelaw.ledger.sent import LeftMarks
from simulation.world import play

FAST = range(100)
SLOW = range(1_000, 7_000)
SHARDS = 12
WITHIN = 200
"""A planted bug is found within so many seeds."""


def test_a_hundred_seeds_break_no_promise():
    assert play(FAST) == {}


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_thousands_of_seeds_break_no_promise(shard):
    assert play(islice(SLOW, shard, None, SHARDS)) == {}


def test_a_seed_replays_in_another_process():
    """The sequence is the same, wherever a process allocates and however it hashes."""
    assert replayed("1") == replayed("2")


def replayed(hash_seed: str) -> str:
    command = [sys.executable, "-m", "simulation.world", "--digest", *map(str, range(10))]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    folder = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    assert done.stdout.count(b"\n") == 10
    return done.stdout.decode()


def mark_after_send(patch) -> None:
    send, mark = Lane._send, SqliteLedger.sending

    async def nothing(_ledger, _reservation):
        pass

    async def late(lane, sent):
        failure = await send(lane, sent)
        await mark(lane._ledger, sent.reservation)
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

    def changed(lane, sent, reply, answer):
        answered(lane, sent, replace(reply, body=reply.body.replace(b"TIE", b"A")), answer)

    patch.setattr(Lane, "_answered", changed)


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (mark_after_send, "the provider saw call"),
        (commits_without_sync, "the durable completion of call"),
        (marks_of_another_boot, "the provider saw call"),
        (retry_on_content, "although its reply is in hand"),
        (another_reply_stored, "with what the provider never sent"),
    ],
)
def test_a_planted_bug_is_found(plant, words, monkeypatch):
    plant(monkeypatch)
    for seed in range(WITHIN):
        for violations in play([seed]).values():
            if any(words in violation for violation in violations):
                return
    pytest.fail(f"{plant.__name__} was not found within {WITHIN} seeds")
