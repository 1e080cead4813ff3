"""A page lands whole under its name, and leaves alone what is no file."""

import os
import threading

import pytest

from judgelaw.errors import InputError
from judgelaw.runs import write_page


def test_a_page_is_there_whole_and_nothing_beside_it(tmp_path):
    (tmp_path / "page.html").write_text("before")
    write_page(tmp_path / "page.html", "after")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"page.html": "after"}


def test_a_pipe_or_a_device_is_written_to_and_stays_what_it_is(tmp_path):
    """Renaming over it would put a file in the place of a device such as /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_page(pipe, "page")
    reader.join(10)
    assert read == ["page"]
    assert pipe.is_fifo()


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="Is a directory; give another path"):
        write_page(tmp_path, "page")
