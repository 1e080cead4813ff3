"""What an answer says of rewordings: from which law they are, who approved them, how many more."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from judgelaw.words import counted

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis
    from judgelaw.runs.source import Source
    from judgelaw.study import FrozenRun, RewordingFacts

_COLUMNS = ("prompt", "refused before", "same text", "people", "words that differ first")


def wording_note(frozen: "FrozenRun") -> tuple[str, ...]:
    """Say what the prompts of a run are draws of; nothing where they are no rewordings."""
    facts = frozen.rewordings
    return () if facts is None else (_note(facts),)


def _note(facts: "RewordingFacts") -> str:
    prompts = f"prompts: {counted(facts.used, 'rewording')} of one template by {facts.by}"
    if facts.policy == "census":
        return f"{prompts}, a varied set chosen out of {facts.drawn}: the answer is about these"
    if facts.lost:
        prompts += f", {facts.lost} more refused by the checks {facts.tries} times each"
    if not facts.approved:
        return f"{prompts}, drawn as they came: the answer is about prompts like these"
    struck = f"{facts.struck} struck" if facts.struck else "none struck"
    return (
        f"{prompts}, drawn and approved by people ({struck}): the answer is about rewordings that "
        "people approve"
    )


def with_more_prompts(analysis: "Analysis", calls: "Source") -> "Analysis":
    """Add how many more prompts would decide, where prompts were drawn."""
    from judgelaw.decide import more_prompts

    if calls.estimand.design != "sampled":
        return analysis
    estimand = calls.estimand
    tensors, limit = calls.main(), calls.gate.get("prompt")
    judges = {
        name: judge
        if judge.one_call
        else replace(
            judge,
            more_prompts=more_prompts(
                tensors[name], estimand, limit=limit, seed=analysis.settings.seed
            ),
        )
        for name, judge in analysis.judges.items()
    }
    layers = dict(analysis.layers)
    if analysis.main_layer is not None:
        layers[analysis.main_layer] = judges
    return replace(analysis, judges=judges, layers=layers)


def wordings_in_words(
    analysis: "Analysis", frozen: "FrozenRun"
) -> tuple[Sequence[str], Sequence[str], Sequence[Sequence[str]]] | None:
    """Return what a report tells of rewordings, its columns and rows; None where there are none."""
    facts = frozen.rewordings
    if facts is None:
        return None
    note = _note(facts)
    told = [f"{note[0].upper()}{note[1:]}.", *_answers(analysis)]
    return told, _COLUMNS, list(_rows(facts))


def _answers(analysis: "Analysis") -> Iterator[str]:
    several = len(analysis.judges) > 1
    for name, judge in analysis.judges.items():
        if judge.more_prompts is not None:
            yield (f"{name}: " if several else "") + judge.more_prompts.sentence


def _rows(facts: "RewordingFacts") -> Iterator[list[str]]:
    from judgelaw.study import differs_first

    texts = [draw.wording for draw in facts.prompts]
    for draw in facts.prompts:
        yield [
            draw.template.id,
            str(len(draw.refused)),
            str(texts.count(draw.wording)),
            ", ".join(facts.said.get(draw.wording, ())) or "unread",
            differs_first(facts.template, draw),
        ]
