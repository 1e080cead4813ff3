"""Keys: read when a request leaves, nowhere kept; and what else must not be repeated.

What a judge is given by reference (`env:NAME`) is a secret whatever it looks like. Functions and
commands read their keys themselves: of the environment that they share with us, values under the
name of a key, addresses with a password, and long values that look random are taken for secrets.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from judgelaw.errors import InputError
from judgelaw.record_files import read_regular
from judgelaw.wire.judge_spec import LITERAL, JudgeSpec
from judgelaw.wire.masking import DISTINCT, Secrets
from judgelaw.wire.wires import WIRES

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
        lines = read_regular(path).decode().splitlines()
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


# What looks like a secret

_CREDENTIALS = re.compile(r"(?:bearer|basic|digest|token)\s", re.IGNORECASE)
_PARTS = re.compile(r"[A-Za-z0-9]+")
_CHANGES = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])|[a-z](?=[A-Z])")
_HEX = re.compile(r"[0-9a-fA-F]{16,}")
_MIXED = ((10, 4), (14, 3), (18, 2))
"""Lengths, and changes between letter, digit and case, of which nine in ten keys have more."""
_LONGEST_WORD = 24
"""Letters or digits in a row that still may be a word, a date or a name."""


def looks_like_a_key(text: str) -> bool:
    """Whether a part of a text looks random: it is long, or mixes letters and digits.

    Versions, dates, names and media types have none.

    >>> looks_like_a_key("prompt-caching-2024-07-31"), looks_like_a_key("sk-7f3a9c51e2")
    (False, True)
    """
    if _CREDENTIALS.match(text):
        return True
    words = [_PARTS.findall(word) for word in text.split()]
    return any(any(map(_is_random, parts)) or _is_mixed("".join(parts)) for parts in words)


def _is_random(part: str) -> bool:
    """Whether letters and digits without a break are no word, date or name."""
    changes = len(_CHANGES.findall(part))
    if part.isalpha() or part.isdigit():
        return len(part) >= _LONGEST_WORD or (len(part) >= 20 and changes >= 4)  # noqa: PLR2004 - measured
    mixed = any(len(part) >= n and changes >= least for n, least in _MIXED)
    return mixed or _HEX.fullmatch(part) is not None


def _is_mixed(parts: str) -> bool:
    """Whether parts that hyphens and the like hold together change all the time."""
    changes = len(_CHANGES.findall(parts))
    return len(parts) >= 16 and changes >= max(5, 0.25 * len(parts))  # noqa: PLR2004 - measured


_LONG = 20
"""Characters that a value of the environment has at least to be taken for a key by its look."""
_OF_CHANGES = 0.3
"""Changes a character: keys of letters and digits have 0.45, names of models up to 0.25."""
_PREFIXES = re.compile(
    r"(?:sk|pk|rk|gh[opsur]|github_pat|xox[abeoprs]|hf|glpat|AKIA|AIza|eyJ)[-_]?"
)
_KEY_NAME = re.compile(
    r"(?:^|_)[A-Z0-9]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)S?$", re.IGNORECASE
)
_WITH_KEY_NAME = re.compile(
    r"(?:^|_)[A-Z0-9]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH|PAT|DSN)S?"
    r"(?:_|[0-9]|$)",
    re.IGNORECASE,
)
_PLACE_NAME = re.compile(
    r"^(?:PATH|HOME|LANG|LANGUAGE|PWD|OLDPWD|SHELL|USER|LOGNAME|HOSTNAME|TERM|PS[0-9]|_|LS_COLORS|"
    r"LC_.*|JUDGELAW_.*|.*_(?:PATH|PATHS|DIR|DIRS|HOME|ROOT|FILE|SOCK|VERSION|MODEL))$",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?:~|\.{0,2}/|[A-Za-z]:[\\/]|file:)")
_PASSWORD_PART = re.compile(
    r"(?:password|passwd|pwd|accountkey|sharedaccesskey|secret|token|sig|api_?key)=([^\s;&\"']+)",
    re.IGNORECASE,
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PIECES = re.compile(r"[\s,;:|&?=\"'(){}<>\[\]]+")


def environment_secrets(judges: Iterable[JudgeSpec] = ()) -> Secrets:
    """Return the secrets of the environment, which functions and commands may repeat.

    First what the judges of the study refer to as `env:NAME`, then what looks like a secret.
    """
    declared = {name for judge in judges for name in references(judge)}
    values: list[str] = []
    for name, value in sorted(os.environ.items()):
        if name in declared:
            values += _with_passwords(value.strip())
        values += _looks_secret(name, value.strip())
    return Secrets.of(tuple(dict.fromkeys(values)))


def references(judge: JudgeSpec) -> Iterator[str]:
    """Yield the environment variables that a judge refers to."""
    named = (judge.api_key, judge.proxy, *judge.headers.values(), *judge.query.values())
    for value in (*named, *judge.secrets):
        if value is not None and value.startswith(_ENV):
            yield value.removeprefix(_ENV)


@lru_cache(maxsize=1024)
def _looks_secret(name: str, value: str) -> tuple[str, ...]:
    """Return what must not be repeated of a variable of the environment."""
    if len(value) < DISTINCT or _PLACE_NAME.match(name):
        return ()
    found = [each for each in _with_passwords(value)[1:] if len(each) >= DISTINCT]
    if found:
        return (value, *found)
    if _PLACE.match(value):
        return ()
    if _KEY_NAME.search(name) or (_WITH_KEY_NAME.search(name) and looks_like_a_key(value)):
        return (value,)
    if looks_random(value) and not any(c.isspace() for c in value):
        return (value,)
    return tuple(part for part in _PIECES.split(value) for part in _random_parts(part))


def _random_parts(text: str) -> Iterator[str]:
    if not _PLACE.match(text):
        yield from (part for part in (text, *text.split("/")) if looks_random(part))


def looks_random(text: str) -> bool:
    """Whether a text is long, without blanks, and looks random from end to end.

    >>> looks_random("meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8")
    False
    >>> looks_random("wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzKq37pQ")
    True
    """
    if len(text) < _LONG:
        return False
    if _UUID.fullmatch(text) or (_PREFIXES.match(text) and looks_like_a_key(text)):
        return True
    parts = _PARTS.findall(text)
    whole = "".join(parts)
    mixed = len(whole) >= _LONG and len(_CHANGES.findall(whole)) >= _OF_CHANGES * len(whole)
    return mixed or any(len(part) >= _LONG and _is_random(part) for part in parts)


def _with_passwords(value: str) -> list[str]:
    """Return a value, and the passwords in it where it is an address or a list of settings."""
    found = [value]
    if "://" in value and "@" in value:
        # Whatever stands before the last @ and after the scheme: characters may lack their escape.
        before = value.partition("://")[2].rpartition("@")[0]
        user, _, password = before.partition(":")
        for each in (before, password):
            found += [each, unquote(each)]
        if unquote(password) == unquote(user):
            found = [value, before]
    found += _PASSWORD_PART.findall(value)
    return list(dict.fromkeys(found))


def check_secrets(spec: JudgeSpec) -> None:
    """Raise at once where a key that the judge needs is missing."""
    if spec.api_key_variable is not None:
        read_secret(spec.api_key_variable, f"judge {spec.name}: api_key")
    for name, value in spec.headers.items():
        if value.startswith(_ENV):
            read_secret(value.removeprefix(_ENV), f"judge {spec.name}: header {name}")
    for value in spec.secrets:
        read_secret(value.removeprefix(_ENV), f"judge {spec.name}: secrets")
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


class Proxy(NamedTuple):
    """What a judge is reached through: its address, and what of it must not be repeated."""

    url: str
    secrets: tuple[str, ...] = ()


def proxy_for(spec: JudgeSpec, url: str) -> Proxy | None:
    """Return the proxy that a judge is reached through: as declared, else as the environment says.

    Nothing stands between a program and its own machine.

    Raises:
        InputError: it cannot be understood; the message names the variable, never the value.
    """
    if spec.proxy is not None:
        if spec.proxy.startswith(_ENV):
            what = f"judge {spec.name}: proxy"
            value = read_secret(spec.proxy.removeprefix(_ENV), what)
            return _proxy(value, f"{what} is {spec.proxy}, and its value")
        return None if spec.proxy == "none" else Proxy(spec.proxy)
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(host):
        return None
    value = getproxies().get(parts.scheme, "")
    where = f"judge {spec.name}: the proxy in {parts.scheme.upper()}_PROXY of the environment"
    return _proxy(value, where) if value else None


def _proxy(value: str, where: str) -> Proxy:
    """Read the address of a proxy, before anything is sent through it or said of it."""
    value = value if "://" in value else f"http://{value}"
    wrong = _wrong_address(value)
    if wrong:
        rule = "write http://USER:PASSWORD@HOST:PORT (the value is not shown)"
        raise InputError(f"{where} {wrong}; {rule}")
    parts = urlsplit(value)
    if not parts.username and not parts.password:
        return Proxy(value)
    both = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return Proxy(value, (both, *_with_passwords(value)))


_HOST = re.compile(r"[A-Za-z0-9._:-]+")


def _wrong_address(value: str) -> str | None:
    """Say what is wrong with an address that may hold a password; None where nothing is."""
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return "has no number up to 65535 as its port, or a password with / ? # : not as %2F %3F"
    if parts.scheme not in ("http", "https"):
        return f"has the scheme {parts.scheme!r}, and http and https are spoken"
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return "has / ? or # in its password, which are written %2F %3F %23 there"
    if not parts.hostname or port == 0 or not _HOST.fullmatch(parts.hostname):
        return "names no host and port"
    return None


def has_secrets(spec: JudgeSpec) -> bool:
    """Whether requests of the judge carry a secret, which may change while a run is under way."""
    return any(True for _ in references(spec))


def headers_for(
    spec: JudgeSpec, wire: str, fixed: Mapping[str, str], proxy: Proxy | None = None
) -> tuple[dict[str, str], Secrets]:
    """Return the headers of a request, and the secrets that an answer may repeat."""
    headers, secrets = dict(fixed), list[str](proxy.secrets if proxy else ())
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
    for name in spec.secrets:
        secrets.append(read_secret(name.removeprefix(_ENV), f"judge {spec.name}: secrets"))
    return headers, Secrets.of(tuple(secrets))
