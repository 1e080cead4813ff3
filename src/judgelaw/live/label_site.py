"""`judgelaw label`: one item at a time, without the verdict; each key is a row on the disk."""

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from judgelaw.errors import JudgelawError
from judgelaw.live.label_book import LabelBook, stored
from judgelaw.live.label_items import Labelling
from judgelaw.live.local_server import LocalServer, json_answer, page
from judgelaw.words import visible, words

_LONGEST_NAME = 80
_LONGEST_NOTE = 20_000


def label_server(
    labelling: Labelling,
    book: LabelBook,
    *,
    labeller: str,
    port: int = 0,
    public: str | None = None,
) -> LocalServer:
    """Return the server that shows items and takes labels."""
    site = _Site(labelling, book, labeller)
    routes: Any = {
        ("GET", "/"): page("judgelaw: label", "label.js"),
        ("GET", "/api/next"): site.next,
        ("POST", "/api/label"): site.label,
        ("POST", "/api/undo"): site.undo,
    }
    return LocalServer(routes, port=port, public=public)


class _Site:
    def __init__(self, labelling: Labelling, book: LabelBook, labeller: str) -> None:
        self._labelling, self._book, self._labeller = labelling, book, labeller

    async def next(self, request: web.Request) -> web.Response:
        """Answer with the next item of a person, and how far everybody is."""
        return json_answer(self._state(_name(request.query.get("as")) or self._labeller))

    async def label(self, request: web.Request) -> web.Response:
        """Write a label down, then answer with the next item."""
        sent = await _sent(request)
        labeller, item, label = (_text(sent.get(key)) for key in ("labeller", "item", "label"))
        labeller = _name(labeller)
        known = item in self._labelling.items and label in ("", *self._labelling.labels)
        if not (known and labeller):
            return json_answer({"error": "no such item, label or labeller"}, status=400)
        note = _readable(_text(sent.get("note")))
        if len(note) > _LONGEST_NOTE:
            text = f"the note has {len(note):,} characters, {_LONGEST_NOTE:,} are kept: shorten it"
            return json_answer({"error": text}, status=400)
        given = self._book.of(labeller).get(stored(item))
        if given is not None and (given.label, given.note) != (label, note):
            text = f"item {item!r} has another label by {labeller}: undo it to change it"
            return json_answer({"error": visible(text), **self._state(labeller)}, status=409)
        return self._kept(
            labeller,
            lambda: self._book.add(item=item, label=label, labeller=labeller, note=note),
        )

    async def undo(self, request: web.Request) -> web.Response:
        """Take the last label back, then show its item again."""
        sent = await _sent(request)
        labeller, item = _name(_text(sent.get("labeller"))), _text(sent.get("item"))
        return self._kept(
            labeller, lambda: self._book.undo(labeller, stored(item) or None), first=item
        )

    def _kept(
        self, labeller: str, change: Callable[[], object], *, first: str | None = None
    ) -> web.Response:
        """Change the book; where that fails the page keeps what it sent, and sends it again."""
        said = len(self._book.said)
        try:
            change()
        except JudgelawError as error:
            return json_answer({"error": visible(str(error))}, status=503)
        news = [visible(words) for words in self._book.said[said:]]
        return json_answer({**self._state(labeller, first=first), "news": news})

    def _state(self, labeller: str, *, first: str | None = None) -> dict[str, Any]:
        """Return what the page shows; `first` is an item to be asked before the others."""
        items, done = self._labelling.items, self._book.of(labeller)
        sequence = {item: stored(item) for item in self._labelling.sequence(labeller)}
        left = [item for item, name in sequence.items() if name not in done]
        if first in left:
            left.remove(first)
            left.insert(0, first)
        others = {row.labeller for row in self._book.labels} - {labeller}
        return {
            "labeller": labeller,
            "file": visible(str(self._book.path)),
            "source": visible(self._labelling.name),
            "total": len(items),
            "done": len(items) - len(left),
            "undo": next((item for item in reversed(done) if item in sequence.values()), None),
            "others": {
                visible(name): sum(item in items for item in self._book.of(name))
                for name in sorted(others)
            },
            "next": self._labelling.shown(left[0], labeller) if left else None,
        }


async def _sent(request: web.Request) -> dict[str, Any]:
    """Read what a page sent: JSON is UTF-8, whatever its header says."""
    try:
        sent = json.loads((await request.read()).decode())
    except (ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict):
        raise web.HTTPBadRequest(reason="send one JSON object")
    return sent


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _readable(note: str) -> str:
    """Return a note whole, in one line: tools that take a file line by line break no row."""
    return "".join(c if c.isprintable() else " " for c in stored(note)).strip()


def _name(name: str | None) -> str:
    return words(name or "").strip()[:_LONGEST_NAME]
