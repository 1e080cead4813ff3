"""The calls table: read any file or frame, write the canonical one."""

from typing import TYPE_CHECKING

from judgelaw.doors import lazy

if TYPE_CHECKING:
    from judgelaw.tables.columns import ALIASES as ALIASES
    from judgelaw.tables.in_memory import as_frame as as_frame
    from judgelaw.tables.labelled_rows import (
        ItemRows as ItemRows,
        LabelledRows as LabelledRows,
        read_items as read_items,
        read_rows as read_rows,
    )
    from judgelaw.tables.read import (
        on_continuous as on_continuous,
        read_all as read_all,
        read_tensor as read_tensor,
        read_tensors as read_tensors,
    )
    from judgelaw.tables.reading import TableReading as TableReading, settled as settled
    from judgelaw.tables.reading_of import (
        read_table as read_table,
        readings as readings,
        told as told,
    )
    from judgelaw.tables.said import (
        Said as Said,
        Wishes as Wishes,
        dump_reading as dump_reading,
        wishes as wishes,
    )
    from judgelaw.tables.write import write_calls as write_calls
else:
    __getattr__, __dir__ = lazy(__name__)
