"""No optional field of a reply keeps its text from being read, whatever it holds."""

import json
import math

import pytest

from judgelaw.wire import Answer, Failure, JudgeSpec, Reader, Reply, Secrets, decode, vector_of
from judgelaw.wire.reply_json import DEEPEST, json_value, shallow
from judgelaw.wire.wires import WIRES
from support.odd_values import SAMPLES, VALUES, optional_paths, replaced

ALL = [pytest.param(wire, id=wire) for wire in WIRES]
JUDGES = [
    JudgeSpec(
        name="j",
        provider="openai-chat",
        base_url="http://x/v1",
        model="m",
        decoding={"temperature": temperature, "max_tokens": 8},
        logprobs=5,
    )
    for temperature in (1.0, 0.0, 0.3)
]


def read(wire, body):
    return decode(wire, Reply(status=200, body=body), now=1.7e9)


def check(answer):
    """What a ledger takes, and what every reader of it takes again."""
    said = answer.completion
    texts = (said.text, said.finish_reason, said.refusal)
    for text in (*texts, answer.model, answer.fingerprint, answer.response_id):
        assert text is None or text.encode() is not None
    counts = (answer.input_tokens, answer.output_tokens, answer.cached_tokens, answer.echoed_seed)
    for number in counts:
        assert number is None or (isinstance(number, int) and 0 <= number < 2**54)
    for field, why in answer.unread:
        assert field
        assert why
    if answer.tokens is not None:
        numbers = [n for _, lp, top in json.loads(answer.tokens) for n in (lp, *dict(top).values())]
        assert all(math.isfinite(number) and number <= 1e-4 for number in numbers)


def test_there_are_enough_values_and_every_format_has_a_sample():
    assert len(VALUES) >= 200
    assert set(SAMPLES) == set(WIRES)
    for wire, sample in SAMPLES.items():
        whole = read(wire, json.dumps(sample).encode())
        assert isinstance(whole, Answer)
        assert (whole.completion.text, whole.unread) == ("A", ())
        assert whole.tokens is not None or wire in ("anthropic", "openai-responses")


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("wire", ALL)
def test_every_optional_field_may_hold_anything(wire, step):
    """The answer stays, the value is missing with a reason, and the tokens still make a law."""
    laws: dict[str, Answer] = {}
    for n, path in enumerate(optional_paths(wire)):
        content = path[-1] in ("content", "text") or path[-2:] == ("content", 0)
        for value in VALUES[n % step :: step]:
            body = replaced(SAMPLES[wire], path, value)
            answer = read(wire, body)
            assert isinstance(answer, Answer), (path, value[:80], answer)
            check(answer)
            assert content or answer.completion.text == "A", (path, value[:80])
            if answer.tokens is not None:
                laws.setdefault(answer.tokens, answer)
    for tokens, answer in laws.items():
        for judge in JUDGES:
            with Reader(judge) as reader:
                law = vector_of(tokens, judge, answer.completion, "AB", reader.read_all)
            assert all(0 <= p <= 1 + 1e-9 for p in law.verdicts.values()), tokens
            assert law.missing >= -1e-9


@pytest.mark.parametrize("wire", ALL)
def test_what_cannot_be_read_is_missing_with_the_reason(wire):
    for path in optional_paths(wire):
        if path[-1] in ("model", "finish_reason", "stop_reason", "output_tokens"):
            answer = read(wire, replaced(SAMPLES[wire], path, "NaN"))
            assert any(why.startswith("NaN, where a") for _, why in answer.unread), path


@pytest.mark.parametrize("logprob", ["NaN", "Infinity", "1e999", "1000", "9" * 400, '"x"', "[]"])
def test_one_odd_logprob_leaves_the_reply_without_token_probabilities(logprob):
    for path in optional_paths("openai-chat"):
        if path[-1] == "logprob":
            answer = read("openai-chat", replaced(SAMPLES["openai-chat"], path, logprob))
            assert answer.tokens is None
            assert [field for field, _ in answer.unread] == ["logprobs"]


@pytest.mark.parametrize("temperature", [0, 1, 2])
def test_a_list_without_any_probability_is_no_law(temperature):
    body = json.dumps(SAMPLES["openai-chat"]).replace("-0.1", "-9999").replace("-3", "-9999")
    answer = read("openai-chat", body.encode())
    judge = JUDGES[0].model_copy(
        update={"decoding": JUDGES[0].decoding.model_copy(update={"temperature": temperature})}
    )
    with Reader(judge) as reader:
        law = vector_of(answer.tokens, judge, answer.completion, "AB", reader.read_all)
    assert law.verdicts == {}
    assert law.why == "it gives no token that it lists a probability"


@pytest.mark.parametrize("own", ["1000.0", "1e308"])
def test_numbers_that_earlier_versions_stored_end_in_a_reason(own):
    answer = read("openai-chat", json.dumps(SAMPLES["openai-chat"] | {"seed": None}).encode())
    for tokens in (f'[["A",{own},[]]]', f'[["A",-0.1,[["A",{own}],["B",-1.0]]]]'):
        with Reader(JUDGES[0]) as reader:
            law = vector_of(tokens, JUDGES[0], answer.completion, "AB", reader.read_all)
        assert law.why == "it lists what are no log probabilities"


def test_a_choice_whose_number_is_none_is_the_answer():
    """One that calls itself another answer than the first is not, as before."""
    sample, path = SAMPLES["openai-chat"], ("choices", 0, "index")
    for index in VALUES:
        found = read("openai-chat", replaced(sample, path, index))
        another = index.isdecimal() and 0 < int(index[:20]) < 2**53
        assert isinstance(found, Failure) == another, index[:80]


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "python"])
def test_masking_takes_any_value_too(wire):
    secrets = Secrets(("sk-canary-7f3a9c51e2Qx8ZpLm4Wd",))
    for n, path in enumerate(optional_paths(wire)):
        for value in VALUES[n % 11 :: 11]:
            body = replaced(SAMPLES[wire], path, value)
            assert isinstance(read(wire, secrets.redact_body(body)), Answer), (path, value[:80])


def test_what_lies_too_deep_is_left_out_and_the_rest_is_read():
    deep = b'{"x": ' + b"[" * 5_000 + b'"]"' + b"]" * 5_000 + b', "text": "A]"}'
    value = json_value(deep)
    assert value["text"] == "A]"
    depth, inner = 1, value["x"]
    while inner is not None:
        depth, inner = depth + 1, inner[0]
    assert depth == DEEPEST
    plain = json.dumps({"a": [[1]] * 500, "b": "[" * 500}).encode()
    assert shallow(plain) is plain
    for cut in (deep[:3_000], b"[" * 100_000, b'{"a": ' * 5_000):
        with pytest.raises(ValueError, match="Expecting"):
            json_value(cut)
