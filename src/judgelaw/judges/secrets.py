"""Keys: read from the environment when a request leaves, and nowhere kept."""

import os
from collections.abc import Mapping

from judgelaw.design.judge import JudgeSpec
from judgelaw.errors import InputError

_ENV = "env:"
_REDACTED = b"[redacted]"
_SHORTEST = 6
"""Shorter values are no secrets, and masking them would damage ordinary text."""


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


def check_secrets(spec: JudgeSpec) -> None:
    """Raise at once where a key that the judge needs is missing."""
    if spec.api_key_variable is not None:
        read_secret(spec.api_key_variable, f"judge {spec.name}: api_key")
    for name, value in spec.headers.items():
        if value.startswith(_ENV):
            read_secret(value.removeprefix(_ENV), f"judge {spec.name}: header {name}")


def headers_for(
    spec: JudgeSpec, wire: str, fixed: Mapping[str, str]
) -> tuple[dict[str, str], list[bytes]]:
    """Return the headers of a request, and the secrets among their values."""
    headers, secrets = dict(fixed), []
    if spec.api_key_variable is not None:
        key = read_secret(spec.api_key_variable, f"judge {spec.name}: api_key")
        secrets.append(key)
        if wire == "anthropic":
            headers["x-api-key"] = key
        else:
            headers["Authorization"] = f"Bearer {key}"
    for name, value in spec.headers.items():
        headers[name] = value
        if value.startswith(_ENV):
            variable = value.removeprefix(_ENV)
            headers[name] = read_secret(variable, f"judge {spec.name}: header {name}")
            secrets.append(headers[name])
    return headers, [s.encode() for s in secrets if len(s) >= _SHORTEST]


def redact(content: bytes, secrets: list[bytes]) -> bytes:
    """Mask secrets that a server repeats, so that no reply can carry them into a file."""
    for secret in secrets:
        if secret in content:
            content = content.replace(secret, _REDACTED)
    return content


def redact_text(text: str, secrets: list[bytes]) -> str:
    """Mask secrets in a text."""
    for secret in secrets:
        text = text.replace(secret.decode(), _REDACTED.decode())
    return text
