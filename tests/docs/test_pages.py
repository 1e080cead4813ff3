"""Every Python block of the documentation runs, and prints what the page says."""

import doctest
import re
from pathlib import Path

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
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report = []
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_no_python_block_is_left_out():
    """A fenced block without a prompt would not run: it must say another language."""
    for page in PAGES:
        for block in BLOCK.findall(page.read_text()):
            assert block.lstrip().startswith(">>>"), f"{page.name}: {block[:60]!r}"
