"""Processes to be killed, forked from one that has all loaded."""

import pytest

from support.workers import Fleet


@pytest.fixture(scope="module")
def fleet():
    started = Fleet()
    yield started
    started.close()
