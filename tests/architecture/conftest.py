"""Trees of the source are kept while rules read them, and no longer."""

import pytest

from support.sources import forget


@pytest.fixture(scope="package", autouse=True)
def _trees_of_these_rules_only():
    yield
    forget()
