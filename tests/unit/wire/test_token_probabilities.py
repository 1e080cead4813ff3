"""Token probabilities of real reply formats, read through the judge's own parser."""

import json
from math import exp, log

import pytest

from judgelaw.wire import JudgeSpec, Reader, Reply, decode, request, vector_of


def spec(**fields) -> JudgeSpec:
    base = {
        "name": "j",
        "provider": "openai-chat",
        "base_url": "http://h/v1",
        "model": "m",
        "logprobs": 20,
    }
    return JudgeSpec(**{**base, **fields})


def listed(token: str, **others: float) -> dict:
    """Return one token of a chat reply with its alternatives, by probability."""
    top = [{"token": text, "logprob": log(p) if p else -9999.0} for text, p in others.items()]
    own = next((each["logprob"] for each in top if each["token"] == token), log(0.5))
    return {"token": token, "logprob": own, "bytes": None, "top_logprobs": top}


def chat(*tokens: dict, text: str | None = None, finish="stop") -> Reply:
    said = "".join(token["token"] for token in tokens) if text is None else text
    message = {"role": "assistant", "content": said}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    choice["logprobs"] = {"content": list(tokens)}
    return Reply(status=200, body=json.dumps({"choices": [choice]}).encode())


def vector(judge: JudgeSpec, reply: Reply, order: str = "AB"):
    answer = decode(judge.body, reply, now=0.0)
    with Reader(judge) as reader:
        return vector_of(answer.tokens, judge, answer.completion, order, reader.read_all)


def test_the_first_token_decides_and_candidates_are_restored():
    reply = chat(listed("A", A=0.6, B=0.3, The=0.05))
    found = vector(spec(), reply, "BA")
    assert found.verdicts == pytest.approx(
        {"candidate_2": 0.6, "candidate_1": 0.3, "invalid": 0.05}
    )
    assert found.missing == pytest.approx(0.05)
    assert (found.place, found.token) == (0, "A")


def test_spellings_of_one_label_add_up():
    found = vector(spec(), chat(listed("A", **{"A": 0.5, " A": 0.2, "B": 0.3})))
    assert found.verdicts == pytest.approx({"candidate_1": 0.7, "candidate_2": 0.3})


def test_a_label_of_several_tokens_is_missing_unless_a_grammar_completes_it():
    tokens = (listed("T", A=0.5, B=0.2, T=0.3), listed("IE", IE=0.9, he=0.1))
    found = vector(spec(), chat(*tokens))
    assert found.verdicts == pytest.approx({"candidate_1": 0.5, "candidate_2": 0.2})
    assert found.begun == ("T",)
    assert found.missing == pytest.approx(0.3)
    ruled = spec(provider="embedded", base_url=None, grammar='root ::= "A" | "B" | "TIE"')
    found = vector(ruled, chat(*tokens))
    assert found.verdicts["tie"] == pytest.approx(0.3)
    assert found.completed == ("T",)


def test_the_law_before_the_grammar_is_conditioned_on_what_it_allows():
    ruled = spec(provider="embedded", base_url=None, grammar='root ::= "A" | "B"')
    before = vector(ruled, chat(listed("A", A=0.3, The=0.4, B=0.1)))
    assert before.verdicts == pytest.approx({"candidate_1": 0.75, "candidate_2": 0.25})
    partly = vector(ruled, chat(listed("A", A=0.3, The=0.4)))
    assert partly.verdicts == pytest.approx({"candidate_1": 0.3 / 0.6})
    assert partly.missing == pytest.approx(0.5)


def test_what_was_listed_before_a_grammar_of_sentences_is_left_out():
    """What such a grammar allows is not known, so a list with other tokens in it is no law."""
    judge = spec(
        provider="embedded",
        base_url=None,
        grammar='root ::= "It is " ("good" | "bad")',
        parser={"regex": "It is (.*)", "labels": {"good": "A", "bad": "B"}},
    )
    start = listed("It is", **{"It is": 1.0})
    ruled = chat(start, listed(" good", **{" good": 0.7, " ba": 0.3}))
    assert vector(judge, ruled).verdicts == pytest.approx({"candidate_1": 0.7, "candidate_2": 0.3})
    unruled = chat(start, listed(" good", **{" good": 0.6, " bad": 0.2, " fine": 0.1}))
    found = vector(judge, unruled)
    assert found.verdicts == {}
    assert "listed before the grammar" in found.why
    free = spec(parser=judge.parser)
    assert vector(free, unruled).missing == pytest.approx(0.2), "without one it is the law"


def test_reasoning_before_the_verdict_is_a_condition():
    judge = spec(parser={"regex": r"Verdict: (A|B|TIE)"})
    tokens = (
        listed("Both", Both=0.5, A=0.3, B=0.2),
        listed(" are fine. Verdict:", **{" are fine. Verdict:": 1.0}),
        listed(" B", **{" A": 0.1, " B": 0.85, " neither": 0.05}),
    )
    found = vector(judge, chat(*tokens))
    assert found.place == 2
    assert found.verdicts == pytest.approx({"candidate_1": 0.1, "candidate_2": 0.85})
    assert found.missing == pytest.approx(0.05)


def test_a_field_of_an_object_is_closed_by_what_followed():
    judge = spec(parser={"json": "verdict", "labels": {"first": "A", "second": "B"}})
    tokens = (
        listed('{"verdict": "', **{'{"verdict": "': 1.0}),
        listed("first", first=0.7, second=0.2, third=0.1),
        listed('"}', **{'"}': 1.0}),
    )
    found = vector(judge, chat(*tokens))
    assert found.place == 1
    assert found.verdicts == pytest.approx({"candidate_1": 0.7, "candidate_2": 0.2})


def test_a_score_that_begins_another_is_missing():
    judge = spec(parser={"score": {"min": 1, "max": 10}})
    found = vector(judge, chat(listed("7", **{"7": 0.6, "8": 0.3, "1": 0.1})), "single")
    assert found.verdicts == pytest.approx({"7": 0.6, "8": 0.3})
    assert found.begun == ("1",)


def test_temperature_sharpens_call_by_call():
    judge = spec(decoding={"temperature": 0.5})
    found = vector(judge, chat(listed("A", A=0.8, B=0.2)))
    assert found.verdicts == pytest.approx({"candidate_1": 0.64 / 0.68, "candidate_2": 0.04 / 0.68})
    lacking = vector(judge, chat(listed("A", A=0.6, B=0.2)))
    # Tokens that are not listed have .2 each at most: they keep .2 x .2 of their mass.
    assert lacking.missing == pytest.approx(0.04 / 0.44)
    greedy = vector(spec(decoding={"temperature": 0.0}), chat(listed("A", A=0.8, B=0.2)))
    assert greedy.verdicts == {"candidate_1": 1.0}


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (chat(listed("A", A=0.8, B=0.6)), "sum to 1.4"),
        (chat(listed("A", A=0.0, B=1.0)), "no probability"),
        (chat(listed("A", A=0.9), text="B"), "do not spell the reply"),
        (chat(listed("A", A=0.9), finish="length"), "truncated"),
        (
            Reply(
                status=200,
                body=json.dumps({"choices": [{"message": {"content": "A"}}]}).encode(),
            ),
            "without token probabilities",
        ),
    ],
)
def test_what_cannot_be_a_vector_says_why(reply, why):
    found = vector(spec(), reply)
    assert found.verdicts == {}
    assert found.missing == 1
    assert why in found.why


def test_requests_ask_in_the_words_of_their_format():
    asked = json.loads(request(spec(), "p", 1))
    assert (asked["logprobs"], asked["top_logprobs"]) == (True, 20)
    plain = json.loads(request(spec(logprobs=None), "p", 1))
    assert "logprobs" not in plain
    rendered = spec(provider="openai-completions", template={"text": "{{ messages[0].content }}"})
    assert json.loads(request(rendered, "p", 1))["logprobs"] == 20
    function = spec(provider="python", base_url=None)
    assert json.loads(request(function, "p", 1))["decoding"] == {"logprobs": 20}


def test_text_completions_list_mappings():
    body = {
        "choices": [
            {
                "text": "A",
                "finish_reason": "stop",
                "logprobs": {
                    "tokens": ["A"],
                    "token_logprobs": [log(0.6)],
                    "top_logprobs": [{"A": log(0.6), "B": log(0.4)}],
                },
            }
        ]
    }
    judge = spec(provider="openai-completions", template={"text": "{{ messages[0].content }}"})
    found = vector(judge, Reply(status=200, body=json.dumps(body).encode()))
    assert found.verdicts == pytest.approx({"candidate_1": 0.6, "candidate_2": 0.4})


@pytest.mark.parametrize(
    "logprobs",
    [
        {"A": log(0.6), "B": log(0.4)},
        [{"A": log(0.6), "B": log(0.4)}],
        [listed("A", A=0.6, B=0.4)],
        {"content": [listed("A", A=0.6, B=0.4)]},
    ],
)
def test_functions_and_commands_return_what_they_have(logprobs):
    body = json.dumps({"text": "A", "logprobs": logprobs}).encode()
    for provider in ("python", "command"):
        judge = spec(provider=provider, base_url=None)
        found = vector(judge, Reply(status=200, body=body))
        assert found.verdicts == pytest.approx({"candidate_1": 0.6, "candidate_2": 0.4})


def test_what_a_function_returns_besides_is_kept_and_not_read():
    answer = decode("python", Reply(status=200, body=b'{"text":"A","logprobs":[1]}'), now=0.0)
    assert answer.tokens is None


def test_log_probabilities_are_kept_as_they_came():
    answer = decode("openai-chat", chat(listed("A", A=0.6, B=0.4)), now=0.0)
    ((text, logprob, top),) = json.loads(answer.tokens)
    assert text == "A"
    assert exp(logprob) == pytest.approx(0.6)
    assert [name for name, _ in top] == ["A", "B"]
