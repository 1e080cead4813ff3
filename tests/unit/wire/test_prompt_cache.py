"""Prompts that a provider keeps: what is sent, what it is part of, what it costs."""

import json

import pytest

import judgelaw as jl
from judgelaw.acquire import acquire
from judgelaw.errors import StudyChangedError, StudyError
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.study import freeze, load_study
from servers.provider import Provider
from servers.study import chat_judge, simulated_judge, write_study

PRICE = {"input_per_mtok": 10.0, "cached_input_per_mtok": 1.0, "output_per_mtok": 0.0}


def messages_judge(url, **fields):
    fixed = {"provider": "anthropic", "seed": "logical", "name": "kept"}
    return chat_judge(url, **{**fixed, **fields})


def frozen(folder, judge, **fields):
    return freeze(load_study(write_study(folder, [judge], **fields)), folder / "run")


def sent(folder, **fields):
    with Provider() as server:
        run = frozen(folder, messages_judge(server.root_url, **fields))
        acquire(run).raise_if_open()
    return run, [json.loads(seen.body) for seen in server.seen]


def test_the_mark_changes_no_byte_of_the_prompt(tmp_path):
    _, plain = sent(tmp_path / "off")
    _, marked = sent(tmp_path / "on", prompt_cache="on")
    texts = {body["messages"][0]["content"] for body in plain}
    blocks = [body["messages"][0]["content"] for body in marked]
    assert {block["text"] for (block,) in blocks} == texts
    assert all(block["cache_control"] == {"type": "ephemeral"} for (block,) in blocks)
    rest = [{k: v for k, v in body.items() if k != "messages"} for body in (plain[0], marked[0])]
    assert rest[0] == rest[1]


def test_tokens_read_from_the_cache_are_taken_from_usage(tmp_path):
    run, _ = sent(tmp_path, prompt_cache="on")
    with SqliteView(run.path / LEDGER_NAME) as view:
        totals = view.totals()
    assert totals.cached_tokens == 10 * run.count
    assert totals.input_tokens == 100 * run.count


def test_nothing_is_added_where_the_server_keeps_prompts_by_itself(tmp_path):
    bodies = []
    for mode in ("off", "on"):
        with Provider() as server:
            run = frozen(tmp_path / mode, chat_judge(server.base_url, prompt_cache=mode))
            acquire(run).raise_if_open()
        bodies.append(sorted(seen.body for seen in server.seen))
    assert bodies[0] == bodies[1]


def test_it_is_part_of_what_the_judge_is(tmp_path):
    url = "http://127.0.0.1:1"
    off, on = (
        frozen(tmp_path / mode, messages_judge(url, prompt_cache=mode)) for mode in ("off", "on")
    )
    plain = frozen(tmp_path / "plain", messages_judge(url))
    hashes = [run.judges["kept"].fingerprint for run in (plain, off, on)]
    assert hashes[0] == hashes[1] != hashes[2]
    changed = write_study(tmp_path / "off", [messages_judge(url, prompt_cache="on")])
    with pytest.raises(StudyChangedError, match="prompt_cache"):
        freeze(load_study(changed), off.path)


def test_a_judge_that_no_server_answers_keeps_no_prompts(tmp_path):
    with pytest.raises(StudyError, match="prompt_cache: 'on', is of servers that speak"):
        load_study(write_study(tmp_path, [simulated_judge(prompt_cache="on")]))


@pytest.mark.parametrize(("words", "share"), [(2_000, 0.75), (5, 0.0)])
def test_the_plan_prices_what_is_read_again(tmp_path, words, share):
    """Of four repeats three are read from the cache; short prompts are kept by nobody."""
    prompts = {
        "policy": "census",
        "templates": [{"id": "p", "text": "{instruction} {candidate_a} " + "word " * words}],
    }
    prompts["templates"][0]["text"] += "{candidate_b}"
    judge = messages_judge("http://127.0.0.1:1", prompt_cache="on", price=PRICE)
    path = write_study(tmp_path, [judge], items=2, repeats=4, prompts=prompts)
    cost = jl.plan(path).judges["kept"]
    assert cost.cached_tokens == pytest.approx(share * cost.input_tokens, abs=1)
    expected = (cost.input_tokens - cost.cached_tokens) * 10 + cost.cached_tokens * 1
    assert cost.usd == pytest.approx(expected / 1e6)
