"""Keys: read from the environment when a request leaves, and nowhere kept."""

import os
from collections.abc import Mapping

from judgelaw.design.judge import LITERAL, JudgeSpec
from judgelaw.errors import InputError
from judgelaw.judges.redaction import Secrets

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


def check_secrets(spec: JudgeSpec) -> None:
    """Raise at once where a key that the judge needs is missing."""
    if spec.api_key_variable is not None:
        read_secret(spec.api_key_variable, f"judge {spec.name}: api_key")
    for name, value in spec.headers.items():
        if value.startswith(_ENV):
            read_secret(value.removeprefix(_ENV), f"judge {spec.name}: header {name}")


def headers_for(
    spec: JudgeSpec, wire: str, fixed: Mapping[str, str]
) -> tuple[dict[str, str], Secrets]:
    """Return the headers of a request, and the secrets among their values."""
    headers, secrets = dict(fixed), list[str]()
    if spec.api_key_variable is not None:
        key = read_secret(spec.api_key_variable, f"judge {spec.name}: api_key")
        secrets.append(key)
        if wire == "anthropic":
            headers["x-api-key"] = key
        else:
            headers["Authorization"] = f"Bearer {key}"
    for name, value in spec.headers.items():
        headers[name] = value.removeprefix(LITERAL)
        if value.startswith(_ENV):
            variable = value.removeprefix(_ENV)
            headers[name] = read_secret(variable, f"judge {spec.name}: header {name}")
            secrets.append(headers[name])
    return headers, Secrets.of(tuple(secrets))
