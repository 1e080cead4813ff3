"""Caches are found by the times of calls; honest judges are left alone."""

from dataclasses import replace

import numpy as np
import pytest

from judgelaw.diagnose import diagnose
from judgelaw.diagnose.cached import _law
from judgelaw.uncertainty import Resampling
from support.timed_calls import CACHED, HONEST, KEY, ask, coin, settled


def found(asked, seed=0):
    tensor, evidence = asked.stream()
    how = Resampling(draws=50, seed=seed)
    said = diagnose({KEY: tensor}, main=None, how=how, evidence=evidence)
    return next(each for each in said.findings if each.name == "cached")


@pytest.mark.parametrize("name", CACHED)
@pytest.mark.parametrize("seed", range(2))
def test_a_coin_behind_a_cache_is_found_with_the_remedy(name, seed):
    seconds, key, hit = CACHED[name]
    rng = np.random.default_rng([seed, 1])
    finding = found(ask(seconds, coin, rng, key=key, hit=lambda r: hit(None, 0, r)))
    assert finding.verdict == "problem"
    assert "Replies come from a cache" in finding.headline
    assert "call.repeat" in finding.advice


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_judge_is_left_alone(name):
    seconds, law = HONEST[name]
    assert found(ask(seconds, law, np.random.default_rng(5))).verdict == "ok"


def test_faster_repeats_that_say_something_else_are_no_copies():
    """As where a server keeps the prompt, and draws every reply."""
    seconds, key, hit = CACHED["in a proxy"]
    asked = ask(seconds, settled, np.random.default_rng(2), key=key, hit=lambda r: hit(None, 0, r))
    said = np.random.default_rng(3).integers(2, size=asked.said.shape)
    assert found(replace(asked, said=said)).verdict == "ok"


def test_without_times_nothing_is_said():
    tensor, _ = ask(lambda *_: 1.0, coin, np.random.default_rng(1)).stream()
    finding = next(
        each
        for each in diagnose({KEY: tensor}, main=None, how=Resampling(draws=50, seed=0)).findings
        if each.name == "cached"
    )
    assert finding.verdict == "unknown"


def test_the_law_of_first_calls_is_exact():
    chances = np.array([0.25, 0.5, 0.5])
    by_hand = np.zeros(4)
    for bits in np.ndindex(2, 2, 2):
        taken = np.where(bits, chances, 1 - chances)
        by_hand[sum(bits)] += taken.prod()
    assert _law(chances) == pytest.approx(by_hand, abs=1e-15)
