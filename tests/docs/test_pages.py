"""Every Python block of the documentation runs, and prints what the page says."""

import doctest
import shutil
from pathlib import Path

import numpy as np
import pytest

from judgelaw.acquire import acquire
from judgelaw.design import load_study
from judgelaw.render import freeze
from servers.study import simulated_judge, write_study
from support.imports import FIXTURES
from support.pages import PAGES, blocks

PYTHON = {
    name: found
    for name, page in PAGES.items()
    if (found := [block.text for block in blocks(page.read_text()) if block.language == "python"])
}


@pytest.mark.parametrize("name", PYTHON)
def test_python_blocks_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PREPARE.get(name, _write_calls)(tmp_path)
    code = "\n".join(PYTHON[name])
    test = doctest.DocTestParser().get_doctest(code, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report = []
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def _write_calls(folder: Path) -> None:
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
    write_calls(folder / "calls.csv", columns)


def _finish_run(folder: Path) -> None:
    study = write_study(folder, [simulated_judge()], items=12, repeats=4)
    acquire(freeze(load_study(study), Path("runs/first"))).raise_if_open()


def _copy_log(folder: Path) -> None:
    (folder / "logs").mkdir()
    shutil.copy(FIXTURES / "inspect-crossed.eval", folder / "logs" / "crossed.eval")


PREPARE = {"docs/howto/notebook.md": _finish_run, "docs/howto/ci.md": _copy_log}


@pytest.mark.parametrize("name", PYTHON)
def test_no_python_block_is_left_out(name):
    """A fenced block without a prompt would not run: it must say another language."""
    for block in PYTHON[name]:
        assert block.lstrip().startswith(">>>"), f"{name}: {block[:60]!r}"
