"""The request of a frozen call, checked against the hash that was frozen."""

from judgelaw.design import FrozenRun, PlannedCall
from judgelaw.design.model import sha256_hex
from judgelaw.errors import IntegrityError
from judgelaw.render.payload import payload
from judgelaw.render.wire import request


def payload_for(frozen: FrozenRun, call: PlannedCall) -> str:
    """Render the text that the model sees in a frozen call."""
    return payload(frozen.template_of(call), frozen.items[call.item], call.order)


def request_for(frozen: FrozenRun, call: PlannedCall) -> bytes:
    """Render the body of a frozen call; bytes that differ from the frozen ones are never sent."""
    body = request(frozen.judges[call.judge], payload_for(frozen, call), call.seed)
    if sha256_hex(body) != call.request_sha256:
        raise IntegrityError(
            f"{frozen.path}: call {call.call_id} renders to other bytes than were frozen; the "
            "inputs of the run or the installed judgelaw were changed, restore them"
        )
    return body
