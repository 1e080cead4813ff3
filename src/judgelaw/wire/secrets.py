"""Keys: read when a request leaves, nowhere kept, masked where a server repeats them.

Masking secrets that a server repeats, in whatever form, before anything is stored or shown.

A server may echo a key as it is, in other case, or character by character as JSON, percent, hex or
entity escapes; encoded as base64 or hex; or cut into the parts of a message. Ordinary bodies are
looked at by a few searches for constant bytes and stay as they came, byte for byte.
"""

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from judgelaw.errors import InputError
from judgelaw.wire.judge_spec import LITERAL, JudgeSpec
from judgelaw.wire.wires import WIRES

MASK = "[redacted]"
_SHORTEST = 6
"""Shorter values are no secrets, and masking them would damage ordinary text."""
_DISTINCT = 12
"""From so many characters on, a form that differs from the secret is no word of a language."""
_ROUNDS = 5
"""How often escapes are undone: an escape may be escaped itself."""
# Every branch begins with a plain character, so that the search skips to the next of these.
_ESCAPE = re.compile(
    r"\\\\{0,7}(?:[uU]00(?P<u>[0-9a-fA-F]{2})|[xX](?P<x>[0-9a-fA-F]{2})|(?P<o>[0-7]{3})|(?=/))|"
    r"%(?P<p>[0-9a-fA-F]{2})|&#(?:[xX]0{0,6}(?P<h>[0-9a-fA-F]{2});?|0{0,6}(?P<d>[0-9]{2,3});?)|"
    r"\x00"
)
_BASES = {"u": 16, "x": 16, "p": 16, "h": 16, "d": 10, "o": 8}
_JSON_ESCAPE = re.compile(rb"\\u00", re.IGNORECASE)
_TEXT_PARTS = 3
"""One text part has the word twice, as its type and as its name."""


class _Form(NamedTuple):
    """One way to write a secret; `folded` where case does not matter."""

    text: str
    folded: bool

    def within(self, plain: str, lower: str) -> bool:
        return self.text in (lower if self.folded else plain)


class Secrets:
    """The secrets of a judge, and every form in which they might come back."""

    def __init__(self, values: Iterable[str]) -> None:
        self._forms = [form for value in _worth_masking(values) for form in _forms(value)]

    @staticmethod
    def of(values: tuple[str, ...]) -> "Secrets":
        """Return the secrets of these values; the forms are made once."""
        return _cached(values)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def __repr__(self) -> str:
        return "Secrets(...)"

    def redact(self, text: str) -> str:
        """Mask every secret in a text; all of the text where that alone helps."""
        found = self._within(text)
        if not found:
            return text
        for form in found:
            text = _pattern(form).sub(MASK, text)
        return MASK if self._within(text) else text

    def redact_body(self, body: bytes) -> bytes:
        """Mask every secret in a body, and in every string that the body decodes to.

        The decoded strings are looked at where escapes, or a message in parts, could hide a secret
        from a look at the bytes; only a body with a find is written anew.
        """
        if not self._forms:
            return body
        looked_into = _JSON_ESCAPE.search(body) or body.count(b'"text"') >= _TEXT_PARTS
        # One character a byte, so that whatever the bytes mean comes back as it was.
        text = body.decode("latin-1")
        if not looked_into and not self._within(text):
            return body
        try:
            value = json.loads(body)
            masked = self._masked(value)
        except (ValueError, RecursionError):
            return self.redact(text).encode("latin-1")
        return body if masked == value else json.dumps(masked).encode()

    def _within(self, text: str) -> list[_Form]:
        """Return the forms that a text holds, as it is or behind escapes."""
        found: list[_Form] = []
        for plain in _unescaped(text):
            lower = plain.lower()
            found += [f for f in self._forms if f not in found and f.within(plain, lower)]
        return found

    def _masked(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {self.redact(key): self._masked(item) for key, item in value.items()}
        if isinstance(value, list):
            return self._joined([self._masked(item) for item in value])
        return value

    def _joined(self, items: list[Any]) -> list[Any]:
        """Mask a secret that is spread over the text parts of a message."""
        parts = [p for p in items if isinstance(p, dict) and isinstance(p.get("text"), str)]
        whole = "".join(p["text"] for p in parts)
        if len(parts) > 1 and (masked := self.redact(whole)) != whole:
            for part in parts:
                part["text"] = ""
            parts[0]["text"] = masked
        return items


@lru_cache(maxsize=64)
def _cached(values: tuple[str, ...]) -> Secrets:
    return Secrets(values)


@lru_cache(maxsize=256)
def _pattern(form: _Form) -> re.Pattern[str]:
    """Return a pattern of a form whose characters stand as they are or escaped."""
    return re.compile("".join(_character(c, ignore_case=form.folded) for c in form.text))


def _unescaped(text: str) -> Iterator[str]:
    """Yield a text, and what is left of it each time that its escapes are undone."""
    yield text
    for _ in range(_ROUNDS):
        plain = _ESCAPE.sub(_meant, text)
        if plain == text:
            return
        yield plain
        text = plain


def _meant(escape: re.Match[str]) -> str:
    kind = escape.lastgroup
    return "" if kind is None else chr(int(escape[kind], _BASES[kind]))


def _forms(value: str) -> list[_Form]:
    """Return a secret as it is, in hex and in base64."""
    folded = len(value) >= _DISTINCT
    found = [_Form(value.lower() if folded else value, folded=folded)]
    if len(shown := value.encode().hex()) >= _DISTINCT:
        found.append(_Form(shown, folded=True))
    return found + [_Form(core, folded=False) for core in dict.fromkeys(_encoded(value))]


def _worth_masking(values: Iterable[str]) -> list[str]:
    """Return the secrets, and the words of those that have several, as in `Bearer KEY`."""
    found = [value for value in values if len(value) >= _SHORTEST]
    words = [word for value in found for word in value.split() if len(word) >= _DISTINCT]
    # The longest first, so that no part is masked before the whole is.
    return sorted(set(found + words), key=lambda value: (-len(value), value))


def _encoded(value: str) -> Iterable[str]:
    """Return what a secret looks like inside base64, wherever it stands in what was encoded."""
    content = value.encode()
    for before in range(3):
        bits = base64.b64encode(bytes(before) + content).decode()
        # The first and the last characters also depend on the neighbours.
        first = -(-before * 8 // 6)
        last = (before + len(content)) * 8 // 6
        core = bits[first:last]
        if len(core) >= _DISTINCT:
            yield core
            yield core.translate({ord("+"): "-", ord("/"): "_"})


def _character(c: str, *, ignore_case: bool) -> str:
    either = sorted({c.lower(), c.upper(), c} if ignore_case else {c})
    ways = [f"\\\\{{0,4}}{re.escape(one)}" for one in either]
    for one in either:
        number = ord(one)
        code = "".join(f"[{d.lower()}{d.upper()}]" if d.isalpha() else d for d in f"{number:02x}")
        ways.append(f"(?:\\\\{{1,8}}(?:[uU]00|[xX])|%(?:25){{0,3}}|&#[xX]0{{0,6}}){code};?")
        ways.append(f"&#0{{0,6}}{number};?")
        ways.append(f"\\\\{{1,8}}{number:03o}")
    return f"(?:{'|'.join(ways)})\x00{{0,3}}"


_ENV = "env:"


def read_secret(name: str, what: str) -> str:
    """Return the value of an environment variable; an error names the variable, never the value."""
    value = os.environ.get(name, "").strip()
    if not value:
        raise InputError(f"{what} is {_ENV}{name}, and {name} is not set: export it, then resume")
    if not (value.isascii() and value.isprintable()):
        raise InputError(
            f"{what} is {_ENV}{name}, whose value holds characters no header can carry"
        )
    return value


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_env_file(path: Path) -> None:
    """Take variables from a file of NAME=VALUE lines; what the environment has already stays.

    Raises:
        InputError: a line is no such line; its value is never shown.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}, cannot be read ({error}); check the path") from None
    for number, line in enumerate(lines, start=1):
        text = line.strip().removeprefix("export ").strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not _VARIABLE.fullmatch(name):
            raise InputError(f"{path}:{number}: no NAME=VALUE; write one variable a line")
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        os.environ.setdefault(name, value)


_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)


def environment_secrets() -> Secrets:
    """Return what the environment holds under the name of a key: a function may repeat it."""
    values = [
        value.strip()
        for name, value in sorted(os.environ.items())
        if _SECRET_VARIABLE.search(name) and len(value.strip()) >= _DISTINCT
    ]
    return Secrets.of(tuple(values))


def check_secrets(spec: JudgeSpec) -> None:
    """Raise at once where a key that the judge needs is missing."""
    if spec.api_key_variable is not None:
        read_secret(spec.api_key_variable, f"judge {spec.name}: api_key")
    for name, value in spec.headers.items():
        if value.startswith(_ENV):
            read_secret(value.removeprefix(_ENV), f"judge {spec.name}: header {name}")
    query_for(spec)


_AUTH: Mapping[str, Callable[[str], dict[str, str]]] = {
    "bearer": lambda key: {"Authorization": f"Bearer {key}"},
    "x-api-key": lambda key: {"x-api-key": key},
    "api-key": lambda key: {"api-key": key},
}


def query_for(spec: JudgeSpec) -> dict[str, str]:
    """Return what is added to a judge's address, secrets read from the environment."""
    return {
        name: read_secret(value.removeprefix(_ENV), f"judge {spec.name}: query {name}")
        if value.startswith(_ENV)
        else value
        for name, value in spec.query.items()
    }


def proxy_for(spec: JudgeSpec, url: str) -> str | None:
    """Return the proxy that a judge is reached through: as declared, else as the environment says.

    Nothing stands between a program and its own machine.
    """
    if spec.proxy is not None:
        if spec.proxy.startswith(_ENV):
            return read_secret(spec.proxy.removeprefix(_ENV), f"judge {spec.name}: proxy")
        return None if spec.proxy == "none" else spec.proxy
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


def has_secrets(spec: JudgeSpec) -> bool:
    """Whether requests of the judge carry a secret, which may change while a run is under way."""
    named = (*spec.headers.values(), *spec.query.values())
    return spec.api_key is not None or any(value.startswith(_ENV) for value in named)


def headers_for(
    spec: JudgeSpec, wire: str, fixed: Mapping[str, str]
) -> tuple[dict[str, str], Secrets]:
    """Return the headers of a request, and the secrets among their values."""
    headers, secrets = dict(fixed), list[str]()
    if spec.api_key_variable is not None:
        key = read_secret(spec.api_key_variable, f"judge {spec.name}: api_key")
        secrets.append(key)
        headers |= (_AUTH[spec.auth] if spec.auth else WIRES[wire].sign)(key)
    for name, value in spec.headers.items():
        headers[name] = value.removeprefix(LITERAL)
        if value.startswith(_ENV):
            variable = value.removeprefix(_ENV)
            headers[name] = read_secret(variable, f"judge {spec.name}: header {name}")
            secrets.append(headers[name])
    secrets += [value for name, value in query_for(spec).items() if value != spec.query[name]]
    return headers, Secrets.of(tuple(secrets))
