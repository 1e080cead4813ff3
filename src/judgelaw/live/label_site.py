"""`judgelaw label`: one item at a time, without the verdict; each key is a row on the disk."""

from typing import Any

from aiohttp import web

from judgelaw.errors import JudgelawError
from judgelaw.live.label_book import LabelBook
from judgelaw.live.label_items import Labelling
from judgelaw.live.local_server import LocalServer, json_answer, page
from judgelaw.words import visible, words

_LONGEST_NAME = 80
_LONGEST_NOTE = 2_000


def label_server(
    labelling: Labelling, book: LabelBook, *, labeller: str, port: int = 0
) -> LocalServer:
    """Return the server that shows items and takes labels."""
    site = _Site(labelling, book, labeller)
    routes: Any = {
        ("GET", "/"): page("judgelaw: label", "label.js"),
        ("GET", "/api/next"): site.next,
        ("POST", "/api/label"): site.label,
        ("POST", "/api/undo"): site.undo,
    }
    return LocalServer(routes, port=port)


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
        note = words(_text(sent.get("note"))[:_LONGEST_NOTE])
        try:
            self._book.add(item=item, label=label, labeller=labeller, note=note)
        except JudgelawError as error:
            return json_answer({"error": visible(str(error)), **self._state(labeller)}, status=409)
        return json_answer(self._state(labeller))

    async def undo(self, request: web.Request) -> web.Response:
        """Take the last label back, then show its item again."""
        labeller = _name(_text((await _sent(request)).get("labeller")))
        taken = self._book.undo(labeller)
        return json_answer(self._state(labeller, first=None if taken is None else taken.item))

    def _state(self, labeller: str, *, first: str | None = None) -> dict[str, Any]:
        """Return what the page shows; `first` is an item to be asked before the others."""
        items, done = self._labelling.items, self._book.of(labeller)
        left = [item for item in self._labelling.sequence(labeller) if item not in done]
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
            "undo": bool(done),
            "others": {
                visible(name): sum(item in items for item in self._book.of(name))
                for name in sorted(others)
            },
            "next": self._labelling.shown(left[0], labeller) if left else None,
        }


async def _sent(request: web.Request) -> dict[str, Any]:
    try:
        sent = await request.json()
    except ValueError:
        sent = None
    if not isinstance(sent, dict):
        raise web.HTTPBadRequest(reason="send one JSON object")
    return sent


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _name(name: str | None) -> str:
    return words(name or "").strip()[:_LONGEST_NAME]
