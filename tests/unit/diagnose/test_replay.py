"""Replay: ids, seeds, texts, and streams that are copies of each other."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from judgelaw.diagnose import ReplyFacts, diagnose, identical_texts, overlap, replay_finding
from judgelaw.diagnose.replay import model_finding
from judgelaw.streams import stream
from judgelaw.uncertainty import Resampling
from judgelaw.worlds import World
from support.streams import drawn, of_codes

WORLD = World.from_effects(prompt=0.004, item_spread=0.3)


def copies_finding(streams):
    tensors = {(None, name): tensor for name, tensor in streams.items()}
    found = diagnose(tensors, main=None, how=Resampling(draws=50, seed=1)).findings
    (finding,) = [f for f in found if f.name == "copied_streams"]
    return finding


def names(prefix, shape=(6, 4)):
    return np.array([f"{prefix}-{i}" for i in range(np.prod(shape))], dtype=object).reshape(shape)


def clean():
    texts = names("a reply that is long enough to be told from another one")
    return ReplyFacts(response_ids=names("id"), texts=texts, seeds=names("seed"))


def test_distinct_replies_are_fine():
    assert replay_finding(clean(), subject="judge").verdict == "ok"


def test_a_table_alone_leaves_it_unknown():
    assert replay_finding(None, subject="judge").verdict == "unknown"


@pytest.mark.parametrize(
    ("field", "words"), [("response_ids", "response id"), ("seeds", "seed that another call")]
)
def test_repeated_ids_and_seeds_are_found(field, words):
    values = getattr(clean(), field).copy()
    values[2, 1] = values[0, 0]
    finding = replay_finding(replace(clean(), **{field: values}), subject="judge")
    assert finding.verdict == "problem"
    assert words in finding.headline
    assert finding.figures[f"repeated_{field}"] == 2


def test_identical_long_texts_in_every_repeat_are_found():
    texts = clean().texts.copy()
    texts[:4] = texts[:4, :1]
    assert identical_texts(texts) == (4, 6)
    finding = replay_finding(replace(clean(), texts=texts), subject="judge")
    assert finding.verdict == "notice", "a judge at temperature 0 is no copy of itself"
    assert "4 of 6 cells" in finding.headline


def test_a_reason_that_a_judge_always_gives_is_no_copy():
    """367 of 600 calls of one run had the same reason, under ids and seeds of their own."""
    reason = "Both answers are helpful, and the first one is more to the point."
    texts = clean().texts.copy()
    texts[:4] = reason
    assert identical_texts(texts) == (0, 2)
    assert replay_finding(replace(clean(), texts=texts), subject="judge").verdict == "ok"
    texts[:] = reason
    assert identical_texts(texts) == (0, 0)
    assert replay_finding(replace(clean(), texts=texts), subject="judge").verdict == "ok"


def test_short_verdicts_may_repeat():
    """Every repeat saying "A" is what a judge with an eight-token cap does."""
    texts = np.full((6, 4), "A", dtype=object)
    assert replay_finding(replace(clean(), texts=texts), subject="judge").verdict == "ok"


def test_flags_of_the_ledger_are_passed_on():
    flagged = replace(clean(), flags={"another model": 3, "replay": 0})
    finding = replay_finding(flagged, subject="judge")
    assert finding.verdict == "problem"
    assert "3 replies as another model" in finding.headline


def test_a_run_that_is_a_copy_is_found():
    a = drawn(world=WORLD, seed=1)
    finding = copies_finding({"monday": a, "tuesday": replace(a, judge="other")})
    assert finding.verdict == "problem"
    assert "monday and tuesday" in finding.headline
    assert "100.0%" in finding.headline


def test_a_partial_copy_is_found():
    """A third of the calls taken over from another run: agreement is far from complete."""
    a, b = drawn(world=WORLD, seed=1), drawn(world=WORLD, seed=2)
    taken = stream(3, "taken").random(a.ranked.shape) < 1 / 3
    mixed = of_codes(np.where(taken, a.ranked, b.ranked), strata=2)
    assert overlap(a, mixed).identical < 0.75
    assert copies_finding({"a": a, "mixed": mixed}).verdict == "problem"


@pytest.mark.parametrize("seed", range(10))
def test_independent_runs_of_one_judge_are_not_copies(seed):
    """They agree often, being the same judge, but not rank by rank."""
    a, b = drawn(world=WORLD, seed=seed), drawn(world=WORLD, seed=100 + seed)
    assert not overlap(a, b).copied
    assert copies_finding({"a": a, "b": b}).verdict == "ok"


def test_overlap_has_the_moments_of_random_matching():
    """z over independent streams has mean 0 and variance 1."""
    z = []
    for seed in range(200):
        rng = stream(seed, "moments")
        a, b = (
            of_codes(WORLD.draw(rng, items=8, prompts=2, orders=2, repeats=4)) for _ in range(2)
        )
        z.append(overlap(a, b).z)
    assert abs(np.mean(z)) < 0.25
    assert 0.8 < np.std(z) < 1.2


def test_moments_are_those_of_all_matchings():
    """One cell of each stream: all 24 matchings of four ranks, written out."""
    a, b = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0])
    found = overlap(*(of_codes(z[None, None, None]) for z in (a, b)))
    matches = [np.sum(a[list(order)] == b) for order in permutations(range(4))]
    assert found.expected == pytest.approx(np.mean(matches) / 4)
    assert found.z == pytest.approx((np.sum(a == b) - np.mean(matches)) / np.std(matches))


def test_streams_without_common_items_are_unknown():
    a = drawn()
    b = replace(a, items=tuple(f"other-{i}" for i in range(len(a.items))))
    assert overlap(a, b) is None
    assert copies_finding({"a": a, "b": b}).verdict == "unknown"


def test_alphabets_are_matched_by_name():
    a = drawn(world=WORLD, seed=1)
    order = [2, 0, 3, 1]
    renamed = of_codes(
        np.argsort(order)[a.ranked], verdicts=[a.verdicts[i] for i in order], strata=2
    )
    assert overlap(a, renamed).identical == 1


def test_settled_runs_that_agree_everywhere_are_not_called_copies():
    """Two cells deviate, in both runs at the same rank of four: chance does that in 1 of 16."""
    codes = np.zeros((10, 3, 2, 4), dtype=int)
    codes[:2, 0, 0, 2] = 1
    a, b = of_codes(codes), of_codes(codes.copy())
    assert overlap(a, b).identical == 1
    assert overlap(a, b).least == pytest.approx(1 / 16)
    assert not overlap(a, b).copied
    assert copies_finding({"a": a, "b": b}).verdict != "problem"


def test_another_name_of_the_same_model_is_no_replay():
    facts = replace(clean(), asked="gpt-4.1-mini", models={"gpt-4.1-mini-2025-04-14": 24})
    assert replay_finding(facts, subject="judge").verdict == "ok"
    finding = model_finding(facts, subject="judge")
    assert finding.verdict == "ok"
    assert "gpt-4.1-mini-2025-04-14, where gpt-4.1-mini was asked for" in finding.headline


def test_a_model_that_changes_within_a_run_is_a_problem():
    facts = replace(clean(), asked="m", models={"m-1": 20, "m-2": 4}, flags={"model": 24})
    finding = model_finding(facts, subject="judge")
    assert finding.verdict == "problem"
    assert "changed within the run: m-1 (20 replies), m-2 (4 replies)" in finding.headline
    assert replay_finding(facts, subject="judge").verdict == "ok"


def test_another_model_throughout_is_a_problem_and_another_backend_a_notice():
    other = replace(clean(), asked="m", models={"x": 24}, flags={"model": 24})
    assert "x answered where m was asked for" in model_finding(other, subject="judge").headline
    moved = replace(clean(), asked="m", models={"m": 24}, flags={"fingerprint": 5})
    assert model_finding(moved, subject="judge").verdict == "notice"
    assert model_finding(clean(), subject="judge") is None
