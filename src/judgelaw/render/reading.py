"""From a completion to a verdict: terminal rule, final channel, parser, candidate restoration."""

from functools import lru_cache

from judgelaw.design import FinalChannel, JudgeSpec
from judgelaw.design.model import canonical_json, sha256_hex
from judgelaw.errors import InputError
from judgelaw.render.completion import Completion, Verdict
from judgelaw.render.parsers import Parser, build, kind
from judgelaw.tensor import INVALID

TIE = "tie"
RAN_OUT = "parser timeout"
"""Why a verdict is invalid where the parser had no time left: true of one reading on one machine,
so that nobody can derive it again."""

_RESTORED = {
    "AB": {"A": "candidate_1", "B": "candidate_2", "TIE": TIE},
    "BA": {"A": "candidate_2", "B": "candidate_1", "TIE": TIE},
}
_CONTRACT = ("parser", "truncated", "truncated_on", "complete_on", "final_channel")
_HASH_DIGITS = 8


def parse(
    judge: JudgeSpec, completion: Completion, order: str, parser: Parser | None = None
) -> Verdict:
    """Read one completion under the judge's contract, with candidates restored.

    Args:
        judge: whose contract.
        completion: what was said.
        order: in which order candidates were shown.
        parser: the judge's parser as somebody else runs it; by default it runs here, for as long
            as it takes.
    """
    text, reason = text_to_read(judge, completion)
    displayed = None if text is None else (parser or _parser(judge))(text)
    if text is not None and displayed is None:
        reason = "no label"
    name = parser_name(judge)
    if displayed is None:
        return Verdict(verdict=INVALID, parser=name, displayed=None, reason=reason)
    verdict = restore(displayed, order)
    if verdict is None:
        return Verdict(verdict=INVALID, parser=name, displayed=displayed, reason="unknown label")
    return Verdict(verdict=verdict, parser=name, displayed=displayed, reason="parsed")


def ran_out(judge: JudgeSpec) -> Verdict:
    """Return what a completion counts as whose parser ran out of time."""
    name = parser_name(judge)
    return Verdict(verdict=INVALID, parser=name, displayed=None, reason=RAN_OUT)


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


def text_to_read(judge: JudgeSpec, completion: Completion) -> tuple[str | None, str]:
    """Return what the parser of a judge is shown, or None and why it is shown nothing."""
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
    return text, ""


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
