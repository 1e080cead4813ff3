"""Shards: slices of one manifest asked apart, joined into the run that one process would leave."""

import shutil
import signal
import sqlite3
import subprocess
import sys
from itertools import pairwise

import pytest

from judgelaw.acquire import acquire, merge_shards
from judgelaw.acquire.verify import verify
from judgelaw.cli import main
from judgelaw.errors import IncompleteRunError, InputError, IntegrityError, RunLockedError
from judgelaw.ledger import LEDGER_NAME, SENT_NAME, RunLock
from judgelaw.study import Shard, freeze, load_study, open_run
from servers.provider import Provider, first, reply
from servers.study import chat_judge, simulated_judge, write_study

LAYERS = [
    {"name": "audit"},
    {"name": "control", "role": "control", "repeats": 2, "labels": 3},
]


@pytest.fixture
def study(tmp_path):
    return load_study(write_study(tmp_path, [simulated_judge()], items=7, layers=LAYERS))


def shards_of(study, tmp_path, of):
    return [
        freeze(study, tmp_path / f"part-{k}", shard=Shard(number=k, of=of))
        for k in range(1, of + 1)
    ]


def asked(study, tmp_path, of=3):
    shards = shards_of(study, tmp_path, of)
    for shard in shards:
        acquire(shard).raise_if_open()
    return [shard.path for shard in shards]


def wrong(verified):
    return [check for check in verified.checks if not check.ok]


def test_shards_divide_the_calls_by_whole_items(study, tmp_path):
    shards = shards_of(study, tmp_path, 3)
    calls = [list(shard.asked_calls()) for shard in shards]
    assert [len(found) for found in calls] == [shard.asked_count for shard in shards]
    items = [{call.item for call in found} for found in calls]
    assert [len(found) for found in items] == [3, 2, 2]
    assert len(set.union(*items)) == sum(map(len, items)) == 7
    together = sorted((c for found in calls for c in found), key=lambda c: c.position)
    assert together == list(shards[0].iter_calls())


def test_shards_joined_are_the_run_of_one_process(study, tmp_path):
    whole = freeze(study, tmp_path / "whole")
    acquire(whole).raise_if_open()
    out = tmp_path / "joined"
    totals = merge_shards(asked(study, tmp_path)[::-1], out)
    assert totals.completed == totals.attempts == whole.count
    for name in ("manifest.parquet", "manifest.json", "calls.parquet", "sealed/labels.parquet"):
        assert (out / name).read_bytes() == (whole.path / name).read_bytes(), name
    assert not wrong(verify(out))
    again = freeze(study, out)  # the study resumes it as any run
    assert acquire(again).totals.attempts == whole.count


def test_a_shard_verifies_by_itself_and_nobody_analyses_it(study, tmp_path, capsys):
    part, *_ = asked(study, tmp_path)
    assert not wrong(verify(part))
    with pytest.raises(SystemExit) as stop:
        main(["analyze", str(part)])
    assert stop.value.code == 2
    assert "is shard 1/3 of a run" in capsys.readouterr().err


def test_a_missing_shard_is_named(study, tmp_path):
    one, _, three = asked(study, tmp_path)
    with pytest.raises(IncompleteRunError, match=r"1 of 3 shards missing: '?2/3"):
        merge_shards([one, three], tmp_path / "joined")
    assert not (tmp_path / "joined").exists()


def test_what_does_not_join_is_refused(study, tmp_path):
    one, two, three = asked(study, tmp_path)
    out = tmp_path / "joined"
    with pytest.raises(InputError, match="both shard 1/3"):
        merge_shards([one, one, two, three], out)
    whole = freeze(study, tmp_path / "whole")
    with pytest.raises(InputError, match="a whole run, not a shard"):
        merge_shards([whole.path, two, three], out)
    half = freeze(study, tmp_path / "half", shard=Shard(number=1, of=2))
    with pytest.raises(InputError, match="different divisions"):
        merge_shards([half.path, two, three], out)
    other = load_study(write_study(tmp_path / "b", [simulated_judge()], items=7, seed=5))
    foreign = freeze(other, tmp_path / "foreign", shard=Shard(number=1, of=3))
    with pytest.raises(InputError, match="different studies"):
        merge_shards([foreign.path, two, three], out)
    with RunLock(two), pytest.raises(RunLockedError):
        merge_shards([one, two, three], out)
    shutil.copytree(one, out)
    with pytest.raises(InputError, match="is not empty"):
        merge_shards([one, two, three], out)


def test_a_shard_that_was_never_asked_is_named(study, tmp_path):
    shards = shards_of(study, tmp_path, 2)
    acquire(shards[0]).raise_if_open()
    with pytest.raises(IncompleteRunError, match="nothing was asked there yet"):
        merge_shards([shard.path for shard in shards], tmp_path / "joined")


def test_a_call_that_two_shards_hold_is_refused(study, tmp_path):
    """A copy under another number: the rows tell, whatever the records say."""
    one, two, three = asked(study, tmp_path)
    shutil.copyfile(one / LEDGER_NAME, three / LEDGER_NAME)
    with pytest.raises(IntegrityError, match="was asked in two of them"):
        merge_shards([one, two, three], tmp_path / "joined")
    assert not (tmp_path / "joined" / "manifest.json").exists()


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from judgelaw.ledger import SqliteLedger
from judgelaw.study import file_sha256, open_run

shard = open_run(Path(sys.argv[1]))

async def send():
    (reservation,) = await ledger.reserve("chat", after=-1, limit=1)
    await ledger.sending(reservation)

with SqliteLedger(shard.path) as ledger:
    manifest = file_sha256(shard.path / "manifest.parquet")
    ledger.load(shard.judges, shard.asked_calls(), manifest=manifest)
    asyncio.run(send())
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_while_asking(shard):
    """Leave an attempt on the wire, as a kill does."""
    done = subprocess.run([sys.executable, "-c", KILLED, shard.path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (shard.path / SENT_NAME).exists()


def test_failures_and_orphans_are_added_up_and_open_calls_stay_open(tmp_path):
    """Both shards lose a call to a kill, one resumes; each fails once before it answers."""
    with Provider(first(reply(503))) as server:
        path = write_study(
            tmp_path, [chat_judge(server.base_url)], items=4, transport={"backoff_s": 0.01}
        )
        one, two = shards_of(load_study(path), tmp_path, 2)
        for shard in (one, two):
            kill_while_asking(shard)
        acquire(one).raise_if_open()
        totals = merge_shards([one.path, two.path], tmp_path / "joined")
        assert (totals.completed, totals.open) == (one.asked_count, two.asked_count)
        assert (totals.failed, totals.orphaned, totals.in_flight) == (one.asked_count, 2, 0)
        assert not wrong(verify(tmp_path / "joined"))
        asked_before = len(server.seen)
        acquire(open_run(tmp_path / "joined")).raise_if_open()
        assert len(server.seen) - asked_before == 2 * two.asked_count
    assert not wrong(verify(tmp_path / "joined"))


def test_a_shard_takes_its_share_of_budget_and_limits(tmp_path):
    path = write_study(
        tmp_path,
        [simulated_judge(price={"input_per_mtok": 1.0, "output_per_mtok": 1.0})],
        items=7,
        budget={"calls": 100, "tokens": 1001, "usd": 1.0},
        transport={"requests_per_minute": 100, "tokens_per_minute": 2},
    )
    shards = shards_of(load_study(path), tmp_path, 3)
    budgets = [shard.budget for shard in shards]
    assert [budget.calls for budget in budgets] == [42, 28, 28]
    assert sum(budget.tokens for budget in budgets) <= 1001
    assert sum(budget.usd for budget in budgets) == pytest.approx(1.0)
    assert {shard.transport.requests_per_minute for shard in shards} == {33}
    assert {shard.transport.tokens_per_minute for shard in shards} == {1}
    assert shards[0].study.budget.calls == 100


def test_a_folder_goes_on_as_the_shard_that_it_is(study, tmp_path):
    one = freeze(study, tmp_path / "part", shard=Shard(number=1, of=2))
    assert freeze(study, one.path, shard=Shard(number=1, of=2)).shard == one.shard
    with pytest.raises(InputError, match="is shard 1/2: go on with --shard 1/2"):
        freeze(study, one.path, shard=Shard(number=2, of=2))
    with pytest.raises(InputError, match="is shard 1/2"):
        freeze(study, one.path)
    whole = freeze(study, tmp_path / "whole")
    with pytest.raises(InputError, match="holds a whole run"):
        freeze(study, whole.path, shard=Shard(number=1, of=2))


def test_looks_are_refused_with_a_word(tmp_path, capsys):
    stop = {"component": "prompt", "limit": 0.1, "looks": [4, 8]}
    path = write_study(tmp_path, [simulated_judge()], items=4, stop=stop, repeats=8)
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(path), "--shard", "1/2"])
    assert ended.value.code == 2
    assert "looks are taken at the calls of all items together" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(InputError, match="no shard; write which of how many"):
        Shard.read(text)


def test_more_shards_than_items_are_refused(study, tmp_path):
    with pytest.raises(InputError, match="plan at most 7 shards"):
        freeze(study, tmp_path / "part", shard=Shard(number=1, of=8))


def test_the_commands_ask_and_join(tmp_path, capsys, monkeypatch):
    path = write_study(tmp_path, [simulated_judge()], items=4)
    monkeypatch.chdir(tmp_path)
    commands = [["-q", "audit", str(path), "--shard", f"{k}/2"] for k in (1, 2)]
    parts = ["runs/small-1-of-2", "runs/small-2-of-2"]
    for words in (*commands, ["merge", *parts, "--out", "runs/joined"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert not ended.value.code, capsys.readouterr().err
    out = capsys.readouterr()
    assert out.out.split()[-1] == "runs/joined"
    assert "32 of 32 calls from 2 shards, 32 attempts (0 failed, 0 orphaned)" in out.err
    assert open_run("runs/joined").shard is None


def test_rows_keep_their_sequence_and_their_sessions(study, tmp_path):
    """Numbers of a later part follow those of an earlier one, in every table that has some."""
    parts = asked(study, tmp_path)
    merge_shards(parts, tmp_path / "joined")
    connection = sqlite3.connect(tmp_path / "joined" / LEDGER_NAME)
    found = connection.execute(
        "SELECT a.session, a.id FROM attempts a JOIN completions r ON r.attempt = a.id ORDER BY 2"
    ).fetchall()
    connection.close()
    assert {session for session, _ in found} == {1, 2, 3}
    assert all(before <= after for (before, _), (after, _) in pairwise(found))
