"""Token probabilities of a real model against the law that it states."""

import json
from itertools import pairwise

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.acquire import acquire
from judgelaw.acquire.verify import verify
from judgelaw.estimate import COMPONENTS, population
from judgelaw.tensor import VerdictTensor
from support.model import ALONE, frozen_study, laws_like, shallow_model, spec

pytestmark = pytest.mark.model

THREE_ERRORS = 3


@pytest.mark.timeout(300)
def test_soft_components_agree_with_the_stated_law_at_two_repeats(tmp_path, lone_server):
    judges = [spec(logprobs=20, **ALONE)]
    frozen = frozen_study(tmp_path, items=8, repeats=2, judges=judges, schedule="prompts")
    done = acquire(frozen)
    done.raise_if_open()
    tensor = VerdictTensor.from_table(done.path / "calls.parquet", judge="chat", layer="audit")
    laws = laws_like(tensor, frozen, lone_server)
    missing = 1 - tensor.soft.sum(axis=-1)
    assert missing.max() < 0.01
    assert np.abs(tensor.soft - laws[..., None, :]).max() < 0.01

    document = jl.analyze(done.path, permutations=0, draws=200).to_json()
    judge = document["judges"]["chat"]
    assert judge["evidence"] == "soft"
    truth = population(laws).macro()
    for name in COMPONENTS:
        found = judge["components"][name]
        off = found["estimate"] - float(truth[name])
        sampled = judge["soft"]["sampled"][name]
        print(
            f"{name:12} law {float(truth[name]):+.4f} soft {found['estimate']:+.4f} "
            f"se {found['call_se']:.5f} sampled {sampled['estimate']:+.4f}"
        )
        assert abs(off) <= THREE_ERRORS * found["call_se"]
        low, high = found["bounds"]
        assert low - 1e-6 <= truth[name] <= high + 1e-6
    assert verify(done.path).ok
    json.dumps(document, allow_nan=False)


@pytest.mark.timeout(400)
def test_prompts_in_a_row_change_no_bit_of_any_law(tmp_path):
    """The same calls with the same seeds in two schedules: verdicts and probabilities are equal."""
    tables = []
    judges = [spec(logprobs=20, model_path=str(shallow_model()))]
    for kind in ("cells", "prompts"):
        folder = tmp_path / kind
        folder.mkdir()
        frozen = frozen_study(folder, items=2, repeats=2, judges=judges, schedule=kind)
        done = acquire(frozen)
        done.raise_if_open()
        tables.append(VerdictTensor.from_table(done.path / "calls.parquet"))
        asked = [call.prompt for call in sorted(frozen.iter_calls(), key=lambda c: c.position)]
        changes = sum(one != other for one, other in pairwise(asked))
        assert (changes == 2) == (kind == "prompts")
    cells, prompts = tables
    assert (cells.ranked == prompts.ranked).all()
    assert (cells.soft == prompts.soft).all()
