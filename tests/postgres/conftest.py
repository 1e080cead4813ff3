import pytest

from judgelaw.ledger.postgres_address import read_address
from support.postgres import clean_database


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
