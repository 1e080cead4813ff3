import pytest

from judgelaw.ledger import read_address
from support.postgres import clean_database
from support.sites import make_site


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/postgres/" in str(item.path):
            item.add_marker(pytest.mark.postgres)


@pytest.fixture(autouse=True)
def _look_often(monkeypatch):
    """Let a worker that waits for others look more often than anybody outside tests would."""
    monkeypatch.setattr("judgelaw.acquire.worker._LOOK_S", 0.05)


@pytest.fixture
def url():
    """A database without runs."""
    return clean_database()


@pytest.fixture
def address(url):
    return read_address(url)


@pytest.fixture
def site(tmp_path, url, fleet):
    """A run of 96 calls, handed over to workers."""
    with make_site(tmp_path, url, fleet, items=6, repeats=4) as made:
        yield made
