"""Pages that a server on this machine shows: runs while they go on, and items to label."""

from judgelaw.live.label_book import LabelBook, write_table
from judgelaw.live.label_items import Labelling, joined, read_labelling
from judgelaw.live.label_site import label_server
from judgelaw.live.local_server import Address, LocalServer, open_browser
from judgelaw.live.view_site import view_server

__all__ = [
    "Address",
    "LabelBook",
    "Labelling",
    "LocalServer",
    "joined",
    "label_server",
    "open_browser",
    "read_labelling",
    "view_server",
    "write_table",
]
