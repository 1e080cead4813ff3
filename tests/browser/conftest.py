"""One Chromium a worker, with everything switched off that would talk to the network.

To open a tab takes most of a second of processor time, and to open an address in a tab that is
there a third: tabs are kept for the next test, which finds an empty document in them.
"""

import shutil

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SCREEN = {"width": 1280, "height": 900}


@pytest.fixture(scope="package")
def browser():
    """Start Chromium, until the worker goes on to tests elsewhere: a loop runs beside it."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium on this machine: install the package `chromium`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture(scope="package")
def free_tabs():
    """Hold the tabs that no test has now, by the settings of their contexts."""
    return {}


class Tab:
    """A tab that remembers every complaint, request and dialog of the address in it."""

    def __init__(self, browser, free, url, *, color_scheme="light", **context):
        self.kept = free.setdefault(tuple(sorted(context.items())), [])
        self.page = self.kept.pop() if self.kept else browser.new_context(**context).new_page()
        self.context = self.page.context
        self.page.set_viewport_size(SCREEN)
        self.page.emulate_media(media="null", color_scheme=color_scheme)
        self.complaints, self.requests, self.dialogs = [], [], []
        self.listeners = {
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "request": lambda request: self.requests.append(request.url),
            "dialog": lambda dialog: self.dialogs.append(dialog.message),
        }
        for event, listener in self.listeners.items():
            self.page.on(event, listener)
        self.url = url
        self.page.goto(url)

    def leave(self):
        """Empty the tab for the next test; one that a test closed is not used again."""
        if self.page.is_closed():
            return
        self.page.goto("about:blank")
        for event, listener in self.listeners.items():
            self.page.remove_listener(event, listener)
        self.kept.append(self.page)


class Watched(Tab):
    """A report in a tab."""

    def ready(self):
        """Wait until the explorer has unpacked its data."""
        self.page.wait_for_selector("#explorer:not([hidden]) .item")
        return self.page

    @property
    def foreign(self):
        """Return every request beyond its own file."""
        return [url for url in self.requests if url not in {self.url, "data:,"}]


class Served(Tab):
    """A page of a server in a tab."""

    def __init__(self, browser, free, url, **settings):
        super().__init__(browser, free, url, **settings)
        self.page.wait_for_selector("body[data-ready]")

    @property
    def foreign(self):
        """Return every request to another server."""
        return [u for u in self.requests if not u.startswith(self.url) and u != "data:,"]


def _opener(browser, free, kind):
    """Give a function that opens an address, and leave all that it opened at the end of a test."""
    opened = []

    def open_(url, **settings):
        opened.append(kind(browser, free, url, **settings))
        return opened[-1]

    yield open_
    for tab in opened:
        tab.leave()


@pytest.fixture
def open_page(browser, free_tabs):
    openers = _opener(browser, free_tabs, Watched)
    open_url = next(openers)
    yield lambda path, **settings: open_url(path.as_uri(), **settings)
    next(openers, None)


@pytest.fixture
def open_tab(browser, free_tabs):
    yield from _opener(browser, free_tabs, Served)
