"""Pages that a server on this machine shows: runs while they go on, and items to label."""

from typing import TYPE_CHECKING

from judgelaw.doors import lazy

if TYPE_CHECKING:
    from judgelaw.live.approvals import rewordings_to_read as rewordings_to_read
    from judgelaw.live.label_book import LabelBook as LabelBook, write_table as write_table
    from judgelaw.live.label_items import (
        Labelling as Labelling,
        joined as joined,
        read_labelling as read_labelling,
    )
    from judgelaw.live.label_site import label_server as label_server
    from judgelaw.live.local_server import Address as Address, LocalServer as LocalServer
    from judgelaw.live.view_site import view_server as view_server
else:
    __getattr__, __dir__ = lazy(__name__)
