"""`jl.audit(study, judge=function)`: in a script, where a loop runs, and in a notebook."""

import asyncio
import json
import random
import sys

import pytest

import judgelaw as jl
from servers.study import PROMPTS, write_study

OPEN = {"name": "fn", "provider": "python"}


def coin(call):
    return random.Random(call.seed).choice(["A", "B", "TIE"])


async def later(call):
    await asyncio.sleep(0.001)
    return coin(call)


@pytest.mark.parametrize("function", [coin, later])
def test_a_function_is_audited_and_resumed(tmp_path, function):
    study = write_study(tmp_path, [OPEN], items=4, repeats=2)
    run = jl.audit(study, judge=function)
    assert run.status.completed == 32
    assert (run.path / "report.html").exists()
    asked = []
    jl.audit(study, judge=lambda call: asked.append(call) or "A")
    assert asked == []


def test_functions_go_by_name(tmp_path):
    study = write_study(tmp_path, [OPEN, {**OPEN, "name": "second"}], items=2, repeats=2)
    with pytest.raises(jl.InputError, match="judge second: provider python without call:"):
        jl.audit(study, judge={"fn": lambda _: "A"})
    run = jl.audit(study, judge={"fn": lambda _: "A", "second": lambda _: "B"})
    counts = {name: t.counts.sum() for (_, name), t in run.tensors().items()}
    assert counts == {"fn": 16, "second": 16}


def test_a_failing_function_raises_the_error_of_its_exit_code(tmp_path):
    def refused(_call):
        raise jl.Refused("no credit")

    def broken(_call):
        raise ConnectionError("down")

    transport = {"attempts": 1, "backoff_s": 0.001}
    study = write_study(tmp_path, [OPEN], transport=transport)
    with pytest.raises(jl.IncompleteRunError, match="ConnectionError: down"):
        jl.audit(study, judge=broken)
    with pytest.raises(jl.ProviderRefusedError, match="no credit"):
        jl.audit(study, judge=refused)
    assert jl.audit(study, judge=coin).status.open == 0


@pytest.mark.parametrize("function", [coin, later])
def test_a_function_answers_where_a_loop_runs(tmp_path, function):
    study = write_study(tmp_path, [OPEN], items=2, repeats=2)

    async def inside():
        one = jl.audit(study, judge=function, out=tmp_path / "one")
        other = await jl.audit_async(study, judge=function, out=tmp_path / "other")
        return one, other

    for run in asyncio.run(inside()):
        assert run.status.completed == 16


def test_a_study_in_python_is_audited_by_a_function(tmp_path, monkeypatch):
    write_study(tmp_path, [OPEN])
    monkeypatch.chdir(tmp_path)
    study = {
        "version": 1,
        "name": "small",
        "seed": 11,
        "items": {"source": "jsonl", "path": "items.jsonl"},
        "prompts": PROMPTS,
        "repeats": 2,
        "judges": [OPEN],
    }
    assert jl.audit(study, judge=coin).status.completed == 16


NOTEBOOK = """
import random
import judgelaw as jl

def coin(call):
    return random.Random(call.seed).choice(["A", "B"])

async def later(call):
    return coin(call)

one = jl.audit({study!r}, judge=coin, out={one!r})
other = await jl.audit_async({study!r}, judge=later, out={other!r})
print("done", one.status.completed, other.status.completed)
"""


def test_a_function_of_a_notebook_is_audited_by_a_real_kernel(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    study = write_study(tmp_path, [OPEN], items=2, repeats=2)
    monkeypatch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))
    code = NOTEBOOK.format(
        study=str(study), one=str(tmp_path / "one"), other=str(tmp_path / "other")
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    said = "".join(
        out.get("text", "") for out in notebook.cells[0].outputs if out.get("name") == "stdout"
    )
    assert "done 16 16" in said


def test_clusters_of_items_go_from_the_study_to_the_answer(tmp_path):
    study = write_study(tmp_path, [OPEN], items=12, repeats=2)
    items = tmp_path / "items.jsonl"
    told = [json.loads(line) for line in items.read_text().splitlines()]
    alone = [{**item, "cluster": None} for item in told]
    items.write_text("".join(json.dumps(item) + "\n" for item in alone))
    plain = jl.audit(study, judge=coin, out=tmp_path / "alone")
    assert next(iter(plain.tensors().values())).clusters is None
    for n, item in enumerate(told):
        item["cluster"] = f"document {n // 3}"
    items.write_text("".join(json.dumps(item) + "\n" for item in told))
    run = jl.audit(study, judge=coin, out=tmp_path / "together")
    (tensor,) = run.tensors().values()
    assert sorted(set(tensor.clusters)) == [f"document {n}" for n in range(4)]
    assert jl.analyze(run, permutations=0, draws=50).judges["fn"].answer.clusters == 4
    from_table = jl.analyze(run.path / "calls.parquet", permutations=0, draws=50)
    assert from_table.judges["fn"].answer.clusters == 4
    assert jl.audit(study, judge=coin, out=tmp_path / "together").status.open == 0
