"""The notebook page, executed by a real Jupyter kernel, whose event loop runs already."""

import doctest
import os

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from support.pages import PAGES, blocks

PAGE = PAGES["docs/howto/notebook.md"]
LOOP = """\
import asyncio
assert asyncio.get_running_loop().is_running()
few = {**study, "repeats": 2, "analysis": {"draws": 200, "permutations": 99}}
again = jl.audit(few, out="runs/second")
awaited = await jl.audit_async(few, out="runs/third")
assert again.status.open == awaited.status.open == 0
"""
SHOWN = ("run", "plan", "analysis", "gate", "jl.compare(half)", "tensor", "jl.decompose(tensor)")


def cells_of(page):
    """Return the source of every Python block, as somebody would type it into a cell."""
    for block in blocks(page.read_text()):
        if block.language == "python":
            examples = doctest.DocTestParser().get_examples(block.text)
            yield "".join(example.source for example in examples)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    sources = [*cells_of(PAGE), LOOP, *SHOWN]
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DATA", "RUNTIME", "CONFIG"):
            patch.setenv(f"JUPYTER_{name}_DIR", str(folder / name.lower()))
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        patch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        resources = {"metadata": {"path": str(folder)}}
        NotebookClient(notebook, timeout=200, resources=resources).execute()
    nbformat.validate(notebook)
    return notebook, folder


def test_the_page_runs_and_so_does_an_audit_beside_the_loop(executed):
    notebook, folder = executed
    errors = [out for cell in notebook.cells for out in cell.outputs if out.output_type == "error"]
    assert errors == []
    for name in ("first", "second", "third"):
        assert (folder / "runs" / name / "report.html").is_file()


@pytest.mark.parametrize("shown", SHOWN)
def test_every_result_shows_itself(executed, shown):
    notebook, _ = executed
    (cell,) = (cell for cell in notebook.cells if cell.source == shown)
    (output,) = (out for out in cell.outputs if out.output_type == "execute_result")
    assert "<table" in output.data["text/html"]
    assert len(output.data["text/plain"]) < 3000
