"""`judgelaw view`: the runs of a folder in a list, one run live, two side by side.

The statistics of a run are shown once it is analysed, never while calls come in, but for those of
looks that its study declared: every look at an interval that narrows is a look, and looks that
nobody declared undo what the interval promises.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from aiohttp import web

from judgelaw.errors import InputError
from judgelaw.live.local_server import LocalServer, json_answer, page, stream
from judgelaw.runs import REPORT, Glance, Overview

_BEAT_S = 1.0
"""Time between two looks at a run that is shown."""
_LIST_BEAT_S = 2.0
_PATIENCE_S = 0.8
"""How long the first list waits for runs that are large; the rest of them follows."""
_WINDOW_S = 30.0
"""The rate of calls is that of so many seconds before now."""
_READERS = 4
_SANDBOX = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"
"""A report is shown as a page of no origin: what it holds cannot ask this server anything."""


def view_server(folder: Path, *, port: int = 0, public: str | None = None) -> LocalServer:
    """Return the server that shows the runs of a folder."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name a folder with runs, or a run")
    site = _Site(folder)
    site.read_ahead()
    return LocalServer(site.routes(), port=port, public=public)


class _Site:
    def __init__(self, folder: Path) -> None:
        self._runs = Overview(folder)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="judgelaw-view")
        self._reading: dict[str, Future[Glance]] = {}
        self._rates: dict[str, _Rate] = {}

    def read_ahead(self) -> None:
        """Begin to read the runs: the browser that will ask for them takes its time to open."""
        for name in self._runs.find():
            self._read(name)

    def routes(self) -> Any:
        shell = page("judgelaw: runs", "view.js")
        return {
            ("GET", "/"): shell,
            ("GET", "/run/{a}/"): shell,
            ("GET", "/pair/{a}/{b}/"): shell,
            ("GET", "/api/runs"): self._list,
            ("GET", "/api/run/{a}"): self._one,
            ("GET", "/events/runs"): self._list_events,
            ("GET", "/events/run/{a}"): self._run_events,
            ("GET", "/report/{a}/"): self._report,
        }

    async def _list(self, request: web.Request) -> web.Response:
        """Answer with what can be read at once; the others follow as events."""
        del request
        names = await self._find()
        reading = {name: self._glance(name) for name in names}
        if reading:
            await asyncio.wait(reading.values(), timeout=_PATIENCE_S)
        rows = [_row(task) for task in reading.values() if task.done()]
        return json_answer({"folder": str(self._runs.folder), "count": len(names), "runs": rows})

    async def _one(self, request: web.Request) -> web.Response:
        return json_answer(await self._shown(self._known(request)))

    async def _list_events(self, request: web.Request) -> web.StreamResponse:
        return await stream(request, self._changes)

    async def _run_events(self, request: web.Request) -> web.StreamResponse:
        name = self._known(request)
        return await stream(request, lambda: self._beats(name))

    async def _report(self, request: web.Request) -> web.StreamResponse:
        path = self._runs.paths[self._known(request)] / REPORT
        if not path.is_file():
            raise web.HTTPNotFound(reason="this run has no report yet")
        return web.FileResponse(
            path,
            headers={
                "Content-Security-Policy": _SANDBOX,
                "Content-Type": "text/html; charset=utf-8",
            },
        )

    async def _changes(self) -> AsyncIterator[Any]:
        """Yield runs that changed since they were told, and how many there are."""
        told: dict[str, Glance] = {}
        while True:
            names = await self._find()
            for name in names:
                found = await self._glance(name)
                if told.get(name) != found:
                    told[name] = found
                    yield {"run": found.plain(), "count": len(names)}
            gone = [name for name in told if name not in names]
            for name in gone:
                del told[name]
                yield {"gone": name, "count": len(names)}
            await asyncio.sleep(_LIST_BEAT_S)

    async def _beats(self, name: str) -> AsyncIterator[Any]:
        while name in self._runs.paths:
            start = time.monotonic()
            yield await self._shown(name)
            # A large ledger takes long to count: the looking stays a small part of the machine.
            await asyncio.sleep(max(_BEAT_S, 4 * (time.monotonic() - start)))

    async def _shown(self, name: str) -> dict[str, Any]:
        found = await self._glance(name)
        pace = self._rates.setdefault(name, _Rate())
        rate = pace.after(time.monotonic(), found.completed)
        left = found.planned - found.completed
        running = found.state == "running"
        return {
            **found.plain(),
            "rate": rate if running else None,
            "seconds_left": left / rate if running and rate else None,
            "seen": time.time(),
        }

    def _glance(self, name: str) -> "asyncio.Future[Glance]":
        # One who stops waiting takes nothing from others who wait for the same run.
        return asyncio.shield(asyncio.wrap_future(self._read(name)))

    def _read(self, name: str) -> "Future[Glance]":
        """Read a run, once for all who ask while it is being read."""
        known = self._reading.get(name)
        if known is None or known.done():
            known = self._reading[name] = self._readers.submit(self._runs.glance, name)
        return known

    async def _find(self) -> list[str]:
        """Look for runs beside the readers, who may be busy with large ones."""
        return await asyncio.to_thread(self._runs.find)

    def _known(self, request: web.Request) -> str:
        name = request.match_info["a"]
        if not self._runs.paths:
            self._runs.find()
        if name not in self._runs.paths:
            raise web.HTTPNotFound(reason="there is no such run any more")
        return name


def _row(task: "asyncio.Future[Glance]") -> dict[str, Any]:
    return task.result().plain()


class _Rate:
    """Calls a second, over the last half minute in which somebody looked."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def after(self, now: float, completed: int) -> float | None:
        """Take in a look and return the rate; None before there are two looks."""
        self._seen.append((now, completed))
        while len(self._seen) > 2 and now - self._seen[1][0] > _WINDOW_S:  # noqa: PLR2004 - a pair
            self._seen.popleft()
        start, before = self._seen[0]
        return (completed - before) / (now - start) if now > start else None
