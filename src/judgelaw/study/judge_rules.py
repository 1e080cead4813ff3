"""Rules of one judge that no single field can state."""

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from urllib.parse import urlsplit

from judgelaw.study.problems import HIDDEN, Path, Problem, shown
from judgelaw.wire import (
    LITERAL,
    PARSERS_GROUP,
    PROVIDERS,
    WIRES,
    JsonParser,
    JudgeSpec,
    ParserSpec,
    RegexParser,
    ScoreParser,
    label_fold,
    looks_like_a_key,
)
from judgelaw.words import DISPLAYED, LETTERS

JUDGES_GROUP = "judgelaw.judges"


_ENV = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_BATCHED = tuple(name for name, wire in WIRES.items() if wire.batches is not None)
_RESERVED = {
    "model": "model",
    "messages": "prompts and system",
    "prompt": "prompts",
    "seed": "seed: sent",
    "n": "repeats: one request is one call",
    "best_of": "repeats: one request is one call",
    "stop": "stop",
    "stop_sequences": "stop",
    "system": "system",
}


def judge_problems(judge: JudgeSpec, path: Path, task: str) -> Iterator[Problem]:
    """Yield everything wrong with one judge."""
    for key, text in (
        *_address(judge),
        *_model(judge),
        *_secrets(judge),
        *_headers(judge),
        *_query(judge),
        *_proxy(judge),
        *_body(judge),
        *_seeds(judge),
        *_probabilities(judge),
        *_caching(judge),
        *_provider_fields(judge, task),
        *_parser(judge, task),
    ):
        yield Problem(path=(*path, *key), text=text)


Found = Iterator[tuple[Path, str]]


_NEUTRAL = {
    "top_p": (None, 1.0),
    "top_k": (None, 0, -1),
    "min_p": (None, 0.0),
    "presence_penalty": (None, 0.0),
    "frequency_penalty": (None, 0.0),
    "repetition_penalty": (None, 1.0),
}
"""Decoding that leaves the law as the returned probabilities have it."""


def _probabilities(judge: JudgeSpec) -> Found:
    """Refuse token probabilities that no reply can hold, or that are not of the law sampled."""
    if judge.logprobs is None:
        return
    wire = WIRES.get(judge.body or "")
    if wire is not None and not wire.probabilities:
        have = ", ".join(name for name, each in WIRES.items() if each.probabilities)
        text = f"{judge.body} returns no token probabilities; leave it out, or ask through {have}"
        yield ("logprobs",), text
    if judge.criteria or judge.asks:
        text = "with criteria the token that decides is not looked for; leave one of the two out"
        yield ("logprobs",), text
    if judge.provider == "command" and judge.mode == "once":
        text = "mode: once answers with a text alone; leave it out, or use mode: lines"
        yield ("logprobs",), text
    for name, neutral in _NEUTRAL.items():
        value = getattr(judge.decoding, name)
        if value not in neutral:
            text = (
                f"{value:g}, changes the law after token probabilities are taken (logprobs: "
                f"{judge.logprobs}), so verdicts would not follow them; leave it out"
            )
            yield ("decoding", name), text
    T = judge.decoding.temperature
    if T is not None and T > 1:
        text = (
            f"{T:g}, above 1 tokens that are not listed gain mass, and nobody knows how much; set "
            "1 or less, or leave logprobs out"
        )
        yield ("decoding", "temperature"), text
    for name in ("logprobs", "top_logprobs"):
        if getattr(judge.decoding, name) is not None:
            yield ("decoding", name), f"the judge says logprobs: {judge.logprobs}; leave this out"


def _address(judge: JudgeSpec) -> Found:
    if judge.provider not in PROVIDERS and judge.provider not in _names(JUDGES_GROUP):
        known = ", ".join([*PROVIDERS, *_names(JUDGES_GROUP)])
        yield ("provider",), f"{judge.provider!r}, must be one of {known}; choose one"
        return
    if is_local(judge):
        if judge.base_url is not None:
            yield ("base_url",), f"{judge.provider} needs no address; leave it out"
        return
    if judge.base_url is None:
        if judge.provider in PROVIDERS:
            yield ("base_url",), "missing, it is needed; write where the server is"
        return
    yield from _url(judge)


def _model(judge: JudgeSpec) -> Found:
    named = judge.provider not in PROVIDERS or not PROVIDERS[judge.provider].own_code
    if named and not judge.model:
        yield ("model",), "missing, it is needed; add it"


def is_local(judge: JudgeSpec) -> bool:
    """Whether a judge runs here: it has no address, and costs nothing."""
    return judge.provider in PROVIDERS and PROVIDERS[judge.provider].local


def _url(judge: JudgeSpec) -> Found:
    url = urlsplit(judge.base_url or "")
    if url.scheme not in ("http", "https") or not url.netloc:
        yield ("base_url",), f"{shown(judge.base_url, ())}, must be http://... or https://..."
    elif "@" in url.netloc or url.query or url.fragment:
        text = (
            f"{HIDDEN}, must carry no user, query or fragment; use api_key: env:NAME, and query: "
            "{NAME: VALUE} for what stands behind the ?"
        )
        yield ("base_url",), text
    elif (
        (wire := WIRES.get(judge.body or "")) is not None
        and wire.at_root
        and url.path.rstrip("/").endswith("/v1")
    ):
        yield ("base_url",), f"{judge.base_url!r}, /{wire.path} is added to it; leave out /v1"


def _secrets(judge: JudgeSpec) -> Found:
    if judge.api_key is not None and not _ENV.fullmatch(judge.api_key):
        text = f"{HIDDEN}, a key must not stand in a study; export it and write env:NAME"
        yield ("api_key",), text
    for name, value in judge.headers.items():
        if not _ENV.fullmatch(value) and (wrong := _literal_problem(name, value)):
            yield ("headers", name), f"{HIDDEN}, {wrong}"
    for place, value in enumerate(judge.secrets):
        if not _ENV.fullmatch(value):
            text = f"{HIDDEN}, a secret must not stand in a study; export it and write env:NAME"
            yield ("secrets", place), text


def _query(judge: JudgeSpec) -> Found:
    for name, value in judge.query.items():
        secret = _SECRET_HEADER.search(name) or looks_like_a_key(value)
        if not _ENV.fullmatch(value) and secret:
            text = f"{HIDDEN}, a key must not stand in a study; export it and write env:NAME"
            yield ("query", name), text


def _proxy(judge: JudgeSpec) -> Found:
    if judge.proxy is None or judge.proxy == "none" or _ENV.fullmatch(judge.proxy):
        return
    url = urlsplit(judge.proxy)
    if url.scheme not in ("http", "https") or not url.hostname:
        yield ("proxy",), f"{shown(judge.proxy, ())}, must be http://HOST:PORT, env:NAME or none"
    elif "@" in url.netloc:
        text = f"{HIDDEN}, a password must not stand in a study; export the address, write env:NAME"
        yield ("proxy",), text


def _literal_problem(name: str, value: str) -> str | None:
    """Say why a header's value may not stand in a study; None where it may."""
    if not value.startswith(LITERAL):
        return (
            "a value is a secret unless it is declared not to be; export it and write env:NAME, "
            f"or write {LITERAL}TEXT for what everybody may read"
        )
    if _SECRET_HEADER.search(name):
        return "a secret must not stand in a study; export it and write env:NAME"
    if looks_like_a_key(value.removeprefix(LITERAL)):
        return "it looks like a key, which must not stand in a study; export it and write env:NAME"
    return None


def _headers(judge: JudgeSpec) -> Found:
    """Refuse what no request can carry; a line break would smuggle in a header of its own."""
    for name, value in judge.headers.items():
        if not _HEADER_NAME.fullmatch(name):
            text = "is no name of a header; letters, digits and dashes make one"
            yield ("headers", name), text
        if not (value.isascii() and value.isprintable()):
            text = f"{HIDDEN}, a header holds one line of printable ASCII; correct it"
            yield ("headers", name), text


def _body(judge: JudgeSpec) -> Found:
    yield from _extra(judge)
    if judge.decoding.max_tokens and judge.decoding.max_completion_tokens:
        yield ("decoding",), "max_tokens and max_completion_tokens; name one cap only"
    wire = WIRES.get(judge.body or "")
    if wire is not None:
        yield from wire.faults(judge)
    if (wire is None or not wire.rendered) and judge.template is not None:
        yield ("template",), "the server renders this format; use provider: openai-completions"


def _extra(judge: JudgeSpec) -> Found:
    for key in judge.extra:
        if key in _RESERVED:
            yield ("extra", key), f"is not sent this way; declare {_RESERVED[key]}"
        elif key in type(judge.decoding).model_fields:
            yield ("extra", key), f"is not sent this way; declare decoding.{key}"
    if judge.extra.get("stream"):
        yield ("extra", "stream"), "streamed replies are not read; leave it out or write false"


def _seeds(judge: JudgeSpec) -> Found:
    wire = WIRES.get(judge.body or "")
    if judge.seed == "sent" and wire is not None and wire.seedless:
        yield ("seed",), f"'sent', {wire.seedless}; write seed: logical"
    if judge.decoding.seed is not None and judge.seed == "sent":
        text = f"{judge.decoding.seed}, under seed: sent every call has its own; leave it out"
        yield ("decoding", "seed"), text


def _caching(judge: JudgeSpec) -> Found:
    caching = [name for name, wire in WIRES.items() if wire.caches]
    if judge.prompt_cache == "on" and (judge.body not in caching or is_local(judge)):
        text = f"'on', is of servers that speak {', '.join(caching)}; leave it out"
        yield ("prompt_cache",), text


def _provider_fields(judge: JudgeSpec, task: str) -> Found:
    for other in PROVIDERS.values():
        for name in other.fields:
            default = JudgeSpec.model_fields[name].default
            if judge.provider != other.name and getattr(judge, name) != default:
                yield (name,), f"is a field of provider {other.name} only; leave it out"
    if judge.batch is not None and judge.provider not in _BATCHED:
        text = f"is an interface of {', '.join(_BATCHED)}; leave it out"
        yield ("batch",), text
    provider = PROVIDERS.get(judge.provider)
    if provider is None:
        if judge.wire is None:
            yield ("wire",), "missing, a provider of another package needs it; name the body format"
        elif judge.base_url is not None and WIRES[judge.wire].path is None:
            known = ", ".join(name for name, wire in WIRES.items() if wire.path is not None)
            text = f"{judge.wire!r}, is no format of a server, and base_url names one; use {known}"
            yield ("wire",), text
        return
    if judge.wire is not None and not provider.speaks:
        yield ("wire",), f"provider {judge.provider} has one format; leave it out"
    elif judge.wire not in (None, provider.format, *provider.speaks):
        known = " or ".join(provider.speaks)
        yield ("wire",), f"{judge.wire!r}, must be {known}; choose one"
    yield from provider.faults(judge, task)


def _parser(judge: JudgeSpec, task: str) -> Found:
    if judge.criteria or judge.asks:
        return  # criteria have rules of their own
    for key, text in parser_problems(judge.parser, task):
        yield ("parser", *key), text


def parser_problems(parser: ParserSpec, task: str) -> Found:
    """Yield what is wrong with a rule that replies are read by."""
    if isinstance(parser, str):
        yield from _named_parser(parser, task)
    elif isinstance(parser, ScoreParser):
        yield from _score(parser, task)
    else:
        yield from _labels(parser, task)
    pattern = getattr(parser, "regex", None) or getattr(
        getattr(parser, "score", None), "regex", None
    )
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            yield (), f"{shown(pattern, ())}, no regular expression ({error}); correct it"


def _named_parser(name: str, task: str) -> Found:
    if name == "first-line":
        if task == "pointwise":
            text = "'first-line', reads A, B or TIE; answers need {score: ...}, scale: or labels:"
            yield (), text
    elif name not in (known := _names(PARSERS_GROUP)):
        forms = ", ".join(["first-line", *known, "{regex: ...}", "{json: ...}", "{score: ...}"])
        yield (), f"{name!r}, must be one of {forms}; choose one"


def _score(parser: ScoreParser, task: str) -> Found:
    if task != "pointwise":
        yield (), "a score reads single answers; set task: pointwise"
    if parser.score.min >= parser.score.max:
        yield (
            ("score",),
            f"min {parser.score.min:g} is not below max {parser.score.max:g}; swap them",
        )


def _labels(parser: RegexParser | JsonParser, task: str) -> Found:
    fold, first = label_fold(parser), dict[str, str]()
    for found, label in (parser.labels or {}).items():
        twin = first.setdefault(fold(found), found)
        if twin != found and (parser.labels or {})[twin] != label:
            text = (
                f"{found!r} and {twin!r} are one label where case and marks do not matter, and "
                "become different verdicts; write strict: true, or make them one"
            )
            yield ("labels", found), text
    for found, label in (parser.labels or {}).items():
        letters = {"pairwise": LETTERS[:2], "choose": LETTERS}.get(task)
        if letters and label not in (*letters, DISPLAYED[-1]):
            named = "A, B or TIE" if task == "pairwise" else "A, B, C, ... or TIE"
            yield (
                ("labels", found),
                f"{label!r}, must be {named} as displayed; candidates are restored later",
            )


def _names(group: str) -> list[str]:
    return sorted({point.name for point in entry_points(group=group)})
