"""The server is killed in the middle of its work, with every process that it has, and recovers."""

import random
import time

import pytest

from support.postgres import crash, synced
from support.sites import both_at_work, check, make_site


@pytest.fixture(autouse=True)
def _synced():
    with synced():
        yield


def test_a_killed_server_loses_no_commit(site):
    """Workers wait for it, and learn from it which of their commits took place."""
    workers = both_at_work(site)
    site.provider.until(site.calls // 3)
    crash()
    for worker in workers:
        assert worker.wait() == 0, worker.said
    check(site, surplus=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_server_that_is_killed_again_and_again_loses_no_commit(tmp_path, url, fleet, seed):
    chance = random.Random(seed)
    with make_site(tmp_path, url, fleet, items=50, repeats=10) as site:
        workers = [site.worker(lease_s=120) for _ in range(4)]
        for kill in range(8):
            site.provider.until((kill + 1) * site.calls // 10)
            time.sleep(chance.uniform(0.0, 0.2))
            crash()
        for worker in workers:
            assert worker.wait(120) == 0, worker.said
        check(site, surplus=0)
