"""The benchmarks are scripts at the project's root, started from there."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch):
    """Children of a benchmark find the others by the folder that they start in."""
    monkeypatch.chdir(ROOT)


@pytest.fixture
def no_peers(monkeypatch, tmp_path):
    """Run as on a machine where no peer was ever installed."""
    from benchmarks.peers import environment

    monkeypatch.setattr(environment, "HOME", tmp_path / "peers")
