"""Ways in which a judge may repeat a key, and what somebody would find who looks for it."""

import base64
import bz2
import codecs
import gzip
import html
import json
import lzma
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

KEY = "sk-canary-7f3a9c51e2Qx8ZpLm4Wd"
_WINDOW = 10
"""Letters and digits of the key in a row that are counted as a find."""

Said = dict[str, Any]
"""What a judge says: `text`, `model`, `id`, `finish_reason`, `logprobs`, `extra`, or `error`."""
Spell = Callable[[str], str]


@dataclass(frozen=True, kw_only=True)
class Echo:
    """One way to repeat a key.

    Attributes:
        name: of it.
        say: what is said, given the key.
        named: the words of SECURITY.md where this way is not masked; None where it is.
    """

    name: str
    say: Callable[[str], Said]
    named: str | None = None


def _each(form: str) -> Spell:
    return lambda s: "".join(form.format(ord(c)) for c in s)


def _between(separator: str) -> Spell:
    return separator.join


def _b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _wide(first: int) -> Spell:
    letters = {chr(97 + n): chr(first + n) for n in range(26)}
    return lambda s: s.lower().translate(str.maketrans(letters))


def _shifted(encode: Callable[[bytes], bytes], before: str) -> Spell:
    return lambda s: encode(f"{before}{s} end".encode()).decode()


SPELLINGS: dict[str, Spell] = {
    "as it is": str,
    "upper case": str.upper,
    "lower case": str.lower,
    "other case": str.swapcase,
    "title case": str.title,
    "json escapes": _each("\\u{:04x}"),
    "json escapes, upper": _each("\\u{:04X}"),
    "json escapes of escapes": _each("\\u005cu{:04x}"),
    "json escapes twice": _each("\\\\u{:04x}"),
    "json escapes in part": lambda s: s[:5] + _each("\\u{:04x}")(s[5:]),
    "every second as escape": lambda s: "".join(
        c if n % 2 else f"\\u{ord(c):04x}" for n, c in enumerate(s)
    ),
    "x escapes": _each("\\x{:02x}"),
    "x escapes, doubled": _each("\\\\x{:02X}"),
    "octal escapes": _each("\\{:03o}"),
    "braced escapes": _each("\\u{{{:x}}}"),
    "braced escapes, long": _each("\\u{{{:06X}}}"),
    "code points": _each("U+{:04X} "),
    "0x codes": _each("0x{:02x}, "),
    "0X codes": _each("0X{:02X} "),
    "percent": _each("%{:02x}"),
    "percent, upper": _each("%{:02X}"),
    "percent twice": _each("%25{:02X}"),
    "percent three times": _each("%2525{:02x}"),
    "percent in part": lambda s: s[:8] + _each("%{:02x}")(s[8:]),
    "percent of marks": lambda s: quote(s, safe="").replace("-", "%2D"),
    "entities": _each("&#{};"),
    "entities, padded": _each("&#{:07d};"),
    "entities, open": _each("&#{} "),
    "entities in hex": _each("&#x{:x};"),
    "entities in HEX": _each("&#X{:X};"),
    "entities of entities": _each("&amp;#{};"),
    "entities of marks": lambda s: s.replace("-", "&hyphen;"),
    "quoted printable": _each("={:02X}"),
    "hex": lambda s: s.encode().hex(),
    "hex, upper": lambda s: s.encode().hex().upper(),
    "hex, spaced": lambda s: s.encode().hex(" "),
    "hex, colons": lambda s: s.encode().hex(":"),
    "hex, dashes of four": lambda s: s.encode().hex("-", 4),
    "hex, lines": lambda s: s.encode().hex("\n", 8),
    "hex, turned round": lambda s: s.encode().hex()[::-1],
    "hex of the key turned round": lambda s: s[::-1].encode().hex(),
    "hex of hex": lambda s: s.encode().hex().encode().hex(),
    "hex of base64": lambda s: _b64(s.encode()).encode().hex(),
    "hex in UTF-16": lambda s: s.encode("utf-16-le").hex(),
    "base64": lambda s: _b64(s.encode()),
    "base64 after one": lambda s: _b64(f"a{s} end".encode()),
    "base64 after two": lambda s: _b64(f"ab{s} end".encode()),
    "base64 of addresses": _shifted(base64.urlsafe_b64encode, "??>"),
    "base64, open": lambda s: _b64(s.encode()).rstrip("="),
    "base64, lines": lambda s: base64.encodebytes((s * 3).encode()).decode(),
    "base64, lines of eight": lambda s: "\n".join(re.findall(".{1,8}", _b64(s.encode()))),
    "base64, spaced": lambda s: " ".join(_b64(s.encode())),
    "base64, lower": lambda s: _b64(s.encode()).lower(),
    "base64, turned round": lambda s: _b64(s.encode())[::-1],
    "base64 of the key turned round": lambda s: _b64(s[::-1].encode()),
    "base64 twice": lambda s: _b64(_b64(s.encode()).encode()),
    "base64 three times": lambda s: _b64(_b64(_b64(s.encode()).encode()).encode()),
    "base64 of hex": lambda s: _b64(s.encode().hex().encode()),
    "base64 of percent": lambda s: _b64(_each("%{:02x}")(s).encode()),
    "base64 of JSON": lambda s: _b64(json.dumps({"api_key": s}).encode()),
    "base64 of rot13": lambda s: _b64(codecs.encode(s, "rot13").encode()),
    "base64 in UTF-16": lambda s: _b64(s.encode("utf-16-le")),
    "base64 in a data address": lambda s: f"data:text/plain;base64,{_b64(s.encode())}",
    "a basic header": lambda s: "Basic " + _b64(f"user:{s}".encode()),
    "a web token": lambda s: ".".join(
        _b64(json.dumps(part).encode()).rstrip("=") for part in ({"alg": "none"}, {"key": s}, {})
    ),
    "base32": lambda s: base64.b32encode(s.encode()).decode(),
    "base32, lower": lambda s: base64.b32encode(s.encode()).decode().lower(),
    **{f"base32 after {n}": _shifted(base64.b32encode, "abcd"[:n]) for n in range(1, 5)},
    **{f"base85 after {n}": _shifted(base64.b85encode, "abc"[:n]) for n in range(4)},
    **{f"ascii85 after {n}": _shifted(base64.a85encode, "abc"[:n]) for n in range(4)},
    "gzip": lambda s: _b64(gzip.compress(s.encode(), mtime=0)),
    "gzip in addresses": lambda s: base64.urlsafe_b64encode(
        gzip.compress(f"x {s} y".encode(), mtime=0)
    ).decode(),
    "gzip in hex": lambda s: gzip.compress(s.encode(), mtime=0).hex(),
    "gzip of JSON": lambda s: _b64(gzip.compress(json.dumps({"k": [s]}).encode(), mtime=0)),
    "gzip twice": lambda s: _b64(gzip.compress(_b64(gzip.compress(s.encode())).encode())),
    "zlib": lambda s: _b64(zlib.compress(s.encode())),
    "zlib, hard": lambda s: _b64(zlib.compress(s.encode() * 4, 9)),
    "zlib as characters": lambda s: zlib.compress(s.encode()).decode("latin-1"),
    "gzip as characters": lambda s: gzip.compress(s.encode(), mtime=0).decode("latin-1"),
    "turned round": lambda s: s[::-1],
    "turned round and spaced": lambda s: " ".join(s[::-1]),
    "turned round in escapes": lambda s: _each("\\u{:04x}")(s[::-1]),
    "rot13": lambda s: codecs.encode(s, "rot13"),
    "rot13 turned round": lambda s: codecs.encode(s, "rot13")[::-1],
    "rot13 and spaced": lambda s: " ".join(codecs.encode(s, "rot13")),
    **{
        f"split by {name}": _between(by)
        for name, by in {
            "blanks": " ",
            "dashes": "-",
            "dots": ".",
            "lines": "\n",
            "tabs": "\t",
            "commas": ",",
            "slashes": "/",
            "underscores": "_",
            "stars": "**",
            "quotes": "', '",
            "bars": " | ",
            "brackets": "][",
            "width zero": "\u200b",
            "soft hyphens": "\u00ad",
            "joins": "\u200d",
            "marks of order": "\u202e",
            "pictures": "\N{WHITE HEAVY CHECK MARK}",
            "ticks": "``",
            "NUL": "\0",
            "two lines": "\r\n",
            "escaped lines": "\\n",
            "accents": "\u0332",
        }.items()
    },
    "groups of four": lambda s: " ".join(re.findall(".{1,4}", s)),
    "groups of seven in lines": lambda s: "\n> ".join(re.findall(".{1,7}", s)),
    "wide letters": lambda s: "".join(chr(ord(c) + 0xFEE0) for c in s),
    "bold letters": _wide(0x1D41A),
    "script letters": _wide(0x1D4EA),
    "letters in circles": _wide(0x24D0),
    "decimal codes": lambda s: " ".join(str(ord(c)) for c in s),
    "decimal codes, commas": lambda s: ",".join(str(ord(c)) for c in s),
    "decimal codes, a list": lambda s: str([ord(c) for c in s]),
    "octal codes": lambda s: " ".join(f"{ord(c):03o}" for c in s),
    "binary codes": lambda s: " ".join(f"{ord(c):08b}" for c in s),
    "binary codes, seven bits": lambda s: " ".join(f"{ord(c):07b}" for c in s),
    "binary codes, commas": lambda s: ", ".join(f"{ord(c):08b}" for c in s),
    "JSON in text": lambda s: json.dumps({"key": s}),
    "JSON in JSON in text": lambda s: json.dumps({"v": json.dumps({"key": s})}),
    "JSON three deep": lambda s: json.dumps({"v": json.dumps({"v": json.dumps({"key": s})})}),
    "JSON of characters": lambda s: json.dumps(list(s)),
    "JSON of codes": lambda s: json.dumps([ord(c) for c in s]),
    "JSON of escapes in text": lambda s: json.dumps({"k": _each("\\u{:04x}")(s)}),
    "a query": lambda s: f"https://h.example/v1?api_key={quote(s)}&x=1",
    "an address": lambda s: f"https://user:{quote(s)}@h.example/",
    "headers": lambda s: f"{{'Authorization': 'Bearer {s}', 'Host': 'h'}}",
    "bytes of Python": lambda s: repr(f"Bearer {s}".encode()),
    "XML": lambda s: f"<key><![CDATA[{s}]]></key>",
    "a shell line": lambda s: f"export KEY='{s}';",
    "after 590 characters": lambda s: "x " * 295 + s,
    "after 1,990 characters": lambda s: "x " * 995 + s + " y" * 995,
    "ten times": lambda s: " ".join([s] * 10),
}

NAMED: dict[str, tuple[Spell, str]] = {
    "bzip2": (lambda s: _b64(bz2.compress(s.encode())), "bzip2"),
    "xz": (lambda s: _b64(lzma.compress(s.encode())), "xz"),
    "letters between": ("x".join, "letters or digits in between"),
    "tags between": (lambda s: "".join(f"<b>{c}</b>" for c in s), "letters or digits in between"),
    "rot47": (
        lambda s: "".join(chr(33 + (ord(c) - 33 + 47) % 94) for c in s),
        "another substitution of letters than rot13",
    ),
    "letters that look alike": (
        lambda s: s.translate(str.maketrans("acepx", "\u0430\u0441\u0435\u0440\u0445")),
        "letters of other scripts that look alike",
    ),
    "base32 of other letters": (
        lambda s: base64.b32hexencode(s.encode()).decode(),
        "other alphabets",
    ),
    "short parts far apart": (
        lambda s: f"{s[:10]} begins, {s[10:20]} follows, {s[20:]} ends",
        "parts of fewer than 12 letters and digits",
    ),
}


def _tokens(pieces: list[str], *, rank: Callable[[int], int] = lambda _: 0, text=True) -> list[Any]:
    """Return pieces as the tokens of a chat completion, each among the most probable."""
    found = []
    for n, piece in enumerate(pieces):
        own = {"token": piece, "logprob": -0.1, "bytes": list(piece.encode())}
        others = [{"token": f" w{m}", "logprob": -4.0 - m, "bytes": [119, 48 + m]} for m in (0, 1)]
        top = [*others[: rank(n)], own, *others[rank(n) :]]
        shown = own if text else {**own, "token": ""}
        found.append({**shown, "top_logprobs": top if text else []})
    return found


def _cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _spelled(size: int, spelling: str) -> Callable[[str], Said]:
    spell = SPELLINGS[spelling]
    return lambda s: {"text": "A", "logprobs": _tokens([" it is ", *_cut(spell(s), size), "."])}


_PLACES: dict[str, Callable[[str], Said]] = {
    "the model": lambda s: {"model": s},
    "the model, cut": lambda s: {"model": f"m-{s[:15]}", "id": s[15:]},
    "the id": lambda s: {"id": f"req-{s}"},
    "the reason of the end": lambda s: {"finish_reason": s},
    "a field nobody knows": lambda s: {"extra": {"debug": s}},
    "a deep field": lambda s: {"extra": {"a": {"b": {"c": {"d": {"e": f"x{s}"}}}}}},
    "a name of a field": lambda s: {"extra": {s: 1}},
    "a name of a deep field": lambda s: {"extra": {"a": [{"b": {f"Bearer {s}": True}}]}},
    "a list": lambda s: {"extra": {"a": ["x", s, "y"]}},
    "halves in two fields": lambda s: {"extra": {"a": s[:15], "b": s[15:]}},
    "halves far apart": lambda s: {"extra": {"a": {"x": s[:15]}, "n": 1, "z": [[s[15:]]]}},
    "thirds in three fields": lambda s: {"extra": dict(zip("abc", _cut(s, 10), strict=True))},
    "a name and its value": lambda s: {"extra": {s[:15]: s[15:]}},
    "two names": lambda s: {"extra": {s[:15]: 1, s[15:]: 2}},
    "names and values": lambda s: {"extra": {s[:8]: s[8:16], s[16:24]: s[24:]}},
    "a list of characters": lambda s: {"extra": {"a": list(s)}},
    "a list of halves": lambda s: {"extra": {"a": [s[:15], s[15:]]}},
    "lists of lists": lambda s: {"extra": {"a": [[c] for c in s]}},
    "lists of lists of lists": lambda s: {"extra": {"a": [[[c]] for c in s]}},
    "characters by place": lambda s: {"extra": {"a": {str(n): c for n, c in enumerate(s)}}},
    "a list of codes": lambda s: {"extra": {"a": [ord(c) for c in s]}},
    "a list of codes as text": lambda s: {"extra": {"a": [str(ord(c)) for c in s]}},
    "a list of hex": lambda s: {"extra": {"a": [f"{ord(c):02x}" for c in s]}},
    "codes in objects": lambda s: {"extra": {"a": [{"c": ord(c)} for c in s]}},
    "codes by place": lambda s: {"extra": {"a": {str(n): ord(c) for n, c in enumerate(s)}}},
    "lists of codes": lambda s: {"extra": {"a": [list(p.encode()) for p in _cut(s, 3)]}},
    "codes turned round": lambda s: {"extra": {"a": [ord(c) for c in reversed(s)]}},
    "codes of base64": lambda s: {"extra": {"a": list(_b64(s.encode()).encode())}},
    "codes of gzip": lambda s: {"extra": {"a": list(gzip.compress(s.encode()))}},
    "characters in objects": lambda s: {"extra": {"a": [{"t": "x", "c": c} for c in s]}},
    "deep characters": lambda s: {"extra": {"a": [{"t": {"c": [c]}} for c in s]}},
    "parts of a message": lambda s: {
        "extra": {"parts": [{"type": "text", "text": p} for p in _cut(s, 6)]}
    },
    "parts in base64": lambda s: {
        "extra": {"parts": [{"type": "text", "text": p} for p in _cut(_b64(s.encode()), 6)]}
    },
    "a text of two lines and a field": lambda s: {"text": f"A\n{s[:15]}", "extra": {"z": s[15:]}},
    **{
        f"tokens of {n}": lambda s, n=n: {
            "text": f"A {s}", "logprobs": _tokens(["A", " ", *_cut(s, n)])
        }
        for n in range(1, 9)
    },
    **{
        f"tokens of {n} that begin earlier": lambda s, n=n: {
            "logprobs": _tokens(_cut(f"key is {s}, so", n))
        }
        for n in (3, 4, 5)
    },
    **{
        f"tokens at changing places, {n}": lambda s, n=n: {
            "logprobs": _tokens(_cut(s, n), rank=lambda m: m % 3)
        }
        for n in (2, 5)
    },
    "bytes of tokens": lambda s: {"logprobs": _tokens(_cut(s, 3), text=False)},
    "bytes of single tokens": lambda s: {"logprobs": _tokens(list(s), text=False)},
    "only the most probable": lambda s: {
        "logprobs": [
            {"token": "A", "logprob": -2.0, "top_logprobs": [{"token": p, "logprob": -0.1}]}
            for p in _cut(s, 3)
        ]
    },
    "names of probabilities": lambda s: {"extra": {"top": [{p: -0.1, "B": -3.5} for p in s]}},
    "lists side by side": lambda s: {
        "extra": {
            "lp": {
                "tokens": _cut(s, 3),
                "token_logprobs": [-0.1] * 10,
                "top_logprobs": [{"Z": -1.5, p: -0.5} for p in _cut(s, 3)],
            }
        }
    },
    "one object of labels": lambda s: {"extra": {"top": dict.fromkeys(_cut(s, 7), -0.5)}},
    **{
        f"tokens of {spelling}": _spelled(size, spelling)
        for spelling, size in {
            "hex": 3, "base64": 4, "base64 twice": 4, "percent": 2, "decimal codes": 2,
            "turned round": 3, "rot13": 3, "base32": 5, "gzip": 4, "json escapes": 3,
            "split by blanks": 1, "wide letters": 1, "base64, lines of eight": 4,
        }.items()
    },
}  # fmt: skip


def _error(spelling: str) -> Callable[[str], Said]:
    return lambda s: {"error": f"no: {SPELLINGS[spelling](s)} is refused"}


_ERRORS = (
    "as it is", "other case", "json escapes", "percent", "entities", "hex", "base64", "base32",
    "base64 twice", "gzip", "turned round", "rot13", "split by blanks", "split by width zero",
    "decimal codes", "after 590 characters", "after 1,990 characters", "JSON in text", "a query",
    "wide letters", "binary codes", "base64 of JSON",
)  # fmt: skip

ECHOES = (
    *(
        Echo(name=f"text: {name}", say=lambda s, spell=spell: {"text": f"A {spell(s)} end"})
        for name, spell in SPELLINGS.items()
    ),
    *(Echo(name=f"place: {name}", say=say) for name, say in _PLACES.items()),
    *(Echo(name=f"error: {name}", say=_error(name)) for name in _ERRORS),
)
NAMED_ECHOES = tuple(
    Echo(name=name, say=lambda s, spell=spell: {"text": f"A {spell(s)} end"}, named=words)
    for name, (spell, words) in NAMED.items()
)


# Somebody who looks for the key


def readings(text: str) -> Iterator[str]:
    """Yield what a text says to somebody who knows how keys are hidden."""
    yield text
    yield text.replace("\\n", "\n").replace("\\r", "\r")
    plain = text
    for _ in range(4):
        plain = re.sub(r"\\+u00(..)", lambda m: _chr(m[1], 16), plain)
        plain = re.sub(r"\\+u\{0*(..)\}", lambda m: _chr(m[1], 16), plain)
        plain = re.sub(r"\\+x(..)|=([0-9A-F]{2})", lambda m: _chr(m[1] or m[2], 16), plain)
        plain = re.sub(r"\\+([0-7]{3})", lambda m: _chr(m[1], 8), plain)
        plain = html.unescape(unquote(plain))
        yield plain
    yield re.sub(
        r"0x(..)[, ]*|u\+00(..) ?", lambda m: _chr(m[1] or m[2], 16), text, flags=re.IGNORECASE
    )
    for base, digits in ((10, r"\d{2,3}"), (8, r"[0-7]{3}"), (2, r"[01]{7,8}")):
        for run in re.findall(rf"(?:\b{digits}\b[^0-9A-Za-z]{{0,4}}){{6,}}", text):
            yield "".join(_chr(n, base) for n in re.findall(digits, run))


def _chr(digits: str, base: int) -> str:
    try:
        return chr(int(digits, base) & 0xFF)
    except ValueError:
        return "?"


def decodings(text: str) -> Iterator[bytes]:
    """Yield what words of a text decode to."""
    joined = re.sub(r"[\s\u200b]", "", text)
    alone = re.sub(r"[^0-9A-Za-z+/]", "", text)
    for run in re.findall(
        r"(?:[0-9a-fA-F]{2,16}(?:\\n|[^0-9A-Za-z]){1,2}){3,}[0-9a-fA-F]{2,}", text
    ):
        yield from _decoded(re.sub(r"\\n|[^0-9A-Za-z]", "", run))
    for source in {text, joined, alone, text[::-1], joined[::-1]}:
        for word in set(re.findall(r"[A-Za-z0-9+/_-]{12,}", source)):
            yield from _decoded(word)
        for word in set(re.findall(r"[!-~]{15,}", source)):
            for decode in (base64.b85decode, base64.a85decode):
                for skipped in range(5):
                    part = word[skipped:]
                    try:
                        yield decode(part[: len(part) // 5 * 5])
                    except ValueError:
                        continue


def _decoded(word: str) -> Iterator[bytes]:
    plain = word.translate(str.maketrans("-_", "+/"))
    for skipped in range(4):
        part = plain[skipped:]
        yield base64.b64decode(part[: len(part) // 4 * 4])
        yield base64.b64decode(part[: len(part) // 4 * 4 - 4] + "A" * 4)
    for skipped in range(8):
        part = word[skipped:].upper()
        try:
            yield base64.b32decode(part[: len(part) // 8 * 8])
        except ValueError:
            break
    for skipped in range(2):
        part = word[skipped:]
        try:
            yield bytes.fromhex(part[: len(part) // 2 * 2])
        except ValueError:
            break


def _unpacked(content: bytes) -> Iterator[bytes]:
    for magic in (b"\x1f\x8b", b"x"):
        at = content.find(magic)
        while at >= 0:
            with suppress(zlib.error):
                yield zlib.decompressobj(wbits=47).decompress(content[at:], 10**6)
            at = content.find(magic, at + 1)


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKC", text).lower())


_KEY = _letters(KEY)
_TURNED = (_KEY, _KEY[::-1], codecs.encode(_KEY, "rot13"), codecs.encode(_KEY, "rot13")[::-1])
_LOWER64 = _letters(_b64(KEY.encode()))
WINDOWS = frozenset(
    form[at : at + _WINDOW]
    for form in (*_TURNED, _LOWER64)
    for at in range(len(form) - _WINDOW + 1)
)


def shows(text: str) -> bool:
    """Whether a text holds a part of the key, to the eye or decoded."""
    letters = _letters(text)
    return any(letters[at : at + _WINDOW] in WINDOWS for at in range(len(letters) - _WINDOW + 1))


def found_in(text: str, depth: int = 3) -> bool:
    """Whether somebody finds a part of the key in a text."""
    for plain in dict.fromkeys(readings(text)):
        if shows(plain):
            return True
        if depth:
            for content in decodings(plain):
                for inner in (content, *_unpacked(content)):
                    said = inner.replace(b"\0", b"").decode("latin-1")
                    if len(said) >= _WINDOW and _plausible(said) and found_in(said, depth - 1):
                        return True
    return any(
        found_in(inner.decode("latin-1"), 0)
        for inner in _unpacked(text.encode("latin-1", "replace"))
    )


def _plausible(said: str) -> bool:
    """Whether a decoded text has a run of letters at all: garbage is not looked into."""
    return re.search(r"[A-Za-z0-9+/=%\\&#_-]{8}|\x1f\x8b|x[\x01\x5e\x9c\xda]", said) is not None


def pieces_of(value: Any) -> Iterator[str]:
    """Yield the texts that pieces of a JSON value spell together."""
    groups: dict[Any, list[str]] = {}
    for place, kind, text in _leaves(value, ()):
        numbers = [n for n, part in enumerate(place) if isinstance(part, int)]
        wild = [tuple("*" if n == at else p for n, p in enumerate(place)) for at in numbers]
        wild.append(tuple("*" if isinstance(p, int) else p for p in place))
        for each in {*wild, place[:-1], ()}:
            groups.setdefault((kind, each), []).append(text)
        if kind != "codes":
            groups.setdefault(("both", ()), []).append(text)
    for (kind, _), texts in groups.items():
        yield "".join(texts)
        if kind == "texts":
            yield " ".join(texts)


def _leaves(item: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str, str]]:
    if isinstance(item, dict):
        for n, (key, inner) in enumerate(item.items()):
            yield (*place, "name", n), "names", key
            yield from _leaves(inner, (*place, key))
    elif isinstance(item, list):
        for n, inner in enumerate(item):
            yield from _leaves(inner, (*place, n))
    elif isinstance(item, str):
        yield place, "texts", item
    elif isinstance(item, int) and 0 <= item < 256:
        yield place, "codes", chr(item)
