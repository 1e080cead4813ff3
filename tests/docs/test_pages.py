"""Every Python block of the documentation runs, and prints what the page says."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run(page, tmp_path, monkeypatch):
    text = page.read_text()
    blocks = "\n".join(BLOCK.findall(text))
    test = doctest.DocTestParser().get_doctest(blocks, {}, page.name, str(page), 0)
    monkeypatch.chdir(tmp_path)
    _write_calls(tmp_path / "calls.csv")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report = []
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def _write_calls(path):
    """Write the calls table that the pages read: a simulated judge of known law."""
    from judgelaw.tables import write_calls
    from judgelaw.worlds import World

    world = World.from_effects(base=[0.4, 0.32, 0.22, 0.06], prompt=0.004, order=0.03)
    tensor = world.tensor(items=200, prompts=6, orders=2, repeats=4, seed=1)
    i, k, o, r = np.indices(tensor.ranked.shape).reshape(4, -1)
    columns = {
        "judge": ["known-law"] * i.size,
        "item": [tensor.items[j] for j in i],
        "prompt": [tensor.prompts[j] for j in k],
        "order": [tensor.orders[j] for j in o],
        "repeat": r,
        "verdict": [tensor.verdicts[code] for code in tensor.ranked.ravel()],
    }
    write_calls(path, columns)


def test_no_python_block_is_left_out():
    """A fenced block without a prompt would not run: it must say another language."""
    for page in PAGES:
        for block in BLOCK.findall(page.read_text()):
            assert block.lstrip().startswith(">>>"), f"{page.name}: {block[:60]!r}"
