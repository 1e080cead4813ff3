"""Power is lost at every sync of a run of 200 calls: the ledger opens, and the promises hold.

The model is that of `shadow`: what was synced is there, of the rest anything may be. It holds for
disks that do what a sync asks of them; a disk that lies about its cache is beyond any ledger.
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from judgelaw.ledger import SqliteLedger
from simulation.disk import OK, Disk, mounted
from simulation.fate import GOOD
from simulation.plants import commits_without_sync
from simulation.session import Session
from simulation.shadow import Keep, Op, Shadow
from simulation.world import Plan, World

CALLS = 200


class Recording(Session):
    """A session in good weather that also notes what it does to the disk."""

    def _decide(self, op: Op) -> int:
        self._history.log.append(("disk", op))
        return super()._decide(op)


@dataclass
class Promises:
    """What a moment of a run has promised: completions that are durable, requests that left."""

    judge: str
    durable: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    sent: Counter = field(default_factory=Counter)

    def hold(self, image: dict[str, bytes], folder: Path) -> None:
        """Open the ledger that a power loss leaves, and look for everything in it."""
        folder.mkdir()
        for name, content in image.items():
            (folder / name).write_bytes(content)
        with mounted(Disk(folder, lambda _: OK)), SqliteLedger(folder) as ledger:
            assert ledger._execute("PRAGMA quick_check").fetchall() == [("ok",)]
            stored = {c.call.call_id: (c.attempt, c.body) for c in ledger.completions()}
            assert self.durable.items() <= stored.items()
            # Open are those that a provider has in a batch; they are visible too.
            accounted = Counter(a.call_id for a in ledger.attempts() if a.state != "unsent")
            assert self.sent <= accounted
            again = asyncio.run(ledger.reserve(self.judge, after=-1, limit=CALLS))
            assert not {r.call.call_id for r in again} & stored.keys()


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    made = Plan.of(tmp_path_factory.mktemp("study"), items=25, repeats=2)
    assert len(made.calls) == CALLS
    return made


def recorded(plan: Plan, folder: Path, seed: int) -> list[tuple]:
    """Run every call once; return all that happened."""
    world = World(seed, plan, folder)
    world.live(GOOD, session=Recording)
    assert world.history.violations == []
    assert world.history.durable == CALLS
    return world.history.log


def campaign(plan: Plan, folder: Path, *, seed: int, keeps: tuple[Keep, ...]) -> int:
    """Lose power just before each sync, when most is at stake, and after the last one.

    Returns:
        How many syncs there were.
    """
    (judge,) = plan.frozen.judges
    shadow, promises, dice = Shadow(), Promises(judge), random.Random(seed)
    syncs = images = 0

    def lose_power() -> None:
        nonlocal images
        for keep in keeps:
            images += 1
            promises.hold(shadow.image(keep, dice), folder / str(images))

    for kind, *what in recorded(plan, folder, seed):
        match kind:
            case "send":
                promises.sent[what[0]] += 1
            case "complete":
                promises.durable[what[0]] = (what[1], what[2])
            case "disk":
                if what[0].kind == "sync":
                    syncs += 1
                    lose_power()
                shadow.follow(what[0])
    lose_power()
    with SqliteLedger(folder / str(images)) as last:
        assert last.check() == []
    assert len(promises.durable) == CALLS
    print(f"{syncs} syncs, {images} power losses")
    return syncs


def test_power_is_lost_at_every_sync(plan, tmp_path):
    assert campaign(plan, tmp_path, seed=1, keeps=("synced",)) > CALLS / 8


def test_a_ledger_that_does_not_sync_is_found(plan, tmp_path, monkeypatch):
    commits_without_sync(monkeypatch)
    with pytest.raises(AssertionError):
        campaign(plan, tmp_path, seed=1, keeps=("synced",))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 5))
def test_power_is_lost_at_every_sync_whatever_is_left(plan, tmp_path, seed):
    campaign(plan, tmp_path, seed=seed, keeps=("synced", "everything", "some", "some"))
