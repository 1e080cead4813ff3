"""The benchmarks run, and the page of results has all that they promise. No speed is tested."""

import math
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "name", ["decompose", "bands", "permutation", "simulation", "freeze", "ledger"]
)
@pytest.mark.usefixtures("no_peers")
def test_a_cheap_benchmark_measures_what_it_promises(name):
    from benchmarks.__main__ import measured, promised

    figures, broke = measured(name, quick=True)
    assert not broke
    assert [figure.target for figure in figures] == list(promised(name))
    for figure in figures:
        if "arch" in figure.target.name:
            assert figure.detail == (
                "not measured: arch is not installed, and the quick form installs nothing"
            )
        else:
            assert math.isfinite(figure.value)
            assert figure.value > 0


def test_every_benchmark_loads_where_no_test_runs():
    load = "from benchmarks.__main__ import TITLES, promised; print(all(map(promised, TITLES)))"
    done = subprocess.run(
        [sys.executable, "-c", load],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "True\n", done.stderr


def test_acquisition_is_measured_beside_the_bare_loop():
    from benchmarks.acquire import CPUS, RATES, compare, serving

    with serving(latency=0.001) as server:
        rate, cpu = compare(server.port, 20, 100, 1)
    assert (rate.target, cpu.target) == (RATES[20], CPUS[20])
    assert rate.value > 0
    assert cpu.value > 0
    assert server.served == 200
    assert server.seconds > 0


def test_big_tables_are_read_in_a_process_of_their_own(tmp_path):
    from benchmarks.tables import generate, turn

    for part in range(2):
        generate(tmp_path / f"part-{part}.parquet", 20, part, 2)
    for kind in ("bare", "ours"):
        seconds, gigabytes = turn(kind, str(tmp_path))
        assert seconds > 0
        assert 0 < gigabytes < 4


def test_a_benchmark_that_breaks_says_how_for_each_of_its_figures(monkeypatch, capsys):
    from benchmarks import decompose
    from benchmarks.__main__ import measured

    def fall(*, quick):
        raise OSError(f"no space, quick={quick}")

    monkeypatch.setattr(decompose, "run", fall)
    figures, broke = measured("decompose", quick=True)
    assert broke
    assert {f.detail for f in figures} == {"not measured: OSError: no space, quick=True"}
    assert len(figures) == len(decompose.TARGETS)
    assert "no space" in capsys.readouterr().err


def test_every_figure_stands_on_the_page_with_its_target():
    from benchmarks.__main__ import TITLES, promised
    from benchmarks.page import RESULTS, kept, rows

    text = RESULTS.read_text()
    assert list(kept(text)) == list(TITLES.values())
    shown = rows(text)
    targets = [target for name in TITLES for target in promised(name)]
    assert sorted(shown) == sorted(target.name for target in targets)
    for target in targets:
        assert shown[target.name].split(" | ")[2] == str(target)


def test_a_run_of_some_leaves_the_other_sections():
    from benchmarks.figure import at_most, shown
    from benchmarks.page import HEADER, merged, rows, section

    old = [at_most("speed", 2).found(1.0, "old"), shown("gone").found(3.0, "old")]
    page = merged("", ["One", "Two"], {t: section(t, old, 0.5) for t in ("One", "Two")})
    fresh = section("Two", [at_most("pace", 2).found(2.5, "a | b")], 7.0)
    text = merged(page, ["One", "Two", "Three"], {"Two": fresh})
    assert text.startswith(HEADER)
    assert text.count("\n## ") == 2
    assert rows(text) == {
        "speed": "| speed | 1 | at most 2 | holds | old |",
        "gone": "| gone | 3 | - |  | old |",
        "pace": "| pace | 2.5 | at most 2 | MISSED | a \\| b |",
    }
    assert "load average 7.0" in text
    assert merged(text, ["One", "Two", "Three"], {}) == text


@pytest.mark.usefixtures("no_peers")
def test_a_peer_that_cannot_be_installed_gives_its_reason(monkeypatch):
    from benchmarks.peers import environment

    complaint = "import sys; sys.exit('ERROR: no matching distribution')"
    with pytest.raises(environment.NotInstalled, match=r"failed: ERROR: no matching distribution"):
        environment._fetch(sys.executable, "-c", complaint)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(environment.NotInstalled, match="npm is not on the path"):
        environment.promptfoo(install=True)


def test_a_peer_that_asks_too_little_is_not_measured():
    from benchmarks.peers import _rate

    def asks_nothing(port, calls):
        del port, calls

    with pytest.raises(ValueError, match="answered 0 requests where 10 were due"):
        _rate(asks_nothing, 10)
