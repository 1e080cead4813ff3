"""ICC, phi, alpha and the prompt's shared part: identities, enumeration, and coverage in short."""

from dataclasses import replace

import numpy as np
import pytest

from judgelaw.analysis.measures import reliability
from judgelaw.estimate import benchmark_effect, decompose
from judgelaw.scale import ScoreScale
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from support.enumeration import expectation, fractions, outcomes
from support.streams import drawn


def tensor(counts, verdicts=("fail", "pass"), **how):
    return VerdictTensor.from_counts(np.asarray(counts), verdicts=verdicts, **how)


def noisy(rng, items=60, prompts=3, repeats=4):
    law = rng.beta(0.4, 0.4, size=(items, 1)) * np.ones((1, prompts))
    yes = rng.binomial(repeats, law)
    return np.stack([repeats - yes, yes], axis=-1)[:, :, None]


def test_agreement_of_different_items_is_unbiased():
    """E of the mean of P_i . P_j over distinct items, by all tables of two items, in fractions."""
    laws = fractions([[["1/2", "1/2"]], [["1/5", "4/5"]]])
    n, chances = outcomes(laws, 3)
    means = n[:, :, 0] / 3
    rows = np.ones(2)
    found = [reliability._between(np.asarray(m, dtype=float), np.eye(2), rows) for m in means]
    assert expectation(np.array(found), chances.astype(float)) == pytest.approx(
        0.5 * 0.2 + 0.5 * 0.8, abs=1e-15
    )


def test_one_call_of_one_prompt_is_the_icc():
    t = tensor(noisy(np.random.default_rng(1)))
    first = next(s for s in reliability.dependability(t) if s.calls == 1)
    assert first.phi == pytest.approx(reliability.icc(t).estimate)
    assert 0 < reliability.icc(t).low < first.phi < reliability.icc(t).high < 1


def test_more_of_everything_tells_items_apart_better():
    studies = reliability.dependability(drawn(items=40, prompts=4, repeats=4))
    by = {(s.prompts, s.orders, s.repeats): s.phi for s in studies}
    assert by[1, 1, 1] < by[1, 1, 8]
    assert by[4, 2, 16] == pytest.approx(max(by.values()))


def test_all_prompts_and_orders_leave_chance_alone():
    t = drawn(items=40, prompts=4, repeats=4)
    U = {name: float(x.mean()) for name, x in decompose(t).items()}
    study = next(
        s
        for s in reliability.dependability(t)
        if (s.prompts, s.orders, s.repeats) == (4, len(t.orders), 2)
    )
    noise = U["call"] / study.calls
    item = study.phi * noise / (1 - study.phi)
    one = next(s for s in reliability.dependability(t) if s.calls == 1)
    assert one.phi == pytest.approx(item / (item + U["total"]))


def test_a_judge_without_noise_has_an_icc_of_one():
    counts = np.zeros((6, 2, 1, 2), dtype=int)
    counts[:3, ..., 0] = counts[3:, ..., 1] = 4
    assert reliability.icc(tensor(counts)).estimate == pytest.approx(1)


def scored(rng, noise, items=40, repeats=4):
    true = rng.integers(1, 6, size=items)
    said = np.clip(np.rint(true[:, None] + noise * rng.standard_normal((items, repeats))), 1, 5)
    counts = np.stack([(said == v).sum(axis=1) for v in range(1, 6)], axis=-1)
    scale = ScoreScale(values=(1.0, 2.0, 3.0, 4.0, 5.0))
    return replace(tensor(counts[:, None, None], tuple("12345")), scale=scale), said


def test_alpha_is_krippendorffs():
    """Interval alpha by its definition: observed over expected squared differences of values."""
    t, said = scored(np.random.default_rng(2), 1.0)
    pairs = [(a - b) ** 2 for row in said for i, a in enumerate(row) for b in row[i + 1 :]]
    values = said.ravel()
    n = len(values)
    expected = sum((a - b) ** 2 for a in values for b in values) / (n * (n - 1))
    found = reliability.alpha_interval(t)
    assert found.estimate == pytest.approx(1 - np.mean(pairs) / expected)
    assert found.low < found.estimate < found.high
    ordinal = reliability.alpha_ordinal(t)
    assert ordinal.estimate == pytest.approx(found.estimate, abs=0.1)
    assert reliability.alpha_interval(tensor(noisy(np.random.default_rng(1)))) is None


def test_shared_and_single_parts_are_those_of_the_benchmark_effect():
    rng = np.random.default_rng(3)
    counts = noisy(rng, prompts=4)
    counts[:, 0] = counts[:, 0, :, ::-1]
    t = tensor(counts)
    exact = benchmark_effect(counts)
    assert reliability.prompt_shared(t).estimate == pytest.approx(exact.shared)
    assert reliability.prompt_by_item(t).estimate == pytest.approx(exact.by_item)


def test_pairs_are_coded_by_what_is_right():
    """A prompt that is wrong on every item moves all alike, whichever candidate is right."""
    counts = np.zeros((8, 2, 1, 2), dtype=int)
    gold = [f"candidate_{1 + i % 2}" for i in range(8)]
    for i in range(8):
        counts[i, 0, 0, i % 2] = counts[i, 1, 0, 1 - i % 2] = 4
    t = tensor(counts, ("candidate_1", "candidate_2"), gold=gold)
    assert reliability.prompt_shared(t).estimate == pytest.approx(decompose(t).prompt.mean())
    assert reliability.prompt_by_item(t).estimate == pytest.approx(0, abs=1e-12)
    assert reliability.prompt_shared(tensor(counts, ("candidate_1", "candidate_2"))) is None


def test_the_interval_of_the_icc_holds():
    """Seeded: 200 studies of 40 items from Beta laws; the truth from the law itself."""
    a = 0.4
    mean, square = 0.5, a * (a + 1) / (2 * a * (2 * a + 1))
    agree, apart = 2 * square - 2 * mean + 1, 0.5
    truth = 1 - (1 - agree) / apart
    rng, held = stream(4, "icc"), 0
    for _ in range(200):
        found = reliability.icc(tensor(noisy(rng, items=40, prompts=2)))
        held += found.low <= truth <= found.high
    # Twelve fewer than 190 have a chance below 1 in 500 at a coverage of .95.
    assert held >= 178


def test_one_call_a_cell_tells_none_of_it():
    once = tensor(noisy(np.random.default_rng(5), repeats=1))
    assert reliability.icc(once) is None
    assert reliability.prompt_shared(once) is None
    assert reliability.dependability(once) == []


def test_of_many_items_groups_are_left_out_with_the_same_error(monkeypatch):
    """The work grows with the items; a group at a time gives the interval of an item at a time."""
    rng = np.random.default_rng(3)
    right = rng.beta(4, 1, size=(1_200, 1, 1, 1)) * np.ones((1_200, 2, 1, 1))
    laws = np.concatenate([right, 1 - right], axis=-1)
    tensor = VerdictTensor.from_laws(laws, repeats=3, seed=4, verdicts=("pass", "fail"))
    grouped = reliability.icc(tensor)
    asked = []
    left_out = reliability._left_out
    monkeypatch.setattr(
        reliability, "_left_out", lambda t: (asked.append(1) or rows for rows in left_out(t))
    )
    reliability.icc(tensor)
    assert len(asked) == reliability._MOST_GROUPS
    monkeypatch.setattr(reliability, "_left_out", left_out)
    monkeypatch.setattr(reliability, "_MOST_GROUPS", 5_000)
    single = reliability.icc(tensor)
    assert grouped.estimate == single.estimate
    width = (grouped.high - grouped.low) / (single.high - single.low)
    assert 0.85 < width < 1.15
