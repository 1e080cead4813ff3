"""The requests of one judge, with everything that no call changes looked up once.

What `judgelaw.render.request_for` does for any call; a lane does it thousands of times a second.
"""

from hashlib import sha256
from typing import TYPE_CHECKING

from judgelaw.design.judge import JudgeSpec
from judgelaw.design.manifest import FrozenRun, PlannedCall
from judgelaw.render import payload, request_for
from judgelaw.render.wire import frame

if TYPE_CHECKING:
    from judgelaw.design.templates import Template


class Requests:
    """Renders the frozen calls of one judge."""

    def __init__(self, frozen: FrozenRun, spec: JudgeSpec) -> None:
        self._frozen = frozen
        self._items = frozen.items
        self._frame = frame(spec)
        self._templates: dict[tuple[str, str], Template] = {}

    def body(self, call: PlannedCall) -> bytes:
        """Render the body of a call; bytes that differ from the frozen ones are never sent."""
        cell = (call.layer, call.prompt)
        template = self._templates.get(cell)
        if template is None:
            template = self._templates[cell] = self._frozen.template_of(call)
        text = payload(template, self._items[call.item], call.order)
        body = self._frame.head(text) + self._frame.tail(call.seed)
        if sha256(body).hexdigest() != call.request_sha256:
            return request_for(self._frozen, call)  # raises, and says what to do
        return body
