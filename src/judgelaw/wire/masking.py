"""Masking secrets that a reply repeats, in whatever form, before anything is stored or shown.

A text is looked at as it is and with its escapes undone; each time once to the letter, and once
with nothing left but letters and digits in lower case. A key is looked for as it is, reversed, in
rot13, hex, base64, base32 and base85; what else looks encoded or packed is decoded and looked into.
Strings and numbers of JSON are also looked at together, so that a key in pieces (the tokens of a
reply, the parts of a message, a list of bytes) is found. A body without a find stays as it came.
"""

import base64
import binascii
import codecs
import json
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from judgelaw.wire.reply_json import json_value, shallow

MASK = "[redacted]"
_SHORTEST = 6
"""Shorter values are no secrets, and masking them would damage ordinary text."""
DISTINCT = 12
"""From so many characters on, a form that differs from the secret is no word of a language."""
_ROUNDS = 5
"""How often escapes are undone: an escape may be escaped itself."""
_DEPTH = 3
"""How often what is encoded is looked into: base64 of a packed text of base64."""
_MOST_DECODED = 4 * 2**20
"""Bytes of one text that are decoded to look into them."""
_UNPACKED = 2**18
_MOST_PIECES = 40
"""How many times a body is looked through for a secret in pieces."""

_ESCAPE = re.compile(
    r"\\\\{0,7}(?:[uU]00(?P<u>[0-9a-fA-F]{2})|[xX](?P<x>[0-9a-fA-F]{2})|(?P<o>[0-7]{3})|"
    r"[uU]\{0{0,6}(?P<b>[0-9a-fA-F]{2})\}|[nrt]|(?=/))|"
    r"%(?P<p>[0-9a-fA-F]{2})|&#(?:[xX]0{0,6}(?P<h>[0-9a-fA-F]{2});?|0{0,6}(?P<d>[0-9]{2,3});?)|"
    r"(?P<a>&amp;)|&(?:lowbar|UnderBar|hyphen|dash|period|colon|sol|plus|equals|shy|zwj|zwnj);|\x00"
)
_BASES = {"u": 16, "x": 16, "b": 16, "p": 16, "h": 16, "d": 10, "o": 8}

_CHANGES = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])|[a-z](?=[A-Z])")
_FEWEST_CHANGES = 4
"""Between letter, digit and case in 12 characters, of which names of models have 3 at most."""
_LONGEST_NUMBER = 20
"""Digits of the fraction of a probability: no base64."""
_LIKE = re.compile(r"[A-Za-z0-9+/_-]{16,}")
"""What may be base64, base32 or hex."""
_CODES = (
    (re.compile(r"(?:(?:0[xX]|[uU]\+00|=|\\)[0-9a-fA-F]{2}[^0-9A-Za-z=\\]{0,3}){6,}"), (16,)),
    (re.compile(r"(?<![0-9.])(?:[0-9]{2,3}[^0-9A-Za-z.]{1,4}){5,}[0-9]{2,3}"), (10, 8)),
    (re.compile(r"(?<![0-9])(?:[01]{7,8}[^0-9A-Za-z]{0,3}){6,}"), (2,)),
)
"""Characters written as numbers, one after the other, and the bases that they may be in."""
_NUMBER = {
    16: re.compile(r"(?:0[xX]|[uU]\+00|=|\\)([0-9a-fA-F]{2})"),
    10: re.compile(r"([0-9]+)"),
    8: re.compile(r"([0-7]+)"),
    2: re.compile(r"([01]{7,8})"),
}
_NAMES = re.compile(r'"([^"\\]*)"\s*:')
_PACKED = ("\x1f\x8b\x08", "x\x01", "x\x5e", "x\x9c", "x\xda")
"""How gzip and zlib begin."""

_Span = tuple[int, int]
_LETTERS = bytes(c + 32 if 65 <= c <= 90 else c for c in range(256))  # noqa: PLR2004 - A to Z
_ALPHABET = bytes(range(97, 123))
_OTHERS = bytes(c for c in range(256) if not chr(c).isascii() or not chr(c).isalnum())


class _Forms(NamedTuple):
    """The ways to write secrets, by how they are looked for."""

    loose: tuple[bytes, ...]
    """Letters and digits alone, in lower case."""
    folded: tuple[str, ...]
    """In any case."""
    exact: tuple[str, ...]


class Secrets:
    """The secrets of a judge, and every form in which they might come back."""

    def __init__(self, values: Iterable[str]) -> None:
        worth = _worth_masking(values)
        found = [_forms(value) for value in worth]
        # The longest first, so that no part is masked before the whole is.
        self._forms = (
            _Forms(*(_longest_first(kind) for kind in zip(*found, strict=True)))
            if (found)
            else _Forms((), (), ())
        )
        every = [form for kind in self._forms for form in kind]
        self._least = min((_size(form) for form in every), default=0)
        self._shortest = min(map(len, worth), default=0)

    @staticmethod
    def of(values: tuple[str, ...]) -> "Secrets":
        """Return the secrets of these values; the forms are made once."""
        return _cached(values)

    def __bool__(self) -> bool:
        return any(self._forms)

    def __repr__(self) -> str:
        return "Secrets(...)"

    def redact(self, text: str) -> str:
        """Mask every secret in a text; all of the text where that alone helps."""
        if not self or not self._within(text):
            return text
        masked = _without(text, self._spans(text))
        return MASK if self._within(masked) else masked

    def redact_body(self, body: bytes) -> bytes:
        """Mask every secret in a body, and in what its JSON says; else return it as it came."""
        if not self:
            return body
        body = shallow(body)  # what nobody reads is not stored either, where it could hold a key
        # One character a byte, so that whatever the bytes mean comes back as it was.
        text = body.decode("latin-1")
        try:
            value = json_value(body)
        except ValueError:
            lines = body.splitlines(keepends=True)
            if len(lines) > 1:
                body = b"".join(map(self._redact_line, lines))
                text = body.decode("latin-1")
            return self.redact(text).encode("latin-1")
        if not self._within(text) and not self._in_pieces(value, text):
            return body
        masked = json.dumps(self._masked(value))
        return self.redact(masked).encode()

    def _redact_line(self, line: bytes) -> bytes:
        """Mask a line of its own, as files of batch results have them."""
        if not line.startswith(b"{"):
            return line
        bare = line.rstrip(b"\r\n")
        return self.redact_body(bare) + line[len(bare) :]

    def _within(self, text: str, depth: int = 0) -> bool:
        """Whether a text holds a secret: as it is, behind escapes, or encoded."""
        compact = _compact(text)
        # What was decoded by mistake is mostly no letters and no digits.
        if len(compact) < self._least and not any(map(text.__contains__, _PACKED)):
            return False
        return (
            self._reads(text, compact)
            or any(self._reads(plain, _compact(plain)) for plain in _unescaped(text))
            or any(self._within(inner, depth + 1) for _, inner in self._coded(text, compact, depth))
        )

    def _in_pieces(self, value: Any, text: str) -> bool:
        """Whether pieces of a JSON value make a secret together.

        One look at all that may belong together costs less than one look at each.
        """
        names = "".join(_NAMES.findall(text))
        pieces = "\n".join(stream.text() for stream in _streams(value))
        return self._reads(names, _compact(names)) or self._within(pieces)

    def _reads(self, plain: str, compact: bytes) -> bool:
        loose, folded, exact = self._forms
        return (
            any(map(compact.__contains__, loose))
            or any(map(plain.__contains__, exact))
            or (bool(folded) and any(map(plain.lower().__contains__, folded)))
        )

    def _spans(self, text: str) -> list[_Span]:
        """Return where in a text the secrets stand that `_within` sees."""
        spans: list[_Span] = []
        for view in _views(text):
            plain = "".join(view.text)
            kept = [n for n, c in enumerate(view.text) if c.isascii() and c.isalnum()]
            compact = "".join(view.text[n] for n in kept).lower().encode()
            for form in self._forms.loose:
                for at in _places(form, compact):
                    first, last = kept[at], kept[at + len(form) - 1]
                    spans.append((view.starts[first], view.ends[last]))
            for forms, said in ((self._forms.folded, plain.lower()), (self._forms.exact, plain)):
                for shown in forms if len(said) == len(view.text) else ():
                    last, found = len(shown) - 1, _places(shown, said)
                    spans += [(view.starts[at], view.ends[at + last]) for at in found]
        for (start, end), inner in self._coded(text, _compact(text), 0):
            if self._within(inner, 1):
                spans.append((start, end))
        return spans

    def _coded(self, text: str, compact: bytes, depth: int) -> Iterator[tuple[_Span, str]]:
        """Yield what parts of a text decode to, with the place of each part."""
        if depth > _DEPTH:
            return
        yield from _encoded(text)
        digits = len(compact.translate(None, _ALPHABET))
        marks = sum(map(text.count, "\\=xX+")) if digits else 0
        for (pattern, bases), there in zip(_CODES, (marks, digits / 2, digits / 7), strict=True):
            for part in pattern.finditer(text) if there >= self._shortest else ():
                for base in bases:
                    numbers = [int(n, base) for n in _NUMBER[base].findall(part[0])]
                    yield part.span(), "".join(chr(n) for n in numbers if n < 256)  # noqa: PLR2004 - one byte
        yield from _packed(text)

    def _masked(self, value: Any) -> Any:
        """Mask strings one by one, then what is still found in several of them together."""
        value = self._alone(value)
        for _ in range(_MOST_PIECES):
            # One at a time: what stands in its place may end what the others found.
            streams = _streams(value, names=True)
            found = next((each for each in streams if self._within(each.text())), None)
            if found is None:
                break
            found.mask(self)
            value = _renamed(value)
        return value

    def _alone(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {self.redact(key): self._alone(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._alone(item) for item in value]
        return value

    def masks_of(self, pieces: list[str]) -> list[str]:
        """Mask a text that is given in pieces; the mask stands in the first that it touches."""
        whole = "".join(pieces)
        shown = list(whole)
        for start, end in _merged(self._spans(whole)):
            shown[start:end] = [MASK, *[""] * (end - start - 1)]
        masked, at = [], 0
        for piece in pieces:
            masked.append("".join(shown[at : at + len(piece)]))
            at += len(piece)
        return [MASK, *[""] * (len(pieces) - 1)] if self._within("".join(masked)) else masked


def _size(form: str | bytes) -> int:
    """Return how many letters and digits a text holds at least that holds this form."""
    return len(form if isinstance(form, bytes) else _compact(form))


@lru_cache(maxsize=64)
def _cached(values: tuple[str, ...]) -> Secrets:
    return Secrets(values)


# Forms of a secret


def _worth_masking(values: Iterable[str]) -> list[str]:
    """Return the secrets, and the words of those that have several, as in `Bearer KEY`."""
    found = [value for value in values if len(value) >= _SHORTEST]
    words = [word for value in found for word in value.split() if len(word) >= DISTINCT]
    return sorted(set(found + words))


def _longest_first(kinds: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    return tuple(sorted({form for kind in kinds for form in kind}, key=lambda f: (-len(f), f)))


def _forms(value: str) -> _Forms:
    """Return a secret as it is, and what it looks like turned round and encoded."""
    content = value.encode()
    base64s = [*_aligned(content, base64.b64encode, 3, 6)]
    loose = [
        *(shown for each in (content.hex(), *base64s) for shown in (each, each[::-1])),
        content[::-1].hex(),
        *_aligned(content[::-1], base64.b64encode, 3, 6),
        *_aligned(content, base64.b32encode, 5, 5),
    ]
    folded, exact = list[str](), list[str]()
    if len(value) < DISTINCT:
        exact.append(value)
    elif _wordless(value) and len(_compact(value)) >= DISTINCT:
        rotated = codecs.encode(value, "rot13")
        loose += [value, value[::-1], rotated, rotated[::-1], *_parts(value)]
    else:
        # Of words the letters alone may stand in any text.
        folded += [value.lower(), value.lower()[::-1]]
    for encode in (base64.b85encode, base64.a85encode):
        for skipped in range(4):
            whole = content[skipped : skipped + (len(content) - skipped) // 4 * 4]
            exact += [core] if len(core := encode(whole).decode()) >= DISTINCT + 3 else []
    compact = [form for each in loose if len(form := _compact(each)) >= DISTINCT]
    return _Forms(tuple(compact), tuple(folded), tuple(exact))


def _parts(value: str) -> Iterator[str]:
    """Yield the parts of a key that nobody writes by chance: half a key is a find, too."""
    alone = "".join(c for c in value if c.isascii() and c.isalnum())
    for at in range(len(alone) - DISTINCT + 1):
        part = alone[at : at + DISTINCT]
        if len(_CHANGES.findall(part)) >= _FEWEST_CHANGES:
            yield part


def _wordless(value: str) -> bool:
    """Whether a value holds a digit: letters alone may be words."""
    return any(c.isdigit() for c in value)


def _aligned(
    content: bytes, encode: Callable[[bytes], bytes], places: int, bits: int
) -> Iterator[str]:
    """Yield what a content looks like when encoded, wherever it stands in what was encoded."""
    for before in range(places):
        shown = encode(bytes(before) + content).decode()
        # The first and the last characters also depend on the neighbours.
        first = -(-before * 8 // bits)
        last = (before + len(content)) * 8 // bits
        if last - first >= DISTINCT:
            yield shown[first:last]


# Views of a text


class _View(NamedTuple):
    """Characters that a text stands for, and where each of them stands in it."""

    text: list[str]
    starts: list[int]
    ends: list[int]


def _compact(text: str) -> bytes:
    """Return the letters and digits of a text, in lower case."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return text.encode(errors="replace").translate(_LETTERS, _OTHERS)


def _unescaped(text: str) -> Iterator[str]:
    """Yield what is left of a text each time that its escapes are undone."""
    for _ in range(_ROUNDS):
        plain = _ESCAPE.sub(_meant, text)
        if plain == text:
            return
        yield plain
        text = plain


def _views(text: str) -> Iterator[_View]:
    """Yield the same, with places."""
    chars: list[str] = []
    places: list[int] = []
    for n, c in enumerate(text):
        plain = c if c.isascii() else unicodedata.normalize("NFKC", c)
        chars += plain
        places += [n] * len(plain)
    view = _View(chars, places, [n + 1 for n in places])
    yield view
    for _ in range(_ROUNDS):
        said, at = "".join(view.text), 0
        plain_view = _View([], [], [])
        for escape in _ESCAPE.finditer(said):
            _copy(view, at, escape.start(), plain_view)
            at = escape.end()
            for c in _meant(escape):
                plain_view.text.append(c)
                plain_view.starts.append(view.starts[escape.start()])
                plain_view.ends.append(view.ends[at - 1])
        if at == 0:
            return
        _copy(view, at, len(said), plain_view)
        view = plain_view
        yield view


def _copy(view: _View, start: int, end: int, to: _View) -> None:
    to.text.extend(view.text[start:end])
    to.starts.extend(view.starts[start:end])
    to.ends.extend(view.ends[start:end])


def _meant(escape: re.Match[str]) -> str:
    kind = escape.lastgroup
    if kind == "a":
        return "&"
    return "" if kind is None else chr(int(escape[kind], _BASES[kind]) & 0xFF)


def _encoded(text: str) -> Iterator[tuple[_Span, str]]:
    left = _MOST_DECODED
    for part in _LIKE.finditer(text):
        if len(part[0]) > _LONGEST_NUMBER or not part[0].isdigit():
            left -= len(part[0])
            if left < 0:
                return
            for inner in _decoded(part[0]):
                yield part.span(), inner


def _packed(text: str) -> Iterator[tuple[_Span, str]]:
    for magic in _PACKED:
        for at in _places(magic, text):
            packed = text[at : at + _MOST_DECODED].encode("latin-1", "replace")
            if unpacked := _unpacked(packed):
                yield (at, len(text)), unpacked


def _decoded(part: str) -> Iterator[str]:
    """Yield what a word of base64, hex or base32 may stand for."""
    plain = part.translate({ord("-"): "+", ord("_"): "/"})
    for skipped in range(4):
        whole = plain[skipped:]
        whole = whole[: len(whole) - (len(whole) % 4 == 1)]
        yield base64.b64decode(whole + "=" * (-len(whole) % 4)).decode("latin-1")
    try:
        yield bytes.fromhex(part[: len(part) // 2 * 2]).decode("latin-1")
        yield bytes.fromhex(part[1 : 1 + (len(part) - 1) // 2 * 2]).decode("latin-1")
    except ValueError:
        pass  # it is no hex
    try:
        whole = part[: len(part) // 8 * 8]
        yield base64.b32decode(whole, casefold=True).decode("latin-1")
    except binascii.Error:
        pass  # it is no base32


def _unpacked(packed: bytes) -> str:
    """Return the beginning of what gzip or zlib packed; nothing where it was not they."""
    try:
        return zlib.decompressobj(wbits=47).decompress(packed, _UNPACKED).decode("latin-1")
    except zlib.error:
        return ""


def _places(form: Any, text: Any) -> Iterator[int]:
    at = text.find(form)
    while at >= 0:
        yield at
        at = text.find(form, at + 1)


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _without(text: str, spans: Iterable[_Span]) -> str:
    for start, end in reversed(_merged(spans)):
        text = text[:start] + MASK + text[end:]
    return text


# Pieces of JSON


class _Piece(NamedTuple):
    """A string, a number or a list of numbers of a JSON value, where it is held."""

    text: str
    holder: Any
    key: Any
    name: bool = False
    """Whether it is the key itself that is meant."""


_GONE = object()


class _Stream(NamedTuple):
    """Pieces that may be one text together.

    Attributes:
        pieces: of them.
        rows: the places of the elements that they come from, where the pieces are a column.
        items: the list of these elements.
        beside: lists that say something of the same elements.
    """

    pieces: list[_Piece]
    rows: list[int]
    items: list[Any]
    beside: list[list[Any]]

    def text(self) -> str:
        """Return the text that they are together."""
        return "".join([piece.text for piece in self.pieces])

    def mask(self, secrets: Secrets) -> None:
        """Mask the secret in all pieces that it touches, and what else their elements hold."""
        texts = [piece.text for piece in self.pieces]
        masked = secrets.masks_of(texts)
        touched = [n for n, text in enumerate(texts) if masked[n] != text]
        for n in touched:
            _put(self.pieces[n], masked[n])
        kept = [self.pieces[n].holder for n in touched]
        for row in range(self.rows[touched[0]], self.rows[touched[-1]] + 1) if self.rows else ():
            _emptied(self.items[row], kept)
            for other in self.beside:
                if isinstance(other[row], dict | list):
                    other[row].clear()


def _put(piece: _Piece, masked: str) -> None:
    """Write what is left of a piece where it is held; a number is gone."""
    if piece.name:
        piece.holder[_GONE] = (*piece.holder.get(_GONE, ()), (piece.key, masked))
    elif isinstance(piece.holder[piece.key], str):
        piece.holder[piece.key] = masked
    else:
        piece.holder[piece.key] = [] if isinstance(piece.holder[piece.key], list) else 0


def _emptied(value: Any, kept: list[Any]) -> bool:
    """Empty the lists and objects in a value, but for those that hold what was masked."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    holds = any(value is each for each in kept)
    for each in [each for each in inner if isinstance(each, dict | list)]:
        if _emptied(each, kept):
            holds = True
        else:
            each.clear()
    return holds


def _renamed(value: Any) -> Any:
    """Give keys that were masked their new names."""
    if isinstance(value, list):
        return [_renamed(item) for item in value]
    if not isinstance(value, dict):
        return value
    names = dict(value.pop(_GONE, ()))
    return {names.get(key, key): _renamed(item) for key, item in value.items()}


def _streams(value: Any, *, names: bool = False) -> Iterator[_Stream]:
    """Yield what may be one text: columns of lists, all strings, all numbers, and all names.

    Columns come first, since what they find is masked most narrowly.
    """
    found = _Found(names=names)
    found.look_into([value])
    for items, beside in found.lists:
        columns = _Columns(items, beside)
        for row in range(len(items)):
            columns.look_at(items, row, None, row)
        yield from (stream for stream in columns.streams.values() if len(stream.pieces) > 1)
    for pieces in (found.strings, found.numbers, found.called, found.both):
        if pieces:
            yield _Stream(pieces, [], [], [])


class _Found:
    """The pieces of a JSON value by their kind, in their sequence, and its lists."""

    def __init__(self, *, names: bool) -> None:
        self._names = names
        self.strings: list[_Piece] = []
        self.numbers: list[_Piece] = []
        self.called: list[_Piece] = []
        self.both: list[_Piece] = []
        self.lists: list[tuple[list[Any], list[list[Any]]]] = []

    def look_into(self, holder: Any) -> None:
        """Take up everything in an object or a list."""
        named = isinstance(holder, dict)
        inner: Iterable[tuple[Any, Any]] = holder.items() if named else enumerate(holder)
        for key, item in inner:
            if named and self._names:
                self.called.append(_Piece(key, holder, key, name=True))
                self.both.append(self.called[-1])
            if isinstance(item, str):
                self.strings.append(piece := _Piece(item, holder, key))
                if self._names:
                    self.both.append(piece)
            elif isinstance(item, dict):
                self.look_into(item)
            elif (text := _as_number(item)) is not None:
                self.numbers.append(_Piece(text, holder, key))
            elif isinstance(item, list):
                if len(item) > 1:
                    self.lists.append((item, _beside(holder, item)))
                self.look_into(item)


def _beside(holder: Any, item: list[Any]) -> list[list[Any]]:
    """Return the other lists of an object that are as long as this one."""
    others = holder.values() if isinstance(holder, dict) else ()
    return [o for o in others if isinstance(o, list) and o is not item and len(o) == len(item)]


def _as_number(item: Any) -> str | None:
    """Return what the number of a character, or a list of bytes, stands for; None for all else."""
    if type(item) is int:
        return chr(item) if 0 < item < 128 else None  # noqa: PLR2004 - ASCII
    if not isinstance(item, list) or not item or type(item[0]) is not int:
        return None
    try:
        return bytes(item).decode("latin-1")
    except (TypeError, ValueError):
        return None


class _Columns:
    """What stands in the same place of all elements of a list."""

    def __init__(self, items: list[Any], beside: list[list[Any]]) -> None:
        self._items = items
        self._beside = beside
        self.streams: dict[Any, _Stream] = {}

    def look_at(self, holder: Any, key: Any, place: Any, row: int) -> None:
        """Take up one value, and everything in it."""
        item = holder[key]
        if isinstance(item, str):
            self._put(place, _Piece(item, holder, key), row)
        elif isinstance(item, dict):
            for n, (name, inner) in enumerate(item.items()):
                if type(inner) is float:
                    # Tokens may be the names of their probabilities.
                    self._put((place, n), _Piece(name, item, name, name=True), row)
                else:
                    self.look_at(item, name, (place, name), row)
        elif (text := _as_number(item)) is not None:
            self._put((place, int), _Piece(text, holder, key), row)
        elif isinstance(item, list):
            for n in range(len(item)):
                self.look_at(item, n, (place, n), row)

    def _put(self, place: Any, piece: _Piece, row: int) -> None:
        stream = self.streams.get(place)
        if stream is None:
            stream = self.streams[place] = _Stream([], [], self._items, self._beside)
        stream.pieces.append(piece)
        stream.rows.append(row)
