"""The simulated judge answers from its declared law, in the labels that were shown."""

import asyncio
import json
from collections import Counter

import pytest

from judgelaw.judges import JudgeContext, open_judge
from judgelaw.study import request_for
from judgelaw.wire import parse
from servers.study import frozen_study, simulated_judge


def answers(frozen, name="sim"):
    spec = frozen.judges[name]
    judge = open_judge(spec, JudgeContext(frozen=frozen, session=None, clock=lambda: 0.0))

    async def ask_all():
        async with judge:
            return [
                (call, judge.decode(await judge.ask(call, request_for(frozen, call))))
                for call in frozen.iter_calls()
            ]

    return spec, asyncio.run(ask_all())


def verdicts(frozen):
    spec, found = answers(frozen)
    return [(call, parse(spec, answer.completion, call.order).verdict) for call, answer in found]


def test_verdicts_follow_the_law_and_the_seed(tmp_path):
    frozen = frozen_study(tmp_path, [simulated_judge()], items=20, repeats=25)
    first = verdicts(frozen)
    counts = Counter(verdict for _, verdict in first)
    n = len(first)
    for verdict, share in {"candidate_1": 0.5, "candidate_2": 0.3, "tie": 0.1}.items():
        assert abs(counts[verdict] / n - share) < 4 * (share * (1 - share) / n) ** 0.5
    assert verdicts(frozen) == first


def test_cells_have_laws_of_their_own(tmp_path):
    law = {
        "verdicts": {"tie": 1.0},
        "cells": [
            {"item": "i0", "verdicts": {"candidate_1": 1.0}},
            {"prompt": "p2", "order": "BA", "verdicts": {"candidate_2": 1.0}},
        ],
    }
    frozen = frozen_study(tmp_path, [simulated_judge(law=law)])
    for call, verdict in verdicts(frozen):
        if call.item == "i0":
            assert verdict == "candidate_1"
        elif (call.prompt, call.order) == ("p2", "BA"):
            assert verdict == "candidate_2"
        else:
            assert verdict == "tie"


def test_slots_of_a_control_share_the_law_of_its_prompt(tmp_path):
    law = {
        "verdicts": {"tie": 1.0},
        "cells": [{"prompt": "p2", "verdicts": {"candidate_1": 1.0}}],
    }
    layers = [{"name": "null", "role": "control", "labels": 3, "prompt": "p2"}]
    frozen = frozen_study(tmp_path, [simulated_judge(law=law)], layers=layers)
    assert {verdict for _, verdict in verdicts(frozen)} == {"candidate_1"}


@pytest.mark.parametrize(
    "parser",
    [
        {"json": "answer.choice"},
        {"json": "choice", "labels": {"first": "A", "second": "B", "equal": "TIE"}},
        {"regex": "^(A|B|TIE)$"},
    ],
)
def test_it_speaks_the_language_of_the_parser(tmp_path, parser):
    frozen = frozen_study(tmp_path, [simulated_judge(parser=parser)], items=4, repeats=4)
    assert {verdict for _, verdict in verdicts(frozen)} == {
        "candidate_1",
        "candidate_2",
        "tie",
        "invalid",
    }


def test_the_reply_is_what_the_chat_format_says(tmp_path):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    _, found = answers(frozen)
    ids = {answer.response_id for _, answer in found}
    assert len(ids) == len(found)
    assert json.dumps(found[0][1].model) == '"law"'
