"""Engine, ledger and provider under seeds: whatever happens, the promises hold.

A seed that breaks one is printed with the command that replays it.
"""

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from simulation import plants
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


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (plants.commit_after_parse, "is parsed before it is durable"),
        (plants.mark_after_send, "the provider saw call"),
        (plants.commits_without_sync, "the durable completion of call"),
        (plants.marks_of_another_boot, "the provider saw call"),
        (plants.retry_on_content, "although its reply is in hand"),
        (plants.another_reply_stored, "with what the provider never sent"),
    ],
)
def test_a_planted_bug_is_found(plant, words, monkeypatch):
    plant(monkeypatch)
    for seed in range(WITHIN):
        for violations in play([seed]).values():
            if any(words in violation for violation in violations):
                return
    pytest.fail(f"{plant.__name__} was not found within {WITHIN} seeds")
