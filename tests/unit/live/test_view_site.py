"""Runs in a list: read before anybody asks, and once for all who ask at the same time."""

import asyncio
import threading

import pytest

from judgelaw.live import view_site
from judgelaw.runs import Glance


class Slow:
    """An overview of one run that is read when the test says so."""

    def __init__(self, folder) -> None:
        self.folder, self.paths = folder, {}
        self.read, self.go = 0, threading.Event()

    def find(self):
        self.paths = {"a": self.folder}
        return ["a"]

    def glance(self, name):
        self.read += 1
        self.go.wait(10)
        return Glance(id=name, name="run", folder=".", state="waiting")


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setattr(view_site, "Overview", Slow)
    return view_site._Site(tmp_path)


def test_a_run_is_read_before_anybody_asks_and_once_for_all(site):
    async def two_ask_and_one_leaves():
        first, second = site._glance("a"), site._glance("a")
        second.cancel()
        site._runs.go.set()
        return (await first).name

    site.read_ahead()
    assert asyncio.run(two_ask_and_one_leaves()) == "run"
    assert site._runs.read == 1


def test_a_run_that_was_read_is_looked_at_again(site):
    async def ask():
        return await site._glance("a")

    site._runs.go.set()
    asyncio.run(ask())
    asyncio.run(ask())
    assert site._runs.read == 2
