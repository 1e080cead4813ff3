"""A judge that is a function: what it is told, and what becomes of what it returns or raises."""

import asyncio
import enum
import functools
import json
import random
import re
import threading
import time

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.acquire import acquire
from judgelaw.acquire.verify import verify
from judgelaw.errors import InputError, ProviderRefusedError
from judgelaw.judges import functions_for
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.runs import audit_study
from judgelaw.study import freeze, load_study, open_run, payload_for
from servers.local_judges import function_judge, write_code
from servers.study import frozen_study, simulated_judge, write_study

FAST = {"attempts": 2, "backoff_s": 0.001, "timeout_s": 10, "concurrency": 4}
OPEN = {"name": "fn", "provider": "python"}


def coin(call):
    return random.Random(call.seed).choice(["A", "B", "TIE"])


def asked(tmp_path, function, *, judge=None, **fields):
    fields = {"transport": FAST, **fields}
    frozen = frozen_study(tmp_path, [judge or OPEN], **fields)
    return frozen, acquire(frozen, functions={"fn": function})


def rows(frozen):
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        return view.totals(), list(view.attempts()), list(view.completions())


def failed(tmp_path, function, **fields):
    """Return the kinds and words of the attempts of a function that never answers."""
    frozen, done = asked(tmp_path, function, **fields)
    totals, attempts, _ = rows(frozen)
    assert totals.completed == 0
    return done, {a.kind for a in attempts if a.kind}, [a.detail for a in attempts if a.detail]


def test_a_function_is_told_everything_about_its_call(tmp_path):
    heard = []

    def remember(call):
        heard.append(call)
        return "A"

    judge = {**OPEN, "system": "Be fair.", "decoding": {"temperature": 0.5}, "model": "m-1"}
    frozen, done = asked(tmp_path, remember, judge=judge)
    done.raise_if_open()
    assert len(heard) == frozen.count
    planned = {call.call_id: call for call in frozen.iter_calls()}
    for call in heard:
        own = planned[call.id]
        assert (call.seed, call.prompt, call.order, call.repeat) == (
            own.seed,
            own.prompt,
            own.order,
            own.repeat,
        )
        assert call.text == payload_for(frozen, own)
        assert call.messages == (
            {"role": "system", "content": "Be fair."},
            {"role": "user", "content": call.text},
        )
        first, second = ("one", "two") if call.order == "AB" else ("two", "one")
        assert call.item == {
            "id": own.item,
            "instruction": f"Question {own.item[1:]}",
            "candidate_a": first,
            "candidate_b": second,
        }
        assert call.decoding == {"temperature": 0.5}
        assert (call.judge, call.model) == ("fn", "m-1")


def test_a_seed_that_is_not_sent_is_still_the_calls_own(tmp_path):
    seeds = []
    frozen, done = asked(
        tmp_path, lambda call: seeds.append(call.seed) or "A", judge={**OPEN, "seed": "logical"}
    )
    done.raise_if_open()
    assert sorted(seeds) == sorted(call.seed for call in frozen.iter_calls())


def test_the_slots_of_a_control_layer_cannot_be_told_apart(tmp_path):
    prompts = []
    layers = [{"name": "control", "role": "control", "labels": 3, "prompt": "p2", "repeats": 2}]
    _, done = asked(tmp_path, lambda call: prompts.append(call.prompt) or "A", layers=layers)
    done.raise_if_open()
    assert set(prompts) == {"p2"}


async def later(call):
    await asyncio.sleep(0.001)
    return coin(call)


class Caller:
    def __call__(self, call):
        return coin(call)


class AsyncCaller:
    async def __call__(self, call):
        return await later(call)


@pytest.mark.parametrize(
    "function",
    [
        coin,
        later,
        lambda call: later(call),  # noqa: PLW0108 - plain to look at, and gives an awaitable
        functools.partial(later),
        Caller(),
        AsyncCaller(),
        lambda call: jl.Reply(text=coin(call)),
    ],
    ids=["plain", "async", "returns an awaitable", "partial", "object", "async object", "reply"],
)
def test_every_kind_of_function_answers_alike(tmp_path, function):
    frozen, done = asked(tmp_path, function)
    done.raise_if_open()
    _, _, completions = rows(frozen)
    said = {c.call.call_id: c.completion.text for c in completions}
    want = {c.call_id: coin(c) for c in frozen.iter_calls()}
    assert said == want
    found = verify(frozen.path)
    assert found.ok, [c for c in found.checks if not c.ok]


def test_plain_functions_run_side_by_side(tmp_path):
    together = threading.Barrier(4, timeout=5)

    def meet(call):
        del call
        together.wait()
        return "A"

    _, done = asked(tmp_path, meet, transport=FAST)
    done.raise_if_open()


def test_a_reply_object_is_kept_whole(tmp_path):
    reply = jl.Reply(
        text="A",
        model="served-7",
        id=None,
        usage={"input_tokens": 12, "output_tokens": 3},
        logprobs=[{"A": -0.1}],
        finish_reason="length",
    )
    frozen, done = asked(tmp_path, lambda _: reply)
    done.raise_if_open()
    totals, _, completions = rows(frozen)
    assert (totals.input_tokens, totals.output_tokens) == (12 * 16, 3 * 16)
    first = completions[0]
    assert (first.receipt.model, first.completion.finish_reason) == ("served-7", "length")
    assert json.loads(first.body)["logprobs"] == [{"A": -0.1}]
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert {v.reason for _, v in view.verdicts()} == {"truncated"}
        assert view.flagged() == 0  # nothing was asked for by name


def test_an_empty_answer_is_a_completion(tmp_path):
    frozen, done = asked(tmp_path, lambda _: "")
    done.raise_if_open()
    totals, _, _ = rows(frozen)
    assert (totals.completed, totals.failed) == (16, 0)


def broken(call):
    raise KeyError(f"no answer for {call.item['id']}")


async def broken_later(call):
    raise KeyError(f"no answer for {call.item['id']}")


def leaves(call):
    raise SystemExit(f"gone at {call.repeat}")


async def cancels(_call):
    raise asyncio.CancelledError("by itself")


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (broken, "KeyError: 'no answer for i"),
        (broken_later, "KeyError: 'no answer for i"),
        (leaves, "SystemExit: gone at"),
        (cancels, "CancelledError: by itself"),
    ],
)
def test_an_error_of_the_functions_own_stops_it_at_the_first_call(tmp_path, function, word):
    """With its line, its item, and what to return where a reply could not be read."""
    transport = {**FAST, "attempts": 5, "concurrency": 1}
    done, kinds, said = failed(tmp_path, function, transport=transport)
    assert kinds == {"raised"}
    assert done.totals.attempts == done.totals.failed == 1
    line = function.__code__.co_firstlineno + 1
    assert f"test_python.py:{line}: `" in said[0]
    assert re.search(r"`: item 'i[01]', prompt p[12], repeat [01]: ", said[0])
    assert word in said[0]
    with pytest.raises(jl.errors.JudgeFunctionError, match=r"return.* jl.Invalid\(text, reason="):
        done.raise_if_open()


def no_arguments():
    return "A"


@pytest.mark.parametrize(
    ("function", "kind", "word"),
    [
        (lambda _: None, "wrong_type", "it returned None, of type NoneType: a judge function"),
        (lambda _: ["A"], "wrong_type", "it returned ['A'], of type list"),
        (lambda _: float("nan"), "wrong_type", "it returned nan, of type float"),
        (lambda _: {"score": 4}, "wrong_type", "read where its keys are declared, as parser:"),
        (lambda _: jl.Reply(text=None), "wrong_type", "it returned None"),
        (no_arguments, "raised", "TypeError"),
    ],
)
def test_what_is_no_verdict_stops_at_the_first_call(tmp_path, function, kind, word):
    done, kinds, said = failed(tmp_path, function, transport={**FAST, "concurrency": 1})
    assert kinds == {kind}
    assert done.totals.attempts == 1
    assert word in said[0]
    assert "test_python.py:" in said[0]


@pytest.mark.parametrize("raises", [False, True])
def test_a_reply_that_could_not_be_read_is_kept_and_never_asked_again(tmp_path, raises):
    asked_of = []

    def half(call):
        asked_of.append(call.id)
        if call.repeat == 0:
            reply = jl.Reply(text="I would rather not say", usage={"output_tokens": 5})
            invalid = jl.Invalid(reply, reason="no score in it")
            if raises:
                raise invalid
            return invalid
        return "A"

    frozen, done = asked(tmp_path, half)
    done.raise_if_open()
    assert (done.totals.attempts, done.totals.failed) == (frozen.count, 0)
    assert sorted(asked_of) == sorted(call.call_id for call in frozen.iter_calls())
    assert done.totals.output_tokens == 5 * frozen.count / 2
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        reasons = [v.reason for _, v in view.verdicts() if v.verdict == "invalid"]
        texts = [c.completion.text for c in view.completions()]
    assert reasons == ["no score in it"] * (frozen.count // 2)
    assert texts.count("I would rather not say") == frozen.count // 2
    found = verify(frozen.path)
    assert found.ok, [c for c in found.checks if not c.ok]


def pointwise_study(folder, judge, **verdicts):
    items = [{"id": f"i{n}", "instruction": "Say it.", "candidate_1": "so"} for n in range(2)]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    templates = [{"id": "p1", "text": "{instruction} {candidate}"}]
    study = {
        "version": 1,
        "name": "small",
        "seed": 11,
        "task": "pointwise",
        **verdicts,
        "items": {"source": "jsonl", "path": "items.jsonl"},
        "prompts": {"policy": "census", "templates": templates},
        "repeats": 2,
        "judges": [judge],
        "transport": FAST,
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study))
    return path


class Grade(enum.Enum):
    GOOD = "4"


@pytest.mark.parametrize(
    ("value", "parser", "verdict"),
    [
        (4, None, "4"),
        (4.0, None, "4"),
        (np.float64(4), None, "4"),
        (np.int64(4), None, "4"),
        (Grade.GOOD, None, "4"),
        ({"score": 4, "why": "clear"}, {"json": "score"}, "4"),
        ({"score": np.float32(4)}, {"json": "score"}, "4"),
        ({"score": None}, {"json": "score"}, "invalid"),
        (jl.Reply(text=4), None, "4"),
    ],
)
def test_numbers_and_dicts_with_declared_keys_are_verdicts(tmp_path, value, parser, verdict):
    judge = {**OPEN, **({"parser": parser} if parser else {})}
    study = pointwise_study(tmp_path, judge, scale=[1, 2, 3, 4, 5])
    frozen = freeze(load_study(study), tmp_path / "run")
    acquire(frozen, functions={"fn": lambda _: value}).raise_if_open()
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert {v.verdict for _, v in view.verdicts()} == {verdict}


def test_booleans_are_true_and_false(tmp_path):
    study = pointwise_study(tmp_path, OPEN, labels=["true", "false"])
    frozen = freeze(load_study(study), tmp_path / "run")

    def parity(call):
        return np.bool_(call.repeat % 2 == 0) if call.item["id"] == "i1" else call.repeat % 2 == 0

    acquire(frozen, functions={"fn": parity}).raise_if_open()
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert {v.verdict for _, v in view.verdicts()} == {"true", "false"}


class Silent:
    def __str__(self):
        raise RuntimeError

    __repr__ = __str__


def cyclic():
    tokens = []
    tokens.append(tokens)
    return tokens


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("usage", {"input_tokens": object()}, "not what JSON holds"),
        ("usage", {"input_tokens": float("nan")}, "NaN, where a whole number"),
        ("usage", {"input_tokens": 10**400}, "a number of over 15 digits"),
        ("usage", Silent(), "not what JSON holds"),
        ("logprobs", cyclic(), "not what JSON holds"),
        ("logprobs", {"A": float("nan")}, "NaN, where the logarithm"),
        ("logprobs", Silent(), "not what JSON holds"),
        ("model", 3, "3, where a text belongs"),
        ("finish_reason", b"stop", "not what JSON holds"),
    ],
)
def test_what_stands_beside_an_answer_does_not_end_it(tmp_path, field, value, why):
    """It is missing, with the reason, and nothing is asked again."""
    frozen, done = asked(tmp_path, lambda _: jl.Reply(text="A", **{field: value}), items=1)
    done.raise_if_open()
    assert done.totals.attempts == frozen.count
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        ((_, name, said, count),) = view.unread_fields()
    assert name.startswith(field)
    assert why in said
    assert count == frozen.count


def blocks(_call):
    time.sleep(30)


async def blocks_the_loop(_call):
    time.sleep(5)  # noqa: ASYNC251 - what a careless user writes


async def never(_call):
    await asyncio.Event().wait()


@pytest.mark.parametrize("function", [blocks, blocks_the_loop, never])
def test_a_function_without_an_end_times_out(tmp_path, function):
    started = time.monotonic()
    _, kinds, _ = failed(
        tmp_path, function, items=1, transport={**FAST, "attempts": 1, "timeout_s": 0.3}
    )
    assert kinds == {"timeout"}
    assert time.monotonic() - started < 4


def test_a_call_that_blocks_the_loop_is_not_counted_against_the_others(tmp_path):
    """Each takes a quarter of its time-out and keeps seven others waiting: all are answered."""
    asked_of = []

    async def careless(call):
        asked_of.append(call.id)
        await asyncio.sleep(0)
        time.sleep(0.1)  # noqa: ASYNC251 - what a careless user writes
        return "A"

    transport = {**FAST, "attempts": 2, "timeout_s": 0.4, "concurrency": 8}
    frozen, done = asked(tmp_path, careless, transport=transport)
    done.raise_if_open()
    assert done.totals.attempts == frozen.count == len(asked_of) == len(set(asked_of))


def test_a_call_that_blocks_for_ever_does_not_hold_the_others_for_ever(tmp_path):
    async def stuck(_call):
        time.sleep(6)  # noqa: ASYNC251 - same

    transport = {**FAST, "attempts": 1, "timeout_s": 0.3, "concurrency": 4}
    started = time.monotonic()
    _, kinds, _ = failed(tmp_path, stuck, items=1, transport=transport)
    assert kinds == {"timeout"}
    assert time.monotonic() - started < 5


def test_an_answer_that_is_too_large_is_said_and_does_not_stall_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr("judgelaw.judges.python.LARGEST_ANSWER", 10_000)

    def large(call):
        if call.repeat:
            return jl.Reply(text="A", logprobs={"A": -0.1, "x" * 20_000: -1.0})
        return "A" * 20_000

    frozen, done = asked(tmp_path, large, items=1, transport={**FAST, "attempts": 1})
    _, attempts, stored = rows(frozen)
    said = {a.detail for a in attempts if a.kind == "too_large"}
    assert all("20,000 characters: an answer has at most 10,000" in each for each in said)
    assert done.totals.failed == frozen.count / 2 == len(stored)
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        ((_, field, why, count),) = view.unread_fields()
    assert (field, count) == ("logprobs", frozen.count / 2)
    assert "where 10,000 may be" in why


def test_calls_without_an_end_do_not_pile_up_threads(tmp_path, monkeypatch):
    monkeypatch.setattr("judgelaw.judges.python._MOST_LEFT", 6)
    fast = {**FAST, "attempts": 1, "timeout_s": 0.05}
    done, kinds, said = failed(tmp_path, blocks, items=20, transport=fast)
    assert kinds == {"timeout", "rejected"}
    assert any("calls had no end, and their threads still run" in each for each in said)
    with pytest.raises(ProviderRefusedError, match="let the function give up by itself"):
        done.raise_if_open()


def test_rate_limited_waits_and_asks_again(tmp_path):
    seen = {}

    def busy(call):
        seen[call.id] = seen.get(call.id, 0) + 1
        if seen[call.id] == 1:
            raise jl.RateLimited(after=0.05)
        return "A"

    frozen, done = asked(tmp_path, busy, transport={**FAST, "attempts": 5})
    done.raise_if_open()
    _, attempts, _ = rows(frozen)
    throttled = [a for a in attempts if a.kind == "throttled"]
    assert throttled
    assert "asked to wait 0.05 s" in throttled[0].detail
    with pytest.raises(InputError, match="seconds from 0 on"):
        jl.RateLimited(after=-1)


def test_refused_stops_the_run_at_once(tmp_path):
    def no(_call):
        raise jl.Refused("the key has expired")

    frozen, done = asked(tmp_path, no)
    with pytest.raises(ProviderRefusedError, match="the key has expired"):
        done.raise_if_open()
    totals, _, _ = rows(frozen)
    assert totals.failed == 0


def test_a_key_of_the_environment_is_masked_in_words_and_replies(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPANY_API_KEY", "sk-7f3a9c51e2aa")

    def tells(call):
        if call.repeat == 0:
            raise ConnectionError("bad key sk-7f3a9c51e2aa")
        return "A sk-7f3a9c51e2aa"

    frozen, _ = asked(tmp_path, tells)
    content = (frozen.path / LEDGER_NAME).read_bytes()
    assert b"sk-7f3a9c51e2aa" not in content
    _, attempts, completions = rows(frozen)
    assert any("bad key [redacted]" in (a.detail or "") for a in attempts)
    assert completions[0].completion.text == "A [redacted]"


def test_a_run_resumes_without_asking_twice(tmp_path):
    asked_calls = []

    def sometimes(call):
        asked_calls.append(call.id)
        if call.item["id"] == "i1" and not hopeful:
            raise ConnectionError("down")
        return "A"

    hopeful = False
    frozen, done = asked(tmp_path, sometimes)
    assert 0 < done.totals.completed < frozen.count
    first = set(asked_calls)
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        committed = {c.call.call_id for c in view.completions()}
    asked_calls.clear()
    hopeful = True
    acquire(open_run(frozen.path), functions={"fn": sometimes}).raise_if_open()
    assert not committed & set(asked_calls)
    assert first - committed <= set(asked_calls)


def test_a_budget_of_tokens_holds_for_a_function(tmp_path):
    reply = jl.Reply(text="A", usage={"input_tokens": 50, "output_tokens": 1})
    frozen, done = asked(
        tmp_path,
        lambda _: reply,
        judge={**OPEN, "decoding": {"max_tokens": 8}},
        budget={"tokens": 300},
        transport={**FAST, "concurrency": 1},
    )
    totals, _, _ = rows(frozen)
    assert 0 < totals.completed < frozen.count
    with pytest.raises(jl.BudgetReachedError):
        done.raise_if_open()


def test_a_named_function_is_found_in_the_studys_folder(tmp_path, monkeypatch):
    write_code(tmp_path)
    monkeypatch.chdir("/")
    study = write_study(tmp_path, [function_judge("judge_functions:waiting")])
    audited = audit_study(study)
    assert audited.analysis.judges["fn"].items == 2
    # Whoever resumes from the run folder alone finds it too.
    assert open_run(audited.run).judges["fn"].folder == str(tmp_path)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        ("nowhere_at_all:ask", "No module named 'nowhere_at_all'"),
        ("judge_functions:missing", "has no attribute 'missing'"),
        ("judge_functions:LOG", "cannot be called"),
    ],
)
def test_a_function_that_is_not_there_is_said_before_anything_is_asked(tmp_path, call, word):
    write_code(tmp_path)
    frozen = frozen_study(tmp_path, [function_judge(call)])
    with pytest.raises(InputError, match=word):
        acquire(frozen)


def test_no_function_at_all_says_where_to_put_one(tmp_path):
    with pytest.raises(InputError, match=r"jl.audit\(study, judge=function\).*call: package"):
        acquire(frozen_study(tmp_path, [OPEN]))


def test_functions_are_handed_out_by_name_or_to_all(tmp_path):
    judges = [OPEN, {**OPEN, "name": "other"}, function_judge(name="named"), simulated_judge()]
    specs = frozen_study(tmp_path, judges).judges
    assert functions_for(specs, None) == {}
    assert functions_for(specs, coin) == {"fn": coin, "other": coin}
    assert functions_for(specs, {"other": later}) == {"other": later}
    with pytest.raises(InputError, match=r"judge=\{'othr'.*did you mean 'other'"):
        functions_for(specs, {"othr": coin})
    with pytest.raises(InputError, match=r"'named'.*without call:"):
        functions_for(specs, {"named": coin})
    with pytest.raises(InputError, match="cannot be called"):
        functions_for(specs, {"fn": "A"})
    with pytest.raises(InputError, match="the study has none"):
        functions_for({"sim": specs["sim"]}, coin)


def test_an_audit_with_a_function_goes_from_study_to_report(tmp_path):
    study = write_study(tmp_path, [OPEN], items=4, repeats=4)
    audited = audit_study(study, judge=coin)
    assert (audited.run / "report.html").exists()
    calls = []
    again = audit_study(study, judge=lambda call: calls.append(call) or "A")
    assert calls == []
    assert again.analysis.judges["fn"].components.keys()
