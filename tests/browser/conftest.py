"""One Chromium a module, with everything switched off that would talk to the network."""

import shutil

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium on this machine: install the package `chromium`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield running
        running.close()


class Watched:
    """A page that remembers every complaint and every request beyond its own file."""

    def __init__(self, browser, path, **context):
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **context)
        self.page = self.context.new_page()
        self.complaints, self.requests, self.dialogs = [], [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.dialogs.append(dialog.message))
        self.url = path.as_uri()
        self.page.goto(self.url)

    def ready(self):
        """Wait until the explorer has unpacked its data."""
        self.page.wait_for_selector("#explorer:not([hidden]) tbody tr")
        return self.page

    @property
    def foreign(self):
        return [url for url in self.requests if url not in {self.url, "data:,"}]


@pytest.fixture
def open_page(browser):
    opened = []

    def open_(path, **context):
        opened.append(Watched(browser, path, **context))
        return opened[-1]

    yield open_
    for watched in opened:
        watched.context.close()
