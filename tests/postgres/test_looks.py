"""A study that stops by looks, shared by workers: the same looks as alone, each taken once."""

import json
import threading

import pytest

from judgelaw.acquire import acquire_shared, work_on
from judgelaw.acquire.verify import verify
from judgelaw.acquire.worker import INPUTS
from judgelaw.errors import StudyChangedError
from judgelaw.ledger import PostgresView
from judgelaw.runs import Shown, acquire_study
from judgelaw.runs.stopping import take_looks
from judgelaw.study import MANIFEST, RECORD, freeze, load_study, open_run, record_looks
from servers.study import simulated_judge, write_study

STOP = {"component": "prompt", "limit": 0.04, "looks": [4, 8, 12]}


def judge(name, base, prompt=0.0):
    return simulated_judge(name=name, law={"world": {"base": base, "prompt": prompt}})


JUDGES = [judge("steady", [0.97, 0.02, 0.01, 0.0]), judge("near", [0.5, 0.3, 0.2, 0.0], 0.03)]


def study(folder):
    return write_study(folder, JUDGES, items=12, repeats=4, stop=STOP)


def test_looks_through_postgresql_equal_looks_through_sqlite(tmp_path, url, address):
    said = []
    shared = acquire_study(
        study(tmp_path / "a"), tmp_path / "a" / "run", shown=Shown(say=said.append), ledger=url
    )
    local = acquire_study(study(tmp_path / "b"), tmp_path / "b" / "run", shown=Shown())
    one, two = open_run(shared.path), open_run(local.path)
    assert one.record.looks == two.record.looks
    assert {look.judge: look.depth for look in one.record.looks} == {"steady": 4, "near": 12}
    assert shared.totals == local.totals
    assert (shared.path / "calls.parquet").read_bytes() == (
        local.path / "calls.parquet"
    ).read_bytes()
    assert verify(shared.path).ok
    # The database knows the looks too: workers read the record there.
    with PostgresView(address, "run") as view:
        assert json.loads(view.inputs()[RECORD])["looks"]
        assert set(view.inputs()) == set(INPUTS)


def test_a_worker_waits_for_the_look_and_goes_on(tmp_path, url, address):
    path = study(tmp_path)
    frozen = freeze(load_study(path), tmp_path / "run")
    acquire_shared(frozen, address, ask=False)
    said, done = [], []
    worker = threading.Thread(
        target=lambda: done.append(work_on(address, "run", lease_s=20, say=said.append))
    )
    worker.start()
    while not any("waiting up to" in line for line in said):
        worker.join(0.1)
        assert worker.is_alive(), said
    found = acquire_study(path, tmp_path / "run", shown=Shown(), ledger=url)
    worker.join(60)
    assert not worker.is_alive()
    assert found.complete
    assert done[0].totals.open == 0
    assert open_run(found.path).undecided == {}


def test_a_worker_does_not_wait_for_ever(tmp_path, address):
    frozen = freeze(load_study(study(tmp_path)), tmp_path / "run")
    acquire_shared(frozen, address, ask=False)
    said = []
    found = work_on(address, "run", lease_s=0.3, say=said.append)  # nobody else is there
    assert found.totals.completed == frozen.count
    assert "nobody looked" in said[-1]


def test_a_second_folder_of_the_same_study_goes_on(tmp_path, url):
    """It takes over the looks that were taken, and its calls are those that are there."""
    first = acquire_study(study(tmp_path / "a"), tmp_path / "a" / "run", shown=Shown(), ledger=url)
    second = acquire_study(study(tmp_path / "b"), tmp_path / "b" / "run", shown=Shown(), ledger=url)
    assert second.totals == first.totals
    one, two = open_run(first.path), open_run(second.path)
    assert one.record.looks == two.record.looks
    for name in (MANIFEST, "calls.parquet"):
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes()
    assert verify(second.path).ok
    again = acquire_study(study(tmp_path / "a"), first.path, shown=Shown(), ledger=url)
    assert again.totals == first.totals


def test_a_second_folder_takes_up_a_study_between_two_looks(tmp_path, url, address):
    """The first folder has looked and handed the next depth over, and is gone."""
    path = study(tmp_path / "a")
    frozen = freeze(load_study(path), tmp_path / "a" / "run")
    assert acquire_shared(frozen, address).complete
    deeper = record_looks(frozen.path, take_looks(frozen))
    assert deeper.count > frozen.count
    acquire_shared(deeper, address, ask=False)
    second = acquire_study(study(tmp_path / "b"), tmp_path / "b" / "run", shown=Shown(), ledger=url)
    assert second.complete
    looks = open_run(second.path).record.looks
    assert {look.judge: look.depth for look in looks} == {"steady": 4, "near": 12}
    assert verify(second.path).ok


def test_looks_of_another_study_are_not_taken_over(tmp_path, url):
    acquire_study(study(tmp_path / "a"), tmp_path / "a" / "run", shown=Shown(), ledger=url)
    other = write_study(tmp_path / "b", JUDGES, items=12, repeats=4, stop=STOP, seed=5)
    with pytest.raises(StudyChangedError):
        acquire_study(other, tmp_path / "b" / "run", shown=Shown(), ledger=url)
    assert open_run(tmp_path / "b" / "run").record.looks == ()
