"""Replies whose optional fields hold anything at all: each is stored, read and shown, once asked.

The whole way: a server, a function or a command says it, a run stores it, tables are written from
it, verified and analysed.
"""

import json
import re
from functools import cache

import pytest
from aiohttp import web

import judgelaw as jl
from judgelaw.acquire import acquire, acquire_shared
from judgelaw.acquire.verify import verify
from judgelaw.cli.status import status
from judgelaw.ledger import LEDGER_NAME, SqliteView, read_address
from servers.local_judges import command_judge, function_judge
from servers.provider import Provider
from servers.study import frozen_study
from support.odd_values import SAMPLES, VALUES, optional_paths, replaced
from support.postgres import clean_database

ONE_PROMPT = {
    "policy": "census",
    "templates": [{"id": "p", "text": "{instruction}\n{candidate_a}\n{candidate_b}"}],
}
HTTP = ("openai-chat", "openai-completions", "openai-responses", "anthropic")
LOCAL = ("python", "command")
_LARGE = 20_000
"""Characters of a value; larger ones are read as often as others, and stored a few times only."""
_CHAT_TEMPLATE = {"text": "{{ messages[0]['content'] }}"}

COMMAND = """
import json, re, sys

said = open("said.txt", encoding="utf-8").read().splitlines()
for line in sys.stdin:
    call = json.loads(line)
    place = int(re.search(r"Question (\\d+)", call["messages"][-1]["content"])[1])
    print(said[place].replace('"r1"', json.dumps(call["id"])))
"""
FUNCTION = """
import json, re
import judgelaw as jl

with open("{folder}/said.txt", encoding="utf-8") as file:
    said = file.read().splitlines()


class Odd:
    def __init__(self, value): self.value = value


def function(call):
    place = int(re.search(r"Question (\\d+)", call.text)[1])
    try:
        held = json.loads(said[place])
    except (ValueError, RecursionError):
        held = {{"text": "A", "logprobs": Odd(place)}}
    held["id"] = held.get("id")
    names = ("text", "model", "id", "usage", "logprobs", "finish_reason")
    return jl.Reply(**{{name: held[name] for name in names if name in held}})
"""


@cache
def bodies(wire, step):
    """Return odd replies of a format: all of them, or every so many."""
    every = [
        replaced(SAMPLES[wire], path, value)
        for n, path in enumerate(optional_paths(wire))
        for value in VALUES[n % step :: step]
        if step == 1 or len(value) < _LARGE
    ]
    return [body for body in every if b"\n" not in body and body.isascii()]


def judge_of(wire, base_url):
    fields = {"name": "odd", "provider": wire, "base_url": base_url, "model": "m"}
    if wire == "openai-completions":
        fields["template"] = _CHAT_TEMPLATE
    if wire in ("openai-chat", "openai-completions"):
        fields["logprobs"] = 5
    if wire == "anthropic":
        fields["base_url"] = base_url.removesuffix("/v1")
    return {**fields, "decoding": {"max_tokens": 8, "temperature": 0}}


def one_question_each(said, folder, judge):
    return frozen_study(
        folder,
        [judge],
        items=len(said),
        repeats=1,
        prompts=ONE_PROMPT,
        orders={"AB": 1.0},
        transport={"concurrency": 16, "attempts": 2, "backoff_s": 0.001, "timeout_s": 60},
    )


def serve(said):
    """Answer each question with its own reply."""

    async def act(seen, _request):
        place = int(re.search(rb"Question (\d+)", seen.body)[1])
        return web.Response(body=said[place], content_type="application/json")

    return act


def nothing_lost(frozen, said):
    """Every reply is there, read, in the tables and in the analysis; nothing was asked twice."""
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        totals = view.totals()
        assert (totals.completed, totals.attempts, totals.open) == (len(said), len(said), 0)
        assert list(view.unread_attempts()) == []
        assert len(list(view.unread_fields())) > 0
        shown = status(frozen, view)
    assert shown["judges"]["odd"]["unread_fields"][0]["count"] > 0
    checked = verify(frozen.path)
    assert checked.ok, [check for check in checked.checks if not check.ok]
    assert jl.analyze(frozen.path).judges["odd"].items == len(said)


steps = pytest.mark.parametrize(
    "step",
    [97, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])],
    ids=["some", "all"],
)


@steps
@pytest.mark.parametrize("wire", HTTP)
def test_no_reply_of_a_server_is_lost(tmp_path, wire, step):
    said = bodies(wire, step)
    with Provider(serve(said)) as provider:
        frozen = one_question_each(said, tmp_path, judge_of(wire, provider.base_url))
        acquire(frozen).raise_if_open()
        assert len(provider.seen) == len(said)
    nothing_lost(frozen, said)


@steps
@pytest.mark.parametrize("wire", LOCAL)
def test_no_reply_of_a_function_or_a_command_is_lost(tmp_path, wire, step):
    said = bodies(wire, step // 4 or 1)
    (tmp_path / "said.txt").write_bytes(b"\n".join(said))
    (tmp_path / "odd_command.py").write_text(COMMAND)
    (tmp_path / "odd_function.py").write_text(FUNCTION.format(folder=tmp_path))
    judges = {
        "python": function_judge("odd_function:function", name="odd"),
        "command": command_judge("python", "odd_command.py", name="odd"),
    }
    frozen = one_question_each(said, tmp_path, judges[wire])
    acquire(frozen).raise_if_open()
    nothing_lost(frozen, said)


@pytest.mark.postgres
@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_postgresql_takes_them_all_as_well(tmp_path, wire):
    said = bodies(wire, 41)
    with Provider(serve(said)) as provider:
        frozen = one_question_each(said, tmp_path, judge_of(wire, provider.base_url))
        acquire_shared(frozen, read_address(clean_database())).raise_if_open()
        assert len(provider.seen) == len(said)
    nothing_lost(frozen, said)


def test_a_time_to_wait_that_nobody_waits_leaves_the_judge_for_now(tmp_path):
    """400 digits of seconds: the judge is left alone, and the run ends in words."""
    script = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "retry_after": int("9" * 400)}))
"""
    (tmp_path / "wait.py").write_text(script)
    judge = command_judge("python", "wait.py", name="odd")
    done = acquire(one_question_each([b""] * 3, tmp_path, judge))
    assert done.totals.completed == 0
    assert "odd" in done.stops[0].words


def test_json_says_what_is_missing(tmp_path, capsys):
    body = json.dumps(SAMPLES["openai-chat"]).replace(
        '"prompt_tokens": 100', '"prompt_tokens": NaN'
    )
    with Provider(serve([body.encode()])) as provider:
        frozen = one_question_each([body], tmp_path, judge_of("openai-chat", provider.base_url))
        acquire(frozen).raise_if_open()
    from judgelaw.cli import main

    with pytest.raises(SystemExit):
        main(["status", str(frozen.path)])
    said = "judge odd: usage.prompt_tokens of 1 reply is missing: NaN, where a whole number"
    assert said in capsys.readouterr().err
