"""Every ledger, for every contract about ledgers."""

import pytest

from judgelaw.ledger import SqliteLedger


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def kind(request):
    """Open the ledger of a run folder; PostgreSQL gives each test an empty database."""
    if request.param == "sqlite":
        return SqliteLedger
    from judgelaw.ledger import PostgresLedger, read_address
    from support.postgres import clean_database

    address = read_address(clean_database())
    return lambda path: PostgresLedger(address, path.name)
