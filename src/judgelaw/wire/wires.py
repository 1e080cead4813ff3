"""Every provider and wire format by its name: how a judge's requests are written and read."""

import json
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, NoReturn

from judgelaw.doors import offered
from judgelaw.errors import InputError
from judgelaw.wire.form import Frame, Provider, WireFormat, dumps
from judgelaw.wire.judge_spec import ChatTemplate, JudgeSpec
from judgelaw.wire.reply import Answer, Failure, Reply

KNOWN_BOS = ("<bos>", "<s>", "<|begin_of_text|>", "<|startoftext|>", "<|begin▁of▁sentence|>")
"""Looked for when a study does not say which token begins a text."""


class ChatRenderer:
    """A compiled chat template: one user message, and a system message if the judge has one."""

    def __init__(self, template: ChatTemplate, system: str | None, judge: str) -> None:
        """Compile the template; the judge's name is for messages."""
        from jinja2 import TemplateError  # noqa: PLC0415 - an analysis renders nothing
        from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 - same

        self._template = template
        self._judge = judge
        self._system = [] if system is None else [{"role": "system", "content": system}]
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals.update(raise_exception=_raise, strftime_now=self._today)
        environment.filters["tojson"] = _tojson
        try:
            self._compiled = environment.from_string(template.text or "")
        except (TemplateError, SyntaxError, RecursionError, OverflowError) as error:
            raise self._error(f"cannot be compiled ({error}); check the file") from None

    def __call__(self, payload: str) -> str:
        """Render one prompt, with at most one BOS token once the server has had its say."""
        self._refuse_control_tokens(payload)
        messages = [*self._system, {"role": "user", "content": payload}]
        try:
            text = self._compiled.render(
                messages=messages,
                add_generation_prompt=True,
                bos_token=self._template.bos or "",
                eos_token=self._template.eos or "",
                **self._template.variables,
            )
        except Exception as error:  # noqa: BLE001 - a template raises whatever Python can
            raise self._error(f"cannot be rendered ({error}); check the template") from None
        if payload not in text and payload.strip() not in text:
            raise self._error("leaves the payload out; check the template")
        return self._check_bos(text)

    def _check_bos(self, text: str) -> str:
        tokens = (self._template.bos,) if self._template.bos else KNOWN_BOS
        begun = next((token for token in tokens if text.startswith(token)), None)
        if begun is None:
            return text
        if text.startswith(begun * 2):
            raise self._error(f"begins with {begun} twice; a prompt has one BOS token")
        if self._template.strip_bos:
            return text.removeprefix(begun)
        if self._template.server_adds_bos:
            raise self._error(
                f"begins with {begun} and the server adds its own; write strip_bos: true, or "
                "server_adds_bos: false and tell the server (vLLM: extra: "
                "{add_special_tokens: false})"
            )
        return text

    def _refuse_control_tokens(self, payload: str) -> None:
        for token in (self._template.bos, self._template.eos, *self._template.special):
            if token and token in payload:
                raise self._error(
                    f"would carry {token} from an item's text as a control token; remove the item"
                )

    def _today(self, form: str) -> str:
        """Write the date that the study names: a clock would change the prompt overnight."""
        from jinja2 import TemplateError  # noqa: PLC0415 - as above

        try:
            return date.fromisoformat(str(self._template.variables.get("date"))).strftime(form)
        except ValueError:
            raise TemplateError(
                "it asks for today's date: name the date under variables, as date: '2026-11-16'"
            ) from None

    def _error(self, text: str) -> InputError:
        name = self._template.path or "text"
        return InputError(f"judge {self._judge!r}: template {name!r} {text}")


def _raise(message: str) -> NoReturn:
    from jinja2 import TemplateError  # noqa: PLC0415 - as above

    raise TemplateError(message)


def _tojson(value: Any, indent: int | None = None) -> str:
    # Jinja's own filter escapes for HTML, which would change what the model sees.
    return json.dumps(value, ensure_ascii=False, indent=indent)


_OFFERED: list[Provider] = offered("judgelaw.wire.providers", "PROVIDERS")
PROVIDERS = {p.name: p for p in sorted(_OFFERED, key=lambda p: (p.place, p.name))}
"""Built-in providers; an entry point of the group `judgelaw.judges` adds its own name."""

WIRES: dict[str, WireFormat] = {
    p.wire.name: p.wire for p in PROVIDERS.values() if p.wire is not None
}


def decode(
    wire: str, reply: Reply, *, content_filter: Sequence[str] = (), now: float
) -> Answer | Failure:
    """Decode a reply of the wire format with that name, as `WireFormat.read` does."""
    return WIRES[wire].read(reply, content_filter=content_filter, now=now)


@lru_cache(maxsize=256)
def frame(judge: JudgeSpec) -> Frame:
    """Return the frame of a judge's requests."""
    if judge.body is None:
        raise InputError(f"judge {judge.name!r}: provider {judge.provider!r} names no wire format")
    wire = WIRES[judge.body]
    before, after, fields = wire.encode(judge)
    listed = "".join(f",{dumps(name)}:{dumps(value)}" for name, value in fields.items())
    prompt: Callable[[str], str] = str
    if wire.rendered and judge.template is not None:
        prompt = ChatRenderer(judge.template, judge.system, judge.name)
    named = dumps({"model": judge.model})[:-1] + before
    return Frame(
        before=named if judge.model else "{" + before.removeprefix(","),
        after=after + listed,
        prompt=prompt,
        sends_seed=judge.seed == "sent",
    )


def request(judge: JudgeSpec, payload: str, seed: int | None) -> bytes:
    """Return the JSON body of one call."""
    shape = frame(judge)
    return shape.head(payload) + shape.tail(seed)
