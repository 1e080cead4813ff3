"""From a completion to a verdict: terminal rule, final channel, parser, candidate restoration."""

from functools import lru_cache

from judgelaw.design import FinalChannel, JudgeSpec
from judgelaw.design.model import canonical_json, sha256_hex
from judgelaw.errors import InputError
from judgelaw.render.completion import Completion, Verdict
from judgelaw.render.parsers import Parser, build, kind
from judgelaw.tensor import INVALID

TIE = "tie"

_RESTORED = {
    "AB": {"A": "candidate_1", "B": "candidate_2", "TIE": TIE},
    "BA": {"A": "candidate_2", "B": "candidate_1", "TIE": TIE},
}
_CONTRACT = ("parser", "truncated", "truncated_on", "complete_on", "final_channel")
_HASH_DIGITS = 8


def parse(judge: JudgeSpec, completion: Completion, order: str) -> Verdict:
    """Read one completion under the judge's contract, with candidates restored."""
    displayed, reason = _displayed(judge, completion)
    name = parser_name(judge)
    if displayed is None:
        return Verdict(verdict=INVALID, parser=name, displayed=None, reason=reason)
    verdict = restore(displayed, order)
    if verdict is None:
        return Verdict(verdict=INVALID, parser=name, displayed=displayed, reason="unknown label")
    return Verdict(verdict=verdict, parser=name, displayed=displayed, reason="parsed")


def restore(displayed: str, order: str) -> str | None:
    """Map a displayed label to the candidate that stood there; None where it names neither.

    Single answers have no order: their label is the verdict.
    """
    if order == "single":
        return displayed
    if order not in _RESTORED:
        raise InputError(f"order {order!r}, must be AB, BA or single")
    return _RESTORED[order].get(displayed)


def display(verdict: str, order: str) -> str:
    """Map a verdict to the label that shows it: the inverse of `restore`."""
    if order == "single":
        return verdict
    shown = {restored: label for label, restored in _RESTORED[order].items()}
    return shown[verdict]


@lru_cache(maxsize=256)
def parser_name(judge: JudgeSpec) -> str:
    """Name the reading contract: parser, version and a hash of every rule that decides.

    Two judges with the same name here read every completion alike.
    """
    rules = judge.model_dump(mode="json", by_alias=True, include=set(_CONTRACT))
    return f"{kind(judge)}#{sha256_hex(canonical_json(rules))[:_HASH_DIGITS]}"


@lru_cache(maxsize=256)
def _parser(judge: JudgeSpec) -> Parser:
    return build(judge)


def _displayed(judge: JudgeSpec, completion: Completion) -> tuple[str | None, str]:
    """Return the label as the model wrote it, or None and why there is none."""
    refused = _refused(judge, completion)
    if refused is not None:
        return None, refused
    text = completion.text or ""
    if judge.final_channel is not None:
        final = _final(text, judge.final_channel)
        if final is None:
            return None, "no final channel"
        text = final
    if not text.strip():
        return None, "empty"
    label = _parser(judge)(text)
    return label, "parsed" if label is not None else "no label"


def _refused(judge: JudgeSpec, completion: Completion) -> str | None:
    """Apply what makes an output invalid before its text is read."""
    if completion.content_filtered:
        return "content filtered"
    if completion.finish_reason in judge.truncated_on:
        if judge.truncated == "invalid":
            return "truncated"
    elif judge.complete_on is not None and completion.finish_reason not in judge.complete_on:
        return "unexpected finish"
    if completion.refusal is not None and not (completion.text or "").strip():
        return "refusal"
    return None


def _final(text: str, channel: FinalChannel) -> str | None:
    before, mark, final = text.rpartition(channel.start)
    del before
    if not mark:
        return None
    for end in channel.end:
        final = final.partition(end)[0]
    return final
