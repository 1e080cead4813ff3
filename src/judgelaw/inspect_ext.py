"""judgelaw inside inspect_ai: the crossed design of a study as an Inspect task.

    inspect eval judgelaw/crossed -T study=study.yaml --model openai/gpt-x
    judgelaw import --from inspect logs/LOG.eval --verdict scores.verdict.value

or, in Python,

    log = inspect_ai.eval(crossed("study.yaml"), model="openai/gpt-x")[0]
    print(audit(log).judges["openai/gpt-x"].sentence)

Every prompt x order of an item is a sample, every repeat an epoch; the cache is off. inspect_ai
finds the task through its entry point, and loads this file in every evaluation, whatever it is
about: so nothing is imported here before a task is made.
"""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis
    from judgelaw.study import Block
    from judgelaw.wire import JudgeSpec


VERDICT = "scores.verdict.value"
"""Where the scorer below leaves the restored verdict in a log."""


@dataclass(frozen=True, kw_only=True)
class CrossedSample:
    """One cell as an Inspect sample; its metadata are what `judgelaw import` reads."""

    id: str
    text: str
    metadata: dict[str, str]


def samples_of(block: "Block") -> list[CrossedSample]:
    """Render every item x prompt x order of a block."""
    from judgelaw.study import payload

    return [
        CrossedSample(
            id=f"{item.id}|{prompt}|{order}",
            text=payload(template, item, order),
            metadata={
                name: value
                for name, value in {
                    "item": item.id,
                    "stratum": item.stratum,
                    "prompt": prompt,
                    "order": order,
                    "gold": item.gold,
                }.items()
                if value is not None
            },
        )
        for item in block.items
        for prompt, template in zip(block.prompts, block.templates, strict=True)
        for order in block.orders
    ]


def choose_block(path: str | PathLike[str], layer: str | None, judge: str | None) -> "Block":
    """Return the calls of one judge in one layer of a study, the first of each by default."""
    from judgelaw.study import blocks, load_study, survey

    planned = blocks(survey(load_study(Path(path))))
    for block in planned:
        if layer in (None, block.layer.name) and judge in (None, block.judge.name):
            return block
    there = ", ".join(f"{block.layer.name}/{block.judge.name}" for block in planned)
    raise InputError(f"{path}: no layer {layer!r} with judge {judge!r}: there are {there}")


def crossed(
    study: str, layer: str | None = None, judge: str | None = None, repeats: int | None = None
) -> Any:
    """Make the Inspect task of a study.

    Args:
        study: the study file; its items, prompts, orders and repeats are run.
        layer: which layer, the first by default.
        judge: whose system prompt, decoding and parser to use, the first by default; the model
            itself is Inspect's.
        repeats: epochs, in place of the study's.
    """
    inspect, model = _inspect(), _inspect("model")
    block = choose_block(study, layer, judge)
    system = [model.ChatMessageSystem(content=block.judge.system)] if block.judge.system else []
    dataset = [
        _inspect("dataset").Sample(
            id=sample.id,
            input=[*system, model.ChatMessageUser(content=sample.text)],
            metadata=sample.metadata,
        )
        for sample in samples_of(block)
    ]
    return inspect.Task(
        dataset=dataset,
        solver=_inspect("solver").generate(cache=False),
        scorer=_scorer(block.judge),
        epochs=inspect.Epochs(repeats or len(block.repeats), "mode"),
        config=model.GenerateConfig(**_decoding(block.judge)),
    )


def audit(log: Any) -> "Analysis":
    """Analyse the log of the task: an Inspect log, or the path of its file."""
    from judgelaw.analysis import analyze
    from judgelaw.tables import read_tensors
    from judgelaw.tables.importers import Rules, import_log

    place = getattr(log, "location", log)
    imported = import_log("inspect", [place], rules=Rules(fields={"verdict": VERDICT}))
    names, columns = imported.columns.keys(), imported.columns.values()
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    tensors = read_tensors(rows)
    return analyze({(layer, str(judge)): tensor for (layer, judge), tensor in tensors.items()})


def _decoding(judge: "JudgeSpec") -> dict[str, Any]:
    """Return the decoding parameters, under Inspect's names."""
    declared = judge.decoding.model_dump(exclude_none=True)
    renamed = {"max_completion_tokens": "max_tokens"}
    values = {renamed.get(name, name): value for name, value in declared.items()}
    return {**values, **({"stop_seqs": list(judge.stop)} if judge.stop else {})}


def _scorer(judge: "JudgeSpec") -> Any:
    """Score a sample by the verdict that the judge's parser reads, candidates restored."""
    from judgelaw.wire import Completion, parse

    scoring = _inspect("scorer")

    def verdict() -> Any:
        async def score(state: Any, target: Any) -> Any:
            del target
            said = Completion(text=state.output.completion, finish_reason=state.output.stop_reason)
            read = parse(judge, said, state.metadata["order"])
            return scoring.Score(value=read.verdict, answer=read.displayed, explanation=read.reason)

        return score

    return scoring.scorer(metrics=[], name="verdict")(verdict)()


def _inspect(part: str | None = None) -> Any:
    try:
        return import_module("inspect_ai" if part is None else f"inspect_ai.{part}")
    except ImportError as error:
        raise MissingExtraError(
            "an Inspect task needs inspect_ai: pip install 'judgelaw[inspect]'"
        ) from error


if find_spec("inspect_ai") is not None:
    crossed = _inspect().task(crossed)
