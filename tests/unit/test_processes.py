"""Processes that share the work of a large run: the same outcome, and gone when the command is."""

import os
import re
import subprocess
import sys
import time
from functools import partial
from multiprocessing import active_children
from unittest.mock import patch

import pytest
import vl_convert

from judgelaw import processes as module
from judgelaw.analysis import analyze
from judgelaw.page.drawing import draw, start_drawing
from judgelaw.page.export import drawn as exported
from judgelaw.page.forest import Mark, forest
from judgelaw.processes import begin, begin_each, processes, shared
from judgelaw.worlds import World

MANY = 10**6


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(module, "_cores", lambda: 2)


MARK = Mark(
    name="prompt", value=0.01, ring=0.03, band=(-0.01, 0.02), line=(0.005, 0.015),
    text="0.0100", label="prompt: 0.0100",
)  # fmt: skip


def figure(width: int) -> dict:
    return forest([MARK], width=width, title="estimate")


def drawn() -> list[str]:
    pictures = [draw(figure(width), label="x") for width in (680, 330)]
    return [re.sub(r"c\d+-", "", picture.markup) for picture in pictures]


def analysed() -> dict:
    world = World.from_effects(prompt=0.02, order=0.02, interaction=0.01)
    tensors = {
        (None, f"judge {n}"): world.tensor(items=20, prompts=3, orders=2, repeats=4, seed=n)
        for n in (1, 2, 3)
    }
    return analyze(tensors, draws=200, permutations=99).to_json()


def test_what_processes_share_comes_out_the_same():
    pictures, analysis = drawn(), analysed()
    with processes(2, calls=MANY):
        start_drawing()
        with (
            patch("vl_convert.vegalite_to_svg", side_effect=AssertionError("drawn here")),
            patch(
                "judgelaw.analysis.judge_analysis.permutation_test",
                side_effect=AssertionError("shuffled here"),
            ),
        ):
            assert drawn() == pictures
            assert analysed() == analysis
        for process in active_children():
            process.kill()
            process.join()
        assert drawn() == pictures, "drawn here instead"
        assert analysed() == analysis, "shuffled here instead"
    assert not shared()


@pytest.mark.parametrize("extension", ["svg", "png"])
def test_a_picture_comes_out_the_same_each_time(extension):
    """Not one that tests keep: the engine draws it twice."""
    draw_it = getattr(vl_convert, f"vegalite_to_{extension}").__wrapped__
    with patch(f"vl_convert.vegalite_to_{extension}", draw_it):
        first, second = (exported(figure(330), extension) for _ in range(2))
    assert first == second


def test_work_under_way_does_not_hold_up_the_end_of_a_command():
    with processes(1, calls=MANY):
        begin(time.sleep, 60)
        (process,) = active_children()
    # The pool waits for its process too: for a moment only one of the two knows that it ended.
    until = time.monotonic() + 10
    while process.is_alive() and time.monotonic() < until:
        time.sleep(0.02)
    assert not process.is_alive()


def test_errors_of_shared_work_are_the_ones_that_it_raises_here():
    with processes(1, calls=MANY):
        outcome = begin(int, "none")
        with pytest.raises(ValueError, match="'none'"):
            outcome()


def test_what_no_process_has_begun_is_done_here_and_each_thing_once(tmp_path):
    begun = tmp_path / "begun"
    works = [*[partial(str, n) for n in range(29)], begun.touch]
    done_here = []

    def here(number):
        until = time.monotonic() + 60
        while not begun.exists() and time.monotonic() < until:
            time.sleep(0.01)
        done_here.append(number)
        return f"{number} here"

    with processes(1, calls=MANY):
        found = dict(begin_each(works)(here))
        assert sorted(found) == list(range(30))
        assert done_here[0] == 0, "who asks always has something to do"
        assert 29 not in done_here, "the process begins with the last"
        assert [found[n] for n in done_here] == [f"{n} here" for n in done_here]
        assert all(found[n] == str(n) for n in range(29) if n not in done_here)
    done_here.clear()
    assert [n for n, _ in begin_each(works)(here)] == done_here == list(range(30))


COPIED = """
import sys, threading
from judgelaw import processes as module
module._cores = lambda: 2
{}
sys.modules["only a copy has this"] = sys
with module.processes(2, needs=["judgelaw.decide"]):
    print(module.begin(eval, "'only a copy has this' in __import__('sys').modules")())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux copies a process")
@pytest.mark.parametrize(
    ("before", "copied"),
    [
        ("", "True"),
        ("threading.Thread(target=threading.Event().wait, daemon=True).start()", "False"),
        # Its threads are its own, and Python does not count them.
        ("import vl_convert; vl_convert.vegalite_to_svg({'mark': 'point'})", "False"),
    ],
)
def test_a_process_is_copied_with_what_it_has_loaded_unless_it_has_threads(before, copied):
    one = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", COPIED.format(before)]
    done = subprocess.run(command, env=one, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [copied]


def test_commands_keep_linear_algebra_in_one_thread_so_that_they_can_be_copied():
    watch = (
        "import os, sys; from judgelaw.cli import main\n"
        "try: main(['report', 'nowhere.csv'])\n"
        "except SystemExit: pass\n"
        "print('numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS'])"
    )
    free = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", watch], env=free, capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["True", "1"]


@pytest.mark.parametrize(("calls", "cores"), [(10, 2), (MANY, 1)])
def test_few_calls_and_a_single_core_start_no_process(calls, cores, monkeypatch):
    monkeypatch.setattr(module, "_cores", lambda: cores)
    with processes(1, calls=calls):
        assert not shared()
        assert begin(int, "7")() == 7
