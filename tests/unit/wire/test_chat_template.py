import json

import pytest

from judgelaw.errors import InputError
from judgelaw.wire import ChatTemplate, JudgeSpec, request
from judgelaw.wire.wires import ChatRenderer

GEMMA = (
    "{{ bos_token }}{% for m in messages %}<start_of_turn>{{ m.role }}\n"
    "{{ m.content | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)


def render(text: str, payload: str = "hi", system: str | None = None, **fields) -> str:
    return ChatRenderer(ChatTemplate(text=text, **fields), system, "j")(payload)


def test_a_template_renders_one_user_message():
    text = render(GEMMA, "hi\n", bos="<bos>", server_adds_bos=False)
    assert text == "<bos><start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n"


def test_the_completions_format_sends_the_rendered_prompt():
    spec = JudgeSpec(
        name="j",
        provider="openai-completions",
        base_url="http://h",
        model="m",
        template=ChatTemplate(text=GEMMA, bos="<bos>", strip_bos=True),
        system="s",
    )
    prompt = json.loads(request(spec, "hi", 1))["prompt"]
    assert prompt.startswith("<start_of_turn>system\ns<end_of_turn>\n<start_of_turn>user\nhi")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"bos": "<bos>"}, "begins with <bos> and the server adds its own"),
        ({"bos": "<bos>", "text": "<bos>" + GEMMA, "server_adds_bos": False}, "<bos> twice"),
        ({"text": "<s><s>{{ messages[0].content }}", "server_adds_bos": False}, "<s> twice"),
        ({"text": "<s>{{ messages[0].content }}"}, "the server adds its own"),
        ({"bos": "<bos>", "text": "<bos>" + GEMMA, "strip_bos": True}, "<bos> twice"),
    ],
)
def test_a_prompt_has_one_bos_token(fields, words):
    with pytest.raises(InputError, match=words):
        render(**{"text": GEMMA, **fields})


def test_a_template_that_asks_for_the_date_gets_the_one_that_the_study_names():
    text = "Current date: {{ strftime_now('%d.%m.%Y') }}\n{{ messages[0].content }}"
    assert render(text, variables={"date": "2026-11-16"}) == "Current date: 16.11.2026\nhi"
    with pytest.raises(InputError, match="name the date under variables"):
        render(text, variables={"date": "tomorrow"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{% for %}", "cannot be compiled"),
        ("{{ raise_exception('no system role') }}", "no system role"),
        ("{{ strftime_now('%Y') }}", "name the date under variables"),
        ("constant", "leaves the payload out"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "cannot be rendered"),
        ("{{ messages.append(1) }}{{ messages[0].content }}", "cannot be rendered"),
        ("{{ messages.nothing() }}", "cannot be rendered"),
    ],
)
def test_a_bad_or_hostile_template_is_refused(text, words):
    with pytest.raises(InputError, match=words):
        render(text)


def test_item_text_cannot_carry_control_tokens():
    for token in ("<bos>", "<eos>", "<|im_end|>"):
        with pytest.raises(InputError, match="as a control token"):
            render(
                GEMMA,
                f"x{token}",
                bos="<bos>",
                eos="<eos>",
                special=("<|im_end|>",),
                strip_bos=True,
            )


def test_template_syntax_in_item_text_is_text():
    assert "{{ 7 * 7 }}{% raw %}" in render(GEMMA, "{{ 7 * 7 }}{% raw %}")


def test_json_is_not_escaped_for_html():
    text = render("{{ messages[0].content | tojson }}{{ messages[0].content }}", "<a> 'é'")
    assert text.startswith("\"<a> 'é'\"")


def test_variables_are_constants_of_the_study():
    text = render("{{ date }}{{ messages[0].content }}", variables={"date": "2026-01-01"})
    assert text == "2026-01-01hi"


@pytest.mark.parametrize("fault", ["1 / 0", "messages[9].content", "'a' + 1", "[] | first | abs"])
def test_whatever_a_template_raises_is_told_as_its_fault(fault):
    with pytest.raises(InputError, match="cannot be rendered"):
        render(f"{{{{ {fault} }}}}{{{{ messages[0].content }}}}")
