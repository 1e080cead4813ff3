"""Whatever comes from outside ends as a value or as an error of ours.

`make test` replays the corpus and seeded mutations of it, the same on every machine. `make
calibrate` lets a coverage-guided fuzzer look for half an hour.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fuzz.mutations import mutations
from fuzz.targets import CORPUS, TARGETS, attempt

HALF_AN_HOUR_S = 1_800
SEED = 20261116

pytestmark = [
    # What a user's own pattern or anchor makes Python and ruamel warn of is no fault of ours.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ruamel.yaml.error.ReusedAnchorWarning"),
]


def corpus(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def tried(name: str, data: bytes) -> None:
    """Run one case, and show the input of one that fails."""
    try:
        attempt(TARGETS[name], data)
    except Exception:
        print(f"target {name}, input {data!r}")
        raise


def test_every_target_has_a_corpus_and_every_corpus_a_target():
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)


def test_the_same_seed_gives_the_same_cases():
    def cases(seed):
        return list(mutations(corpus("reply"), (b"x",), seed=seed, count=50))

    assert cases(1) == cases(1) != cases(2)


def test_a_foreign_error_is_a_finding():
    target = TARGETS["reply"].__class__(run=lambda _: {}["x"], words=(), replays=0)
    with pytest.raises(KeyError):
        attempt(target, b"")


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_and_its_mutations_give_values_or_errors_of_ours(name):
    known = corpus(name)
    for data in known:
        tried(name, data)
    target = TARGETS[name]
    for data in mutations(known, target.words, seed=SEED, count=target.replays):
        tried(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_a_guided_search_finds_nothing_else(name, tmp_path):
    seconds = HALF_AN_HOUR_S // len(TARGETS)
    try:
        import atheris  # noqa: F401 - asked whether it is there
    except ImportError:  # it has wheels for Linux on x86-64 only
        unguided(name, seconds)
        return
    search = subprocess.run(
        [sys.executable, Path(__file__).with_name("guided.py"), name, *options(tmp_path, seconds)],
        env=surroundings(tmp_path),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=seconds + 300,
    )
    done = re.search(r"Done (\d+) runs", search.stderr)
    assert search.returncode == 0, f"{search.stderr[-4000:]}\n{findings(tmp_path)}"
    assert done is not None, search.stderr[-4000:]
    print(f"{name}: {done[1]} cases in {seconds} s")


def surroundings(folder: Path) -> dict[str, str]:
    """Let the search import what tests share, warn of a user's own pattern, and leave no files.

    libFuzzer ends its process without tidying up, so what it writes goes where pytest tidies.
    """
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), *known]))
    quiet = {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore", "TMPDIR": str(folder)}
    return {**os.environ, **quiet}


def options(folder: Path, seconds: int) -> list[str]:
    (folder / "found").mkdir()
    limits = ["-timeout=20", "-rss_limit_mb=4096", "-max_len=16384"]
    return [
        *limits,
        f"-max_total_time={seconds}",
        f"-artifact_prefix={folder}/",
        str(folder / "found"),
    ]


def findings(folder: Path) -> str:
    return "\n".join(f"{path.name}: {path.read_bytes()!r}" for path in folder.glob("*-*"))


def unguided(name: str, seconds: int) -> None:
    """Search by mutation alone where no coverage-guided fuzzer can be installed."""
    end, seed = time.monotonic() + seconds, SEED
    while time.monotonic() < end:
        seed += 1
        for data in mutations(corpus(name), TARGETS[name].words, seed=seed, count=100):
            tried(name, data)
