"""Under CI nothing may be missing: a skip there is a failure, whatever its reason.

Workers share the cores already, so linear algebra takes one thread in each: threads that wait for
each other in loops took a quarter of the time of tests that compute. Children inherit it.
"""

import functools
import hashlib
import json
import os
import shutil
import sys
import threading
from itertools import count
from pathlib import Path

import pytest

CI = os.environ.get("CI") == "true"
BLANKS = {
    "vegalite_to_svg": '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>',
    "vegalite_to_png": b"\x89PNG\r\n\x1a\n",
    "vegalite_to_pdf": b"%PDF-1.4",
}

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is loaded
# Folders of tests lie in memory where there is enough: a run waits for the disk at every commit,
# and what a kill leaves is the same. What a loss of power leaves is tested on a simulated disk.
MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes folders of its own there
ENOUGH = 4 << 30
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
# Spark lives for seconds here: to compile its code well, or to verify it, takes longer.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
UNVERIFIED = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
os.environ.setdefault("JDK_JAVA_OPTIONS", f"{QUICK_JAVA} {UNVERIFIED}")
# `python` is the one that runs the tests, as in an environment that is activated.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def _refuse_skip(report):
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped under CI, where everything must be there: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    report = yield
    _refuse_skip(report)
    return report


@pytest.fixture(scope="session", autouse=True)
def _no_processes_beside_a_worker():
    """Let commands that run within a test start no processes: the workers fill the cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("judgelaw.processes._cores", lambda: 1)
        yield


@pytest.fixture(scope="session", autouse=True)
def _each_picture_drawn_once(tmp_path_factory):
    """Keep what the drawing engine made of a chart: many tests draw the same seeded report.

    A drawing depends on the chart alone, as `test_processes` checks, and takes 30 to 80 ms. The
    workers share what was drawn.
    """
    import vl_convert

    base = tmp_path_factory.getbasetemp()
    kept = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "drawings"
    kept.mkdir(exist_ok=True)

    def once(draw):
        @functools.wraps(draw)
        def drawn(chart, **options):
            named = json.dumps([draw.__name__, chart, options])
            file = kept / hashlib.sha256(named.encode()).hexdigest()
            if not file.exists():
                part = file.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
                made = draw(chart, **options)
                part.write_bytes(made.encode() if isinstance(made, str) else made)
                part.rename(file)  # whole, should another worker read it now
            found = file.read_bytes()
            return found.decode() if draw.__name__.endswith("svg") else found

        return drawn

    with pytest.MonkeyPatch.context() as patch:
        for name in ("vegalite_to_svg", "vegalite_to_png"):  # no two PDFs of a chart are alike
            patch.setattr(vl_convert, name, once(getattr(vl_convert, name)))
        yield


@pytest.fixture(scope="session", autouse=True)
def _database_started_once():
    """Give every connection in memory a catalog of its own in one database of these settings.

    To start a database takes 15 ms, which thousands of tests would do several times each, and a
    catalog takes one. Tests of what belongs to a database start their own (`own_database`), and so
    does every process that tests start.
    """
    import duckdb

    start = duckdb.connect
    databases, opened, numbers, one_at_a_time = {}, [], count(), threading.Lock()

    def closed(connection):
        try:
            connection.cursor().close()
        except duckdb.ConnectionException:
            return True
        return False

    @functools.wraps(start)
    def connect(database=":memory:", **given):
        if database != ":memory:":
            return start(database, **given)
        config = dict(given.get("config", {}))
        spill = config.pop("temp_directory", None)
        with one_at_a_time:
            # A process that was forked has none of the threads of its parent's.
            key = (os.getpid(), *sorted(config.items()))
            if key not in databases:
                databases[key] = start(config=config)
            shared = databases[key]
            for at, (connection, base, catalog) in reversed([*enumerate(opened)]):
                if closed(connection):
                    base.execute(f"DETACH {catalog}")
                    del opened[at]
            catalog = f"catalog_{next(numbers)}"
            connection = shared.cursor()
            connection.execute(f"ATTACH ':memory:' AS {catalog}; USE {catalog}")
            if spill:
                connection.execute(f"SET temp_directory = '{spill}'")
            opened.append((connection, shared, catalog))
            return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "connect", connect)
        yield
    for database in databases.values():
        database.close()


SAID = [
    Path(__file__).parent / folder
    for folder in (
        *("crash", "docs", "model", "postgres", "unit/acquire", "unit/cli", "unit/judges"),
        *("unit/labels", "unit/live", "unit/replication", "unit/runs"),
    )
]
SHOWN = [Path(__file__).parent / folder for folder in ("browser", "unit/page")]
DRAWN = (
    "test_commands",
    "test_demo",
    "test_packages",
    "test_report",
    "test_run",
    "test_several",
    "test_simulation_figure",
)


@pytest.fixture(scope="module", autouse=True)
def _fewer_draws_where_words_are_tested(request):
    """Advise, plan and bound from fewer draws in tests of what commands and pages say; no charts.

    How near the figures come is tested in `unit/decide`, `unit/uncertainty`, `exact` and
    `calibration`, from as many draws as users have. Charts are drawn in the folders `SHOWN` and in
    the modules `DRAWN`.
    """
    said, shown = (
        any(request.path.is_relative_to(folder) for folder in folders) for folders in (SAID, SHOWN)
    )
    if not said and not shown:
        yield
        return
    import vl_convert

    from judgelaw.decide import assurance, protocols, vote_forecast
    from judgelaw.uncertainty import new_items

    with pytest.MonkeyPatch.context() as patch:
        if said and request.path.stem not in DRAWN:
            for name, blank in BLANKS.items():
                patch.setattr(vl_convert, name, lambda *_, blank=blank, **__: blank)
        patch.setattr(protocols, "DRAWS", 6)
        patch.setattr(vote_forecast, "_ROUNDS", 100)
        patch.setattr(vote_forecast, "_CUTS", 5)  # ranges are wider then, never too narrow
        patch.setattr(new_items, "MOST_NUMBERS", 0)  # the least draws, as for very many items
        for look_ahead in (assurance.outlook_from_law, assurance.outlook_from_pilot):
            patch.setitem(look_ahead.__kwdefaults__, "studies", 39)
        yield


@pytest.fixture(scope="session")
def fleet():
    """One process that has everything loaded, from which tests fork those that they kill."""
    from support.workers import Fleet

    started = Fleet()
    yield started
    started.close()


@pytest.fixture
def own_database(monkeypatch):
    """Start a database for every connection, as the program does."""
    import duckdb

    monkeypatch.setattr(duckdb, "connect", duckdb.connect.__wrapped__)
