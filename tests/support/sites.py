"""A run that workers share: a database, a provider, a fleet, and the promises to hold them to."""

import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from judgelaw.acquire import acquire_shared
from judgelaw.acquire.verify import verify
from judgelaw.ledger import LEDGER_NAME, PostgresView, SqliteView, read_address
from judgelaw.study import freeze, load_study
from servers.holding import Provider, provider
from servers.study import chat_judge, write_study
from support.wires import TcpWire
from support.workers import Fleet, Worker

LEASE_S = 1.5
BRIEF_S = 1.0
"""The lease of a worker that a test takes away while nobody else is there: nobody can take its
calls too early, however slow the machine is, and whoever comes next need not wait long."""
CONCURRENCY = 4


@dataclass
class Site:
    """A frozen run in a database, a provider, and a fleet of workers."""

    folder: Path
    url: str
    fleet: Fleet
    provider: Provider
    calls: int
    wire: TcpWire | None = None
    name: str = "run"

    @property
    def run(self) -> Path:
        return self.folder / self.name

    def worker(self, *, url: str | None = None, lease_s: float = LEASE_S) -> Worker:
        options = ("--ledger", url or self.url, "--lease", lease_s)
        return self.fleet.start(self.folder, "worker", *options)

    def finish(self) -> None:
        """Finish the run and write its folder, as `judgelaw run` does."""
        frozen = freeze(load_study(self.folder / "study.yaml"), self.run)
        acquired = acquire_shared(frozen, read_address(self.url), lease_s=LEASE_S)
        assert acquired.totals.open == 0

    def view(self) -> PostgresView:
        return PostgresView(read_address(self.url), self.name)


@contextmanager
def make_site(
    tmp_path, url, fleet, *, through: type[TcpWire] | None = None, name: str = "run", **fields
):
    """Hand a run over to workers; `through` puts a line between them and the provider."""
    with provider(tmp_path / "provider") as at, ExitStack() as stack:
        wire = stack.enter_context(closing(through(at.port))) if through else None
        judge = chat_judge(f"http://127.0.0.1:{wire.port}/v1" if wire else at.base_url)
        fields["transport"] = {"concurrency": CONCURRENCY, **fields.get("transport", {})}
        frozen = freeze(load_study(write_study(tmp_path, [judge], **fields)), tmp_path / name)
        acquire_shared(frozen, read_address(url), ask=False)
        site = Site(
            folder=tmp_path,
            url=url,
            fleet=fleet,
            provider=at,
            calls=frozen.count,
            wire=wire,
            name=name,
        )
        try:
            yield site
        finally:
            fleet.end()


def check(site: Site, *, surplus: int | None = None) -> Counter:
    """Hold every promise against the provider's own list; return how attempts ended."""
    site.finish()
    asked = Counter(digest for digest, _ in site.provider.requests)
    last_asked = dict(site.provider.requests)
    states: dict[str, Counter] = {}
    with SqliteView(site.run / LEDGER_NAME) as view:
        names = {c.call_id: c.request_sha256 for c in view.calls()}
        for attempt in view.attempts():
            states.setdefault(names[attempt.call_id], Counter())[attempt.state] += 1
        answered = {c.call.request_sha256: c.ended_at for c in view.completions()}
    assert len(answered) == len(names) == site.calls
    assert set(asked) == set(answered)
    for request, count in states.items():
        assert count["completed"] == 1
        assert count["started"] == 0
        assert asked[request] - 1 <= count["orphaned"] + count["failed"]
        # Who was away may bring the reply to an orphan while somebody asks again.
        late = count["orphaned"] > 0
        assert late or last_asked[request] <= answered[request], "asked again after its completion"
    if surplus is not None:
        assert sum(asked.values()) == site.calls + surplus
    with site.view() as view:
        assert view.check() == []
    found = verify(site.run)
    assert found.ok, [c for c in found.checks if not c.ok]
    return sum(states.values(), Counter())


def until_held(site: Site, count: int) -> None:
    """Wait until the provider holds so many requests, and their workers wait for nothing else."""
    site.provider.until(count)
    time.sleep(0.1)


def both_at_work(site: Site) -> list[Worker]:
    """Start two workers, and return once both ask: a session does not begin without its server."""
    site.provider.hold()
    workers = [site.worker(lease_s=60) for _ in range(2)]
    site.provider.until(2 * CONCURRENCY)
    site.provider.release()
    return workers
