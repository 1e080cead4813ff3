"""A local provider with both batch interfaces: files, statuses, expiry, partial errors, any order.

Batches go through their statuses by being looked at. What each call is answered with, what a
batch ends as, and what a request is refused with are set by the test.
"""

import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from servers.provider import Provider, chat_body, messages_body

Outcome = dict | int | str | None
"""A completion, an error status, `expired`, `cancelled`, or None for a line that is missing."""


def always_a(_call_id: str, _number: int) -> Outcome:
    return "A"


def never(_method: str, _path: str) -> int | str | None:
    return None


def numbered(number: int, prefix: str) -> str:
    return f"{prefix}_{number}"


def as_it_is(shown: dict) -> dict:
    return shown


def call_of(entry: dict) -> str:
    """Return the call that a request names; the rest of its name says which batch it is in."""
    return entry["custom_id"].partition("-")[0]


@dataclass
class Made:
    """A batch as the server keeps it."""

    id: str
    entries: list[dict]
    metadata: dict
    created_at: int
    steps: list[str]
    cancelled: bool = False


@dataclass
class BatchProvider(Provider):
    """The server, in a thread of its own, until the context ends.

    Attributes:
        outcome: what the n-th time a call is asked leads to.
        steps: statuses that a batch shows, the last one for ever.
        refuse: called with method and path; a status, `drop` or `drop after` spoils the request.
        name: the provider's name of the n-th batch.
        change: what is shown of a batch, changed.
        spoil: a file of results, changed.
        counts: whether batches say how many requests of theirs have ended how.
        shuffle: results come in another sequence than requests.
    """

    outcome: Callable[[str, int], Outcome] = always_a
    steps: tuple[str, ...] = ("validating", "in_progress", "finalizing", "completed")
    refuse: Callable[[str, str], int | str | None] = never
    errors: list[dict] | None = None
    name: Callable[[int, str], Any] = numbered
    change: Callable[[dict], dict] = as_it_is
    spoil: Callable[[str], str] | None = None
    counts: bool = True
    shuffle: bool = True
    files: dict[str, list[dict]] = field(default_factory=dict)
    batches: dict[str, Made] = field(default_factory=dict)
    made: int = 0
    asked: Counter = field(default_factory=Counter)
    asked_for: list[tuple[str, str]] = field(default_factory=list)
    bodies: dict[str, bytes] = field(default_factory=dict)
    headers: list[dict] = field(default_factory=list)

    def paths(self, method: str) -> list[str]:
        return [path for m, path in self.asked_for if m == method]

    async def _handle(self, request):
        self.asked_for.append((request.method, request.path))
        self.headers.append(dict(request.headers))
        verdict = self.refuse(request.method, request.path)
        if isinstance(verdict, int):
            error = {"error": {"type": "refused_by_test", "message": "as the test wants it"}}
            return web.json_response(error, status=verdict)
        response = web.Response() if verdict == "drop" else await self._route(request)
        if verdict is not None:
            request.transport.abort()
        return response

    async def _route(self, request):
        name = "[^/]+"
        routes = (
            ("POST", "/v1/files", self._upload),
            ("GET", f"/v1/files/({name})/content", self._content),
            ("POST", "/v1/batches", self._create),
            ("GET", "/v1/batches", self._list),
            ("GET", f"/v1/batches/({name})", self._get),
            ("POST", f"/v1/batches/({name})/cancel", self._cancel),
            ("POST", "/v1/messages/batches", self._create_messages),
            ("GET", "/v1/messages/batches", self._list_messages),
            ("GET", f"/v1/messages/batches/({name})", self._get_messages),
            ("GET", f"/v1/messages/batches/({name})/results", self._results),
            ("POST", f"/v1/messages/batches/({name})/cancel", self._cancel_messages),
        )
        for method, pattern, handle in routes:
            match = re.fullmatch(pattern, request.path)
            if match and method == request.method:
                return await handle(request, *match.groups())
        return web.json_response({"error": {"message": "no such path"}}, status=404)

    async def _upload(self, request):
        form = await request.post()
        assert form["purpose"] == "batch"
        content = form["file"].file.read()
        name = f"file-{len(self.files)}"
        self.files[name] = [json.loads(line) for line in content.splitlines()]
        for line in content.splitlines():
            entry = json.loads(line)
            self.bodies[entry["custom_id"]] = line.split(b', "body": ', 1)[1][:-1]
        return web.json_response({"id": name, "object": "file", "purpose": "batch"})

    async def _content(self, _request, name):
        if name not in self.files:
            return web.json_response({"error": {"message": "no such file"}}, status=404)
        return self._written(self.files[name])

    def _written(self, lines: list[dict]) -> web.Response:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        return web.Response(text=self.spoil(text) if self.spoil else text)

    async def _create(self, request):
        asked = await request.json()
        assert asked["endpoint"] in ("/v1/chat/completions", "/v1/completions")
        assert asked["completion_window"] == "24h"
        made = self._make("batch", self.files[asked["input_file_id"]], asked["metadata"])
        return web.json_response(self._shown(made))

    def _make(self, prefix, entries, metadata) -> Made:
        self.made += 1
        name = self.name(self.made, prefix)
        for entry in entries:
            self.asked[call_of(entry)] += 1
        made = Made(name, entries, metadata, int(time.time()), list(self.steps))
        self.batches[name if name is None else str(name)] = made
        return made

    async def _list(self, request):
        page, more = self._page(request.query.get("after"))
        return web.json_response({"data": [self._shown(m) for m in page], "has_more": more})

    def _page(self, after: str | None) -> tuple[list[Made], bool]:
        """Return some batches, the newest first: few, so that paging is exercised."""
        newest_first = list(self.batches.values())[::-1]
        if after:
            names = [str(made.id) for made in newest_first]
            newest_first = newest_first[names.index(after) + 1 :]
        for made in newest_first[:2]:
            self._go_on(made)
        return newest_first[:2], len(newest_first) > 2

    def _go_on(self, made: Made) -> None:
        """Let a batch come to its next status: time passes as somebody looks."""
        if len(made.steps) > 1:
            made.steps.pop(0)

    async def _get(self, _request, name):
        made = self.batches.get(name)
        if made is None:
            return web.json_response({"error": {"message": "no such batch"}}, status=404)
        self._go_on(made)
        return web.json_response(self._shown(made))

    def _shown(self, made: Made) -> dict:
        status = made.steps[0]
        shown = {
            "id": made.id,
            "object": "batch",
            "status": status,
            "created_at": made.created_at,
            "metadata": made.metadata,
            "errors": {"data": self.errors} if self.errors and status == "failed" else None,
            "output_file_id": None,
            "error_file_id": None,
            "request_counts": {"total": len(made.entries), "completed": 0, "failed": 0},
        }
        if status in ("completed", "expired", "cancelled"):
            lines = [line for entry in made.entries if (line := self._line(entry))]
            if self.shuffle:
                random.Random(made.id).shuffle(lines)
            good = [line for line in lines if line["error"] is None]
            counts = {"completed": len(good), "failed": len(lines) - len(good)}
            shown["request_counts"] |= counts
            for key, part in (("output", good), ("error", [x for x in lines if x["error"]])):
                if part:
                    self.files[f"{made.id}-{key}"] = part
                    shown[f"{key}_file_id"] = f"{made.id}-{key}"
        if not self.counts:
            del shown["request_counts"]
        return self.change(shown)

    def _line(self, entry: dict) -> dict | None:
        call = entry["custom_id"]
        outcome = self.outcome(call, self.asked[call])
        line = {"id": f"r-{call}", "custom_id": call, "response": None, "error": None}
        if outcome is None:
            return None
        if outcome in ("expired", "cancelled"):
            code = f"batch_{outcome}"
            return line | {"error": {"code": code, "message": "not executed in time"}}
        if isinstance(outcome, int):
            body = {"error": {"message": f"status {outcome} for this one", "code": "x"}}
            return line | {"response": {"status_code": outcome, "request_id": "q", "body": body}}
        body = outcome if isinstance(outcome, dict) else chat_body(outcome, number=call[:8])
        return line | {"response": {"status_code": 200, "request_id": "q", "body": body}}

    async def _cancel(self, _request, name):
        made = self.batches[name]
        made.steps = ["cancelling", "cancelled"]
        return web.json_response(self._shown(made))

    async def _create_messages(self, request):
        raw = await request.read()
        entries = json.loads(raw)["requests"]
        for entry in entries:
            assert set(entry) == {"custom_id", "params"}
        for part in raw.split(b'{"custom_id": "')[1:]:
            call, _, rest = part.partition(b'", "params": ')
            self.bodies[call.decode().partition("-")[0]] = rest.rstrip(b",]}") + b"}"
        made = self._make("msgbatch", entries, {})
        return web.json_response(self._message_batch(made))

    async def _get_messages(self, _request, name):
        made = self.batches.get(name)
        if made is None:
            return web.json_response({"error": {"message": "no such batch"}}, status=404)
        self._go_on(made)
        return web.json_response(self._message_batch(made))

    def _message_batch(self, made: Made) -> dict:
        ended = made.steps[0] in ("completed", "expired", "cancelled")
        counts = self._counts(made) if ended else self._none_yet(made)
        shown = {
            "id": made.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "created_at": datetime.fromtimestamp(made.created_at, UTC).isoformat(),
            "archived_at": None,
            **({"request_counts": counts} if self.counts else {}),
            "cancel_initiated_at": "2026-01-01T00:00:00Z" if made.cancelled else None,
            "results_url": "http://elsewhere.invalid/results" if ended else None,
        }
        return self.change(shown)

    async def _list_messages(self, request):
        page, more = self._page(request.query.get("after_id"))
        shown = [self._message_batch(made) for made in page]
        return web.json_response({"data": shown, "has_more": more})

    def _none_yet(self, made: Made) -> dict:
        counts = dict.fromkeys(("succeeded", "errored", "canceled", "expired"), 0)
        return {"processing": len(made.entries), **counts}

    def _counts(self, made: Made) -> dict:
        lines = [line for entry in made.entries if (line := self._result(entry))]
        kinds = Counter(line["result"]["type"] for line in lines)
        return {key: kinds[key] for key in self._none_yet(made)}

    async def _results(self, _request, name):
        made = self.batches[name]
        lines = [line for entry in made.entries if (line := self._result(entry))]
        if self.shuffle:
            random.Random(made.id).shuffle(lines)
        return self._written(lines)

    def _result(self, entry: dict) -> dict | None:
        call = call_of(entry)
        outcome = self.outcome(call, self.asked[call])
        if outcome is None:
            return None
        if outcome in ("expired", "cancelled"):
            result = {"type": "canceled" if outcome == "cancelled" else outcome}
        elif isinstance(outcome, int):
            kinds = {400: "invalid_request_error", 429: "rate_limit_error", 529: "overloaded_error"}
            kinds |= {401: "authentication_error", 500: "api_error"}
            error = {"type": kinds[outcome], "message": f"status {outcome} for this one"}
            result = {"type": "errored", "error": {"type": "error", "error": error}}
        else:
            body = outcome if isinstance(outcome, dict) else messages_body(outcome, number=call[:8])
            result = {"type": "succeeded", "message": body}
        return {"custom_id": entry["custom_id"], "result": result}

    async def _cancel_messages(self, _request, name):
        made = self.batches[name]
        made.steps, made.cancelled = ["cancelling", "cancelled"], True
        return web.json_response(self._message_batch(made))
