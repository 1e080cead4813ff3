"""Every public name, used as a typed program would use it: mypy and pyright read this file.

It is never run. `assert_type` says what a reader of a signature may rely on. Wrong use is marked
as wrong, and a mark that a checker does not need is an error: so wrong use is found.
"""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import judgelaw as jl
from judgelaw import NotIdentifiedError  # a name of the first release


def estimates(tensor: jl.VerdictTensor) -> float:
    found = jl.decompose(tensor, design="census", order_weights={"AB": 0.5, "BA": 0.5})
    assert_type(found, jl.Decomposition)
    assert_type(found.prompt, NDArray[Any])
    macro = found.macro()
    assert_type(macro, "jl.Decomposition[float]")
    assert_type(macro.prompt, float)
    assert_type(macro.plugin["prompt"], float)
    assert_type(macro["total"], float)
    assert_type(macro.to_json(), dict[str, Any])
    return macro.prompt + macro.excess["prompt"]


def tensors() -> jl.VerdictTensor:
    read = jl.VerdictTensor.from_table("calls.csv", judge="a", repeats=4)
    counted = jl.VerdictTensor.from_counts(np.zeros((2, 2, 2, 4), dtype=int))
    assert_type(read.depth, tuple[int, int])
    assert_type(counted.to_json(), dict[str, Any])
    return read.select(prompts=["p1"])


def answers(tensor: jl.VerdictTensor, rows: list[dict[str, str | int]]) -> str:
    analysis = jl.analyze({"a": tensor}, draws=100, seed=1, permutations=0, level=0.9)
    assert_type(analysis, jl.Analysis)
    component = analysis.judges["a"].components["prompt"]
    assert_type(component.estimate, float)
    assert_type(component.interval, tuple[float, float] | None)
    jl.analyze(rows, judge=["a", "b"], columns={"verdict": "winner", "gold": None})
    jl.analyze(Path("calls.csv"), design="sampled", incomplete="drop", layer="audit")
    gate = jl.gate(tensor, {"prompt": 0.02}, items="new", level=0.9, strict=True, judge="a")
    assert_type(gate, jl.Gate)
    comparison = jl.compare(tensor, "other.csv", prompts=["p1"], draws=100)
    assert_type(comparison, jl.Comparison)
    assert_type(comparison.differences[0].estimate, float)
    assert_type(jl.report(tensor, "report.html", title="mine"), Path)
    assert_type(analysis.to_json(), dict[str, Any])
    analysis.to_frame("polars")
    return f"{analysis!r} {gate.verdict} {comparison.in_words()}"


def runs(study: dict[str, object]) -> int:
    run = jl.audit("study.yaml", out="runs/first")
    assert_type(run, jl.Run)
    run = jl.audit(study)
    plan = jl.plan(study, pilot=run, half_width=0.02, items="new")
    assert_type(plan, jl.Plan)
    assert_type(plan.calls, int)
    assert_type(run.analysis(permutations=0), jl.Analysis)
    assert_type(run.report(), Path)
    assert_type(run.status.open, int)
    return run.status.completed


def decisions() -> str:
    advice = jl.advise("calls.csv", target={"stability": 0.9})
    assert_type(advice, jl.Advice)
    assert_type(jl.score("calls.csv", by=None), jl.Score)
    return repr(advice)


def against_people(waves: list[str]) -> str:
    validation = jl.validate("calls.csv", human="human", positive="pass", labels="random")
    assert_type(validation, jl.Validation)
    assert_type(validation.to_json(), dict[str, Any])
    assert_type(jl.watch(waves), jl.Watch)
    return repr(validation)


def jury(tables: dict[str, str]) -> str:
    found = jl.panel(tables, size=3, ties="first")
    assert_type(found, jl.PanelAnswer)
    return repr(found)


def judge(call: jl.Call) -> jl.Reply | str:
    assert_type(call.text, str)
    assert_type(call.seed, int | None)
    if call.repeat > 2:
        raise jl.RateLimited(after=1.0)
    if not call.text:
        raise jl.Refused("nothing to judge")
    if call.text.isspace():
        raise jl.Invalid(call.text, reason="blank")
    return jl.Reply(text="A", model="mine") if call.order == "AB" else "B"


def served(study: dict[str, object]) -> jl.Run:
    jl.audit(study, judge=judge)
    return jl.audit(study, judge={"mine": judge}, out=Path("runs/second"))


async def with_a_loop() -> jl.Run:
    return await jl.audit_async("study.yaml")


def failures() -> int:
    try:
        jl.audit("study.yaml")
    except (jl.errors.InputError, NotIdentifiedError) as error:
        assert_type(error.exit_code, int)
    except jl.JudgelawError as error:
        return error.exit_code
    return len(jl.__version__)


def wrong_use() -> None:
    jl.gate("calls.csv", {"prompt": "low"})  # type: ignore[dict-item] # a limit is a number
    jl.analyze("calls.csv", design="survey")  # type: ignore[arg-type] # no such design
    jl.analyze("calls.csv", jugde="a")  # type: ignore[call-arg] # misspelt
    text: str = jl.decompose([[[[2, 0]]]]).macro().prompt  # type: ignore[assignment] # a number
    jl.nothing(text)  # type: ignore[attr-defined] # no such name
