import pytest

from judgelaw.ledger import read_address
from support.postgres import clean_database
from support.sites import make_site
from support.workers import Fleet


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/postgres/" in str(item.path):
            item.add_marker(pytest.mark.postgres)


@pytest.fixture
def url():
    """A database without runs."""
    return clean_database()


@pytest.fixture
def address(url):
    return read_address(url)


@pytest.fixture(scope="module")
def fleet():
    """One process that has everything loaded, for all tests of a module."""
    started = Fleet()
    yield started
    started.close()


@pytest.fixture
def site(tmp_path, url, fleet):
    """A run of 96 calls, handed over to workers."""
    with make_site(tmp_path, url, fleet, items=6, repeats=4) as made:
        yield made
