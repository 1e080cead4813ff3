"""The report at full size: how large the page is, how soon it can be read, how it scrolls on."""

import random
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.analyze import judgelaw, run_folder
from benchmarks.figure import at_most, best, progress, shown
from judgelaw.analysis import analyze
from judgelaw.page import build
from judgelaw.tensor import VerdictTensor

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
_READY = "#explorer:not([hidden]) tbody tr"
_VOCABULARY = 4000

SECONDS = at_most("report of a run folder of 44,112 calls, seconds", 5)
SIZE = at_most("report of 369 x 6 x 2 x 4 calls with replies, megabytes", 15)
OPENS = at_most("that report opens in Chromium, seconds", 2)
LARGE = at_most("report of 5,000 items opens in Chromium, seconds", 2)
SEARCH = at_most("search among 5,000 items, seconds", 0.1)
GROWTH = shown("report, growth of the time to make it")
SIZE_GROWTH = shown("report, growth of its size")
TARGETS = (SECONDS, SIZE, OPENS, LARGE, SEARCH, GROWTH, SIZE_GROWTH)
_NO_BROWSER = "chromium is not on the path (Debian: apt install chromium)"


def calls(items: int, repeats: int) -> VerdictTensor:
    """Draw the broad audit of the paper: six prompts, two orders."""
    rng = np.random.default_rng(0)
    base = rng.dirichlet([2.0, 2.0, 0.3, 0.1], size=(items, 1, 1))
    noise = rng.dirichlet([2.0, 2.0, 0.3, 0.1], size=(items, 6, 2))
    return VerdictTensor.from_laws(
        0.9 * base + 0.1 * noise,
        repeats=repeats,
        seed=1,
        items=[f"item-{i:05d}" for i in range(items)],
        orders=("AB", "BA"),
        strata=[f"stratum {i % 5}" for i in range(items)],
    )


def replies(tensor: VerdictTensor, length: int) -> dict:
    """Write prose of words by Zipf's law: it packs about as well as what models write."""
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(_VOCABULARY)]
    weights = [1 / (i + 1) for i in range(_VOCABULARY)]
    count = length // 6
    return {
        (item, prompt, order, repeat): " ".join(rng.choices(words, weights, k=count))[:length]
        for item in tensor.items
        for prompt in tensor.prompts
        for order in tensor.orders
        for repeat in range(tensor.depth[1])
    }


def page(items: int, repeats: int, *, length: int = 0) -> tuple[str, float]:
    """Return a page and the seconds that it took to make."""
    tensors = {(None, "judge"): calls(items, repeats)}
    analysis = analyze(tensors, draws=2000, permutations=0)
    texts = {"judge": replies(tensors[None, "judge"], length)} if length else None
    start = time.perf_counter()
    html = build(analysis, title="Benchmark", tensors=tensors, completions=texts)
    return html, time.perf_counter() - start


def opened(html: str, times: int) -> tuple[float, float]:
    """Return the shortest seconds until the explorer stands, and until it has filtered."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        path.write_text(html, encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(FLAGS)
        )
        stands, filters = zip(*(_once(browser, path) for _ in range(times)), strict=True)
        browser.close()
    return min(stands), min(filters)


def _once(browser, path: Path) -> tuple[float, float]:
    tab = browser.new_page()
    start = time.perf_counter()
    tab.goto(path.as_uri())
    tab.wait_for_selector(_READY)
    stands = time.perf_counter() - start
    filtered = tab.evaluate(
        "(() => { const box = document.querySelector('input[type=search]'); box.value = '33';"
        "const start = performance.now(); box.dispatchEvent(new Event('input'));"
        "document.body.offsetHeight; return (performance.now() - start) / 1000 })()"
    )
    tab.close()
    return stands, filtered


def run(quick: bool = False):
    times, items, many = (2, 40, 400) if quick else (5, 369, 5_000)
    html, made = page(items, 4, length=1000)
    progress(f"a page of {items} items with replies made in {made:.1f} s")
    small, small_s = page(many // 10, 4)
    large, large_s = page(many, 4)
    small_s = min(small_s, page(many // 10, 4)[1])
    return [
        _of_run(1 if quick else 3),
        SIZE.found(
            len(html.encode()) / 1e6,
            f"{items * 48:,} replies of 1,000 characters; made in {made:.1f} s",
        ),
        *_opening(html, large, times),
        GROWTH.found(
            large_s / small_s, f"from {many // 10:,} to {many:,} items, the smaller twice"
        ),
        SIZE_GROWTH.found(len(large) / len(small), f"from {many // 10:,} to {many:,} items"),
    ]


def _of_run(times: int):
    """Time the whole command: reading, analysis, and the page."""
    with tempfile.TemporaryDirectory(prefix="judgelaw-bench-") as folder:
        run_folder(Path(folder))
        return SECONDS.found(
            best(lambda: judgelaw("report", f"{folder}/run"), times),
            "five layers, seven streams, simulated judges; analysis with 999 shuffles included, "
            f"best of {times}",
        )


def _opening(html: str, large: str, times: int):
    if shutil.which("chromium") is None:
        return [target.absent(_NO_BROWSER) for target in (OPENS, LARGE, SEARCH)]
    stands, _ = opened(html, times)
    large_stands, filters = opened(large, times)
    return [
        OPENS.found(
            stands, f"from the address to a list of items that can be searched, best of {times}"
        ),
        LARGE.found(
            large_stands, f"{len(large.encode()) / 1e6:.1f} MB, without replies, best of {times}"
        ),
        SEARCH.found(filters, f"from the key to the new list laid out, best of {times}"),
    ]
