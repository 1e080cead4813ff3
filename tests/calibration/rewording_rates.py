"""Rewordings whose law is planted: a judge that heeds how its prompt is worded, in a known way.

    python tests/calibration/rewording_rates.py           200 draws at K = 6, 12, 24, about an hour
    python tests/calibration/rewording_rates.py --laws    the same, verdicts drawn from the laws
    python tests/calibration/rewording_rates.py --estimates --draws 4000   for the bias alone
    python tests/calibration/rewording_rates.py --ahead   does the number that is named decide?

A study draws rewordings by rule: twelve sentences with two wordings each, the order of three
criteria, six marks of lists, and eight ways to put a heading. Two judges read the prompt that they
are sent and answer by it:

    one    all items follow one feature, the first criterion of the list: a law of one dimension
    many   every item follows a feature of its own

Each choice is even and made by itself, so the prompt component of the generator is known exactly:
two verdicts with p = 1/2 + .4 t give 2 Var p = .32 Var t, t the level of the feature on [-1, 1].
"""

import argparse
import random
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from os import environ
from pathlib import Path

environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from judgelaw.decide import more_prompts
from judgelaw.estimate import decompose
from judgelaw.runs import read_source
from judgelaw.runs.auditing import Shown, acquire_study
from judgelaw.streams import stream
from judgelaw.study import draws_by_rule, load_study
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Estimand, infer
from support.judges import counts, generated

ITEMS, REPEATS = 16, 4
REACH = 0.4
PAIRS = (
    ("You compare two answers.", "Two answers are compared by you."),
    ("Stay neutral throughout.", "Remain neutral all along."),
    ("Read the question first.", "Begin with the question."),
    ("Then read both answers.", "Go on to both answers."),
    ("Look at what was asked.", "Consider what was asked."),
    ("Look at what is left out.", "Consider what is missing."),
    ("Claims need support.", "Support is needed for claims."),
    ("Length is no merit.", "Being long is no merit."),
    ("Style is no merit.", "Being polished is no merit."),
    ("Confidence is no merit.", "Being sure is no merit."),
    ("Small slips are forgiven.", "Minor slips are forgiven."),
    ("Large errors are not.", "Major errors are not."),
)
CRITERIA = ("facts are right", "the request is met", "nothing is missing")
MARKS = ("- ", "* ", "• ", "1. ", "1) ", "(a) ")
STYLES = (
    r"\A(?=You|Two)",
    r"\A\[BEGIN",
    r"\A<",
    r"\A##",
    r"\A\*\*",
    r"\A[^\n]+\n-{3,}",
    r"\A[^\n]+:\n",
)
"""How a prompt begins, but for a plain heading, which is what is left."""
TEMPLATE = (
    " ".join(first for first, _ in PAIRS)
    + "\n\nA good answer is one of which you can say:\n"
    + "".join(f"- {text}\n" for text in CRITERIA)
    + "\nQuestion:\n{instruction}\n\nAnswer A:\n{candidate_a}\n\nAnswer B:\n{candidate_b}\n\n"
    + "Reply with A, B or TIE.\n"
)
FEATURES = len(PAIRS) + 4


def level(text: str, feature: int) -> float:
    """Return a feature of a prompt on [-1, 1], as a judge sees it."""
    if feature < len(PAIRS):
        return 1.0 if PAIRS[feature][1] in text else -1.0
    listed = [next(n for n, c in enumerate(CRITERIA) if c in line) for line in _criteria(text)]
    if feature == len(PAIRS):
        return listed[0] - 1.0
    if feature == len(PAIRS) + 1:
        return listed[-1] - 1.0
    if feature == len(PAIRS) + 2:
        mark = next(n for n, m in enumerate(MARKS) if _criteria(text)[0].startswith(m))
        return 2 * mark / (len(MARKS) - 1) - 1
    style = next((n for n, p in enumerate(STYLES) if re.search(p, text)), len(STYLES))
    return 2 * style / len(STYLES) - 1


def _criteria(text: str) -> list[str]:
    return [line for line in text.splitlines() if any(line.endswith(c) for c in CRITERIA)]


def variance(levels: int) -> float:
    """Return the variance of so many even levels on [-1, 1]."""
    return float(np.var(np.linspace(-1, 1, levels)))


def truth(judge: str) -> float:
    """Return the prompt component of the generator, averaged over the items."""
    first = variance(len(CRITERIA))
    if judge == "one":
        return 2 * REACH**2 * first
    own = [variance(2)] * len(PAIRS) + [
        first,
        first,
        variance(len(MARKS)),
        variance(len(STYLES) + 1),
    ]
    return 2 * REACH**2 * float(np.mean(own))


def answer(call, feature: int) -> str:
    """Answer by the wording: the law is known, the seed of the call decides."""
    p = 0.5 + REACH * level(call.text, feature)
    return "A" if random.Random(call.seed).random() < p else "B"


def one(call):
    return answer(call, len(PAIRS))


def many(call):
    return answer(call, int(call.item["id"].removeprefix("i")) % FEATURES)


JUDGES = {"one": one, "many": many}


def study(folder: Path, seed: int, prompts: int) -> dict:
    """Return a study of rewordings by rule, with its items beside it."""
    rows = (
        f'{{"id": "i{n}", "instruction": "q{n}", "candidate_1": "x", "candidate_2": "y"}}\n'
        for n in range(ITEMS)
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "items.jsonl").write_text("".join(rows))
    return {
        "version": 1,
        "name": "planted",
        "seed": seed,
        "items": {"source": "jsonl", "path": str(folder / "items.jsonl")},
        "prompts": {
            "policy": "generator",
            "grammar": "reworded",
            "count": prompts,
            "text": TEMPLATE,
            "rules": {"order": True, "numbering": True, "wrappers": True},
            "alternatives": [list(pair) for pair in PAIRS],
        },
        "orders": {"AB": 1.0},
        "repeats": REPEATS,
        "schedule": "cells",
        "judges": [{"name": name, "provider": "python"} for name in JUDGES],
    }


@dataclass(frozen=True)
class Found:
    """What one draw says of one judge."""

    estimate: float
    new: tuple[float, float]
    fixed: tuple[float, float]


def recovered(tensor: VerdictTensor) -> Found:
    """Return what calls say of the prompt component of their generator."""
    found = infer(tensor, Estimand(design="sampled"))
    new, fixed = (found.interval("prompt", scope=scope) for scope in ("new", "fixed"))
    return Found(found.estimate("prompt"), (new.low, new.high), (fixed.low, fixed.high))


def draw(folder: Path, seed: int, prompts: int) -> dict[str, Found]:
    """Draw rewordings and ask both judges in a run, as a user does; nothing is left behind."""
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    acquired = acquire_study(study(folder, seed, prompts), run, shown=Shown(), judge=JUDGES)
    acquired.raise_if_open()
    tensors = read_source(str(run)).main()
    shutil.rmtree(run)
    return {judge: recovered(tensors[judge]) for judge in JUDGES}


def without_calls(folder: Path, seed: int, prompts: int) -> dict[str, VerdictTensor]:
    """Return verdicts drawn from the laws of the rewordings: many times as fast."""
    loaded = load_study(study(folder, seed, prompts))
    texts = [draw.template.text for draw in draws_by_rule(loaded.study, prompts)]
    levels = np.array([[level(text, feature) for text in texts] for feature in range(FEATURES)])
    rng, found = stream(seed, "verdicts", prompts), {}
    for judge in JUDGES:
        own = levels if judge == "many" else np.tile(levels[len(PAIRS)], (ITEMS, 1))
        p = 0.5 + REACH * own
        laws = np.stack([p, 1 - p], axis=-1)[:, :, None]
        found[judge] = VerdictTensor.from_counts(counts(laws, REPEATS, rng))
    return found


def draw_without_calls(folder: Path, seed: int, prompts: int) -> dict[str, Found]:
    """Do the same as `draw` without asking anybody."""
    tensors = without_calls(folder, seed, prompts)
    return {judge: recovered(tensor) for judge, tensor in tensors.items()}


def biases(draws: int) -> None:
    """Print estimates over the truth at K = 6, 12 and 24: many draws tell a bias of less."""
    with tempfile.TemporaryDirectory() as folder:
        for prompts in (6, 12, 24):
            drawn = [without_calls(Path(folder), seed, prompts) for seed in range(draws)]
            for judge in JUDGES:
                parts = (decompose(each[judge], design="sampled").prompt for each in drawn)
                ratios = np.array([part.mean() for part in parts]) / truth(judge)
                error = ratios.std(ddof=1) / draws**0.5
                said = f"estimate/truth {ratios.mean():.4f} +- {error:.4f}"
                print(f"K = {prompts:2}  {judge:5} {said} over {draws}", flush=True)


@dataclass(frozen=True)
class Rates:
    """Over draws: coverage of both intervals, and the estimate over the truth with its error."""

    new: float
    fixed: float
    ratio: float
    error: float

    @classmethod
    def of(cls, judge: str, found: list[Found]) -> "Rates":
        true = truth(judge)
        ratios = np.array([each.estimate for each in found]) / true
        return cls(
            new=float(np.mean([each.new[0] <= true <= each.new[1] for each in found])),
            fixed=float(np.mean([each.fixed[0] <= true <= each.fixed[1] for each in found])),
            ratio=float(ratios.mean()),
            error=float(ratios.std(ddof=1) / len(ratios) ** 0.5),
        )


def table(draws: int, way=draw) -> None:
    """Print rates at K = 6, 12 and 24."""
    with tempfile.TemporaryDirectory() as folder:
        for prompts in (6, 12, 24):
            found = [way(Path(folder), seed, prompts) for seed in range(draws)]
            for judge in JUDGES:
                r = Rates.of(judge, [each[judge] for each in found])
                print(
                    f"K = {prompts:2}  {judge:5} items like these {r.new:.3f}, these items "
                    f"{r.fixed:.3f}, estimate/truth {r.ratio:.4f} +- {r.error:.4f}",
                    flush=True,
                )


WORLDS = ("shared", "skewed", "alike")


@dataclass(frozen=True)
class Ahead:
    """A promise, and whether it was kept.

    Attributes:
        named: whether a number was named.
        fresh: whether as many fresh prompts decided.
        grown: whether the first prompts with as many as lacked decided.
        wrong: whether these decided against the truth.
    """

    named: bool
    fresh: bool = False
    grown: bool = False
    wrong: bool = False


def ahead(world: str, prompts: int, limit: float, seed: int, *, items: int = 16) -> Ahead | None:
    """Look ahead from a pilot, and then look; None where the pilot decides."""
    rng = stream(seed, "ahead", world, prompts)
    laws = generated(world, items=items, prompts=2_000, seed=5)
    means = laws.mean(axis=1, keepdims=True)
    true = float(((laws - means) ** 2).sum(axis=-1).mean())
    design = Estimand(design="sampled")

    def tensor(which: np.ndarray) -> VerdictTensor:
        return VerdictTensor.from_counts(counts(laws[:, which], REPEATS, rng))

    first = rng.choice(2_000, size=prompts, replace=False)
    pilot = tensor(first)
    found = more_prompts(pilot, design, limit=limit)
    if found.found is not None:
        return None
    if found.needed is None:
        return Ahead(named=False)
    rest = np.setdiff1d(np.arange(2_000), first)
    more = rng.choice(rest, size=found.needed - prompts, replace=False)
    added = tensor(more).counts
    grown = VerdictTensor.from_counts(np.concatenate([pilot.counts, added], axis=1))
    fresh = tensor(rng.choice(2_000, size=found.needed, replace=False))
    fresh_said, grown_said = (more_prompts(x, design, limit=limit).found for x in (fresh, grown))
    right = "above" if true > limit else "below"
    return Ahead(
        named=True,
        fresh=fresh_said is not None,
        grown=grown_said is not None,
        wrong=grown_said not in (None, right),
    )


def outlooks(trials: int) -> None:
    """Print how often a number of prompts was named, and how often it decided."""
    for world in WORLDS:
        for prompts in (6, 12, 24):
            for limit in (0.01, 0.02, 0.05):
                found = [ahead(world, prompts, limit, seed) for seed in range(trials)]
                open_ = [f for f in found if f is not None]
                told = [f for f in open_ if f.named]
                if not told:
                    print(f"{world:7} K = {prompts:2} limit {limit}: open {len(open_)}, named 0")
                    continue
                fresh, grown, wrong = (
                    float(np.mean([getattr(f, name) for f in told]))
                    for name in ("fresh", "grown", "wrong")
                )
                print(
                    f"{world:7} K = {prompts:2} limit {limit}: open {len(open_)} of {trials}, told "
                    f"{len(told)}; decided by fresh prompts {fresh:.2f}, by the first with more "
                    f"{grown:.2f}, wrongly {wrong:.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--laws", action="store_true", help="draw verdicts from the laws")
    parser.add_argument("--estimates", action="store_true", help="no intervals, implies --laws")
    parser.add_argument("--ahead", action="store_true")
    asked = parser.parse_args()
    if asked.ahead:
        outlooks(asked.draws)
    elif asked.estimates:
        biases(asked.draws)
    else:
        table(asked.draws, draw_without_calls if asked.laws else draw)
