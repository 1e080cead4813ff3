"""Logs of other tools as calls tables, with what can be learnt from them and what cannot."""

from judgelaw.tables.importers.assembly import (
    Imported as Imported,
    Survey as Survey,
    assemble as assemble,
)
from judgelaw.tables.importers.entries import (
    Entry as Entry,
    Grading as Grading,
    ImportedCall as ImportedCall,
    Rules as Rules,
)
from judgelaw.tables.importers.formats import (
    FORMATS as FORMATS,
    detect as detect,
    gradings_of as gradings_of,
    import_log as import_log,
    known_log as known_log,
    read_calls as read_calls,
)
from judgelaw.tables.importers.known import KnownLog as KnownLog
from judgelaw.tables.importers.plain_table import (
    PLAIN as PLAIN,
    said_by as said_by,
    write_plain as write_plain,
)
