"""The calls table: read any file or frame, write the canonical one."""

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
