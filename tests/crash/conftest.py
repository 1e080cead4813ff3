"""Runs that are killed lie on a real disk, where every commit waits for it, as users' runs do."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path():
    with tempfile.TemporaryDirectory(prefix="judgelaw-crash-") as folder:
        yield Path(folder)
