"""The calls table: read any file or frame, write the canonical one."""

from typing import TYPE_CHECKING

from judgelaw.doors import lazy

if TYPE_CHECKING:
    from judgelaw.tables.columns import ALIASES as ALIASES
    from judgelaw.tables.labelled_rows import (
        LabelledRows as LabelledRows,
        read_rows as read_rows,
    )
    from judgelaw.tables.read import (
        Engine as Engine,
        read_tensor as read_tensor,
        read_tensors as read_tensors,
    )
    from judgelaw.tables.write import write_calls as write_calls
else:
    __getattr__, __dir__ = lazy(__name__)
