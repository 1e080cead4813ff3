from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings

from support import studies

# Timings say nothing on a shared machine; pytest-timeout catches what hangs.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def make_study(tmp_path: Path) -> Callable[..., Path]:
    """Write a small study with replacements, and six items beside it."""
    return partial(studies.make_study, tmp_path)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "run"
