"""The pictures of the documentation show what the pages say today.

`JUDGELAW_PICTURES=1 pytest tests/browser/test_pictures.py` takes the pictures of the report anew. A
picture differs from machine to machine by its fonts, so what is compared is the text in it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

STATIC = Path(__file__).parents[2] / "docs" / "_static"
SAID = STATIC / "pictures.json"
LIVE = ("Calls", "Rate", "Time left", "Failed attempts", "Invalid verdicts", "Spent")
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
        return page.inner_text(".opened")
    if name == "report-print.png":
        page.emulate_media(media="print")
    return page.inner_text(".first")


@pytest.mark.parametrize("name", WAYS)
def test_a_picture_of_the_report_shows_what_it_says_today(report, open_page, name):
    way = WAYS[name]
    page = open_page(report, color_scheme=way["scheme"]).ready()
    page.set_viewport_size({"width": way["width"], "height": 900 if way["width"] > 390 else 844})
    text = shown(page, name)
    if os.environ.get("JUDGELAW_PICTURES"):
        page.screenshot(path=STATIC / name)
        told = json.loads(SAID.read_text()) if SAID.exists() else {}
        SAID.write_text(json.dumps({**told, name: text}, indent=1, ensure_ascii=False) + "\n")
    assert json.loads(SAID.read_text())[name] == text
    assert (STATIC / name).stat().st_size < 300_000


def test_the_picture_of_a_run_under_way_names_what_the_live_page_names():
    """It was taken in the middle of a run of the embedded model; its labels are those of today."""
    code = (Path(__file__).parents[2] / "src/judgelaw/live/assets/view.js").read_text()
    assert all(f'["{label}"' in code for label in LIVE)
    for name in ("live.png", "live-phone.png"):
        assert 10_000 < (STATIC / name).stat().st_size < 300_000
