"""The pictures of the documentation show what the pages say today.

`JUDGELAW_PICTURES=1 pytest tests/browser/test_pictures.py` takes the pictures of the report anew. A
picture differs from machine to machine by its fonts, so what is compared is the text in it.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from judgelaw.live import view_server
from support.model import shallow_model

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "docs" / "_static"
SAID = STATIC / "pictures.json"
LIVE = {"live.png": 1280, "live-phone.png": 390}
NUMBER = re.compile(r"(\d[\d.,:/-]*%?( [AP]M)?|—)")
SOME_CALLS = "() => parseInt(document.querySelector('dd')?.textContent) > 12"
WAYS = {
    "report.png": {"width": 1280, "scheme": "light"},
    "report-phone.png": {"width": 390, "scheme": "light"},
    "report-dark.png": {"width": 1280, "scheme": "dark"},
    "report-items.png": {"width": 1280, "scheme": "light"},
    "report-print.png": {"width": 794, "scheme": "light"},
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of the demonstration, whose judge has a seed."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "judgelaw", "demo", "--out", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "run" / "report.html"


def shown(page, name) -> str:
    """Bring the page to what the picture shows, and return the text of it."""
    if name == "report-items.png":
        page.click("#explorer .open >> nth=0")
        page.locator("#items").scroll_into_view_if_needed()
        page.evaluate("document.querySelector('#items').scrollIntoView()")
        return page.inner_text(".item.whole")
    if name == "report-print.png":
        page.emulate_media(media="print")
    return f"{page.inner_text('.answer')}\n{page.inner_text('.seen')}"


def hold(page, name, text) -> None:
    """Hold a page against what its picture says, or take the picture anew."""
    if os.environ.get("JUDGELAW_PICTURES"):
        page.screenshot(path=STATIC / name)
        told = json.loads(SAID.read_text()) if SAID.exists() else {}
        SAID.write_text(json.dumps({**told, name: text}, indent=1, ensure_ascii=False) + "\n")
    assert json.loads(SAID.read_text())[name] == text
    assert (STATIC / name).stat().st_size < 300_000


@pytest.mark.parametrize("name", WAYS)
def test_a_picture_of_the_report_shows_what_it_says_today(report, open_page, name):
    way = WAYS[name]
    page = open_page(report, color_scheme=way["scheme"]).ready()
    page.set_viewport_size({"width": way["width"], "height": 900 if way["width"] > 390 else 844})
    hold(page, name, shown(page, name))


@pytest.mark.model
def test_the_pictures_of_a_run_under_way_show_what_the_live_page_says_today(tmp_path, browser):
    """In the middle of a run of the embedded model: the words are held, numbers are of the day.

    The model has its first layers and one thread only, as no reply is looked at; a picture that is
    taken anew shows the whole one.
    """
    quickstart = shutil.copytree(ROOT / "examples" / "quickstart", tmp_path / "quickstart")
    study = quickstart / "study.yaml"
    if not os.environ.get("JUDGELAW_PICTURES"):
        text, provider = study.read_text(), "provider: embedded\n"
        assert provider in text
        less = f"{provider}    threads: 1\n    model_path: {shallow_model()}\n"
        study.write_text(text.replace(provider, less))
    asks = [sys.executable, "-m", "judgelaw", "run", str(study), "--out", "runs/quickstart"]
    with subprocess.Popen(asks, cwd=tmp_path, stderr=subprocess.DEVNULL) as run:
        try:
            while not (tmp_path / "runs" / "quickstart" / "ledger.sqlite").exists():
                assert run.poll() is None, "the run ended before its first call"
                time.sleep(0.1)
            with view_server(tmp_path / "runs").beside() as address:
                page = browser.new_page(viewport={"width": 1280, "height": 780})
                page.goto(address.url)
                page.click("tbody th a")
                page.wait_for_function(SOME_CALLS, timeout=60_000)
                page.wait_for_selector("dt:has-text('Rate') + dd:has-text('a second')")
                for name, width in LIVE.items():
                    page.set_viewport_size({"width": width, "height": 780})
                    hold(page, name, NUMBER.sub("#", page.inner_text("main")))
                page.close()
        finally:
            run.send_signal(signal.SIGINT)
