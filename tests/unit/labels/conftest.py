"""Real labels, where they are beside the project."""

from pathlib import Path

import pytest

_FILE = Path(__file__).parents[4] / "shared/data/labels/mtbench_gpt4_human.csv.gz"


@pytest.fixture
def mtbench():
    if not _FILE.is_file():
        pytest.skip(f"{_FILE} is not there")
    return _FILE
