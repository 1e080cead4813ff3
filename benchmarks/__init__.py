"""Measured speed, each figure as a ratio to its limit in the same run: `make bench`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # helpers that tests share serve here too
