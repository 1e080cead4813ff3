"""One seed: a run that dies and starts again in a world that is drawn from the seed.

Engine, ledger and provider run in one thread. The seed decides the sequence of everything that can
run, how long requests and commits take, what the network, the disk and the clock do, and where the
process dies. In the folder `tests`, `python -m simulation.world SEED` replays one.
"""

import random
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from judgelaw.study import Budget, FrozenRun, PlannedCall
from judgelaw.wire import Batch
from servers.study import chat_judge, frozen_study
from simulation.batches import Batches
from simulation.fate import GOOD, Fate, draw_fate
from simulation.history import History
from simulation.provider import Provider
from simulation.session import Session

_START = 1_700_000_000.0
_BATCHED = 0.25
"""The share of seeds whose calls are asked through a batch interface."""


@dataclass(frozen=True)
class Plan:
    """What every seed runs: a frozen run and its calls."""

    frozen: FrozenRun
    calls: tuple[PlannedCall, ...]

    @classmethod
    def of(cls, folder: Path, *, items: int = 2, repeats: int = 2) -> "Plan":
        judge = chat_judge("http://127.0.0.1:9/v1")
        frozen = frozen_study(folder, [judge], items=items, repeats=repeats)
        return cls(frozen, tuple(frozen.iter_calls()))

    def with_transport(self, **rules) -> "Plan":
        """Return the same calls under other rules of transport."""
        return self._changed(transport=self.frozen.study.transport.model_copy(update=rules))

    def with_budget(self, calls: int | None) -> "Plan":
        """Return the same calls under a budget."""
        return self._changed(budget=Budget(calls=calls))

    def in_batches(self, **rules) -> "Plan":
        """Return the same calls, asked through a batch interface."""
        batch = Batch(poll_s=2.0, **rules)
        judges = [judge.model_copy(update={"batch": batch}) for judge in self.frozen.study.judges]
        plan = self._changed(judges=judges)
        named = {judge.name: judge for judge in judges}
        return Plan(replace(plan.frozen, judges=named), self.calls)

    @property
    def batched(self) -> bool:
        """Whether calls are asked through a batch interface."""
        return any(judge.batch for judge in self.frozen.judges.values())

    def _changed(self, **fields) -> "Plan":
        study = self.frozen.study.model_copy(update=fields)
        return Plan(replace(self.frozen, study=study), self.calls)


class World:
    """Everything that one seed decides."""

    def __init__(self, seed: int, plan: Plan, scratch: Path) -> None:
        self._seed = seed
        self._sessions = 0
        fate = self._fates = self.dice("fate")
        if fate.random() < _BATCHED:
            plan = plan.in_batches(chunk=fate.choice((2, 5, 30)), at_once=fate.choice((1, 3)))
        self.history = History(plan.frozen.judges)
        self.plan = plan.with_transport(
            concurrency=fate.choice((1, 2, 4, 8)),
            timeout_s=fate.choice((2.0, 20.0)),
            attempts=fate.choice((1, 2, 5)),
            requests_per_minute=fate.choice((None, None, 600)),
        )
        requests = {call.request_sha256: call.call_id for call in plan.calls}
        self.provider = Provider(self.history, requests)
        self.batches = Batches(self.provider, lambda: self.now, keeps_names=fate.random() < 0.5)
        self.scratch = scratch
        self.second_place = scratch / f"held-{seed}"
        self.now = 0.0
        self.clock_at_zero = _START
        self.boot = 1
        self._files: dict[str, bytes] = {}

    def run(self) -> list[str]:
        """Run sessions until one in good weather has ended; return the promises that broke."""
        dice, timeout_s = self._fates, self.plan.frozen.study.transport.timeout_s
        for _ in range(dice.randint(1, 4)):
            self.live(draw_fate(dice, timeout_s))
            if self.history.violations:
                return self.history.violations
        # What expired in a batch of an earlier session has used up an attempt of the next one.
        for _ in range(2 if self.plan.batched else 1):
            self.live(GOOD)
            if self.history.violations:
                return self.history.violations
        done = (self.history.durable, self.history.read)
        if done != (len(self.plan.calls),) * 2:
            return [f"{done} calls are completed and read after a session in good weather"]
        return []

    def dice(self, name: str) -> random.Random:
        """Return a stream of its own for each use and session: what a dead process still draws
        shifts nothing.
        """
        return random.Random(f"{self._seed} {self._sessions} {name}")

    def live(self, fate: Fate, *, session: type[Session] = Session) -> None:
        """Live through one session, from the files that the last one left."""
        self._sessions += 1
        folder = self.scratch / "session"
        folder.mkdir()
        for name, content in self._files.items():
            (folder / name).write_bytes(content)
        self.provider.begin(fate.weather, self.dice("network"))
        process = session(self, folder, fate)
        try:
            self._files = process.run()
        finally:
            shutil.rmtree(folder)


def worlds(seeds: Iterable[int]) -> Iterator[tuple[int, World]]:
    """Yield the worlds of seeds, each with a run of its own of the same few calls."""
    with tempfile.TemporaryDirectory(prefix="judgelaw-simulation-", dir=_fast()) as folder:
        plan = Plan.of(Path(folder) / "study")
        for seed in seeds:
            yield seed, World(seed, plan, Path(folder))


def play(seeds: Iterable[int]) -> dict[int, list[str]]:
    """Run seeds; return the broken promises of those that broke some, and print how to replay."""
    broken = {}
    for seed, world in worlds(seeds):
        if violations := world.run():
            broken[seed] = violations
            print(f"seed {seed}: {violations[0]}")
            print(f"    replay: cd tests && python -m simulation.world {seed}")
    return broken


def _fast() -> str | None:
    """Return a folder in memory where there is one: the disk is simulated anyway."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a folder of its own


def main(arguments: list[str]) -> int:
    """Replay seeds; with `--digest`, print a hash of what happened in each."""
    if arguments[:1] != ["--digest"]:
        return len(play(map(int, arguments)))
    for seed, world in worlds(map(int, arguments[1:])):
        world.run()
        print(seed, world.history.digest)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
