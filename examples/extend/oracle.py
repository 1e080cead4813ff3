"""A made-up server that answers under `said`, and counts tokens in its own words."""

from typing import Any

from judgelaw.wire.form import Provider, Shape, WireFormat, decoding_of
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.reply import Answer, Completion, Reply


def _encode(judge: JudgeSpec) -> Shape:
    return ',"ask":', "", {"options": decoding_of(judge)}


def _decode(_reply: Reply, body: dict[str, Any]) -> Answer:
    return Answer(
        completion=Completion(text=body["said"], finish_reason="stop"),
        output_tokens=body["spent"],
    )


WIRE = WireFormat(name="oracle", path="speak", encode=_encode, decode=_decode, seedless="no dice")
PROVIDERS = (Provider(name="oracle", wire=WIRE),)
