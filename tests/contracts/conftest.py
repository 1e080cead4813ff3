"""Every ledger, for every contract about ledgers."""

import pytest

from judgelaw.ledger import SqliteLedger
from servers.study import chat_judge, frozen_study


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def kind(request):
    """Open the ledger of a run folder; PostgreSQL gives each test an empty database."""
    if request.param == "sqlite":
        return SqliteLedger
    from judgelaw.ledger import PostgresLedger, read_address
    from support.postgres import clean_database

    address = read_address(clean_database())
    return lambda path: PostgresLedger(address, path.name)


@pytest.fixture
def frozen(tmp_path):
    return frozen_study(tmp_path, [chat_judge("http://127.0.0.1:9/v1")])


@pytest.fixture
def opened(kind, frozen):
    """Open the ledger with the manifest loaded; each call is another session."""

    def open_ledger():
        ledger = kind(frozen.path)
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="m1")
        return ledger

    return open_ledger
