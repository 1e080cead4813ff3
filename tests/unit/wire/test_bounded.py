"""Foreign parsers in a process of their own: bounded in time, and no worse for what they do."""

import json
import os
import random
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing

import psutil
import pytest

from judgelaw.errors import InputError, RunError
from judgelaw.wire import Completion, JudgeSpec, Reader, parse, try_pattern
from judgelaw.wire.bounded import BoundedParser, ParserTimeoutError
from judgelaw.wire.json_in_text import first_object

BACKTRACKS = r"^(A|B|A+)+$"
HOSTILE = "A" * 60 + "!"


def judge(parser) -> JudgeSpec:
    return JudgeSpec(name="j", provider="simulated", model="m", parser=parser)


def task(pattern: str) -> dict:
    return {"regex": pattern, "ignore_case": False, "named": True}


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """Install a parser that does what the text says."""
    (tmp_path / "odd_parser.py").write_text(
        textwrap.dedent("""
        import os, signal, sys, time
        def read(text):
            print("noise on stdout")
            if text == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if text == "raise":
                raise ZeroDivisionError("odd")
            if text == "swallow":
                while True:
                    try:
                        sum(range(1000))
                    except Exception:
                        pass
            if text == "sleep":
                time.sleep(600)
            return text.strip() or None
        """)
    )
    info = tmp_path / "odd_parser-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-parser\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[judgelaw.parsers]\nodd = odd_parser:read\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path[1:]]))
    monkeypatch.syspath_prepend(str(tmp_path))
    return judge("odd")


def own_children(before):
    """Return the processes that were started since; other tests may have left some of theirs."""
    return set(psutil.Process().children()) - before


def test_a_pattern_that_backtracks_runs_out_and_the_next_reply_is_read():
    before = set(psutil.Process().children())
    with Reader(judge({"regex": BACKTRACKS}), seconds=0.2) as reader:
        started = time.monotonic()
        hostile = reader.read(Completion(text=HOSTILE), "AB")
        assert time.monotonic() - started < 10
        assert (hostile.verdict, hostile.reason) == ("invalid", "parser timeout")
        (child,) = own_children(before)
        assert reader.read(Completion(text="B"), "AB").verdict == "candidate_2"
        assert own_children(before) == {child}
    assert not child.is_running()


@pytest.mark.parametrize(
    "parser",
    [
        {"regex": "verdict: (A|B)"},
        {"regex": "(x)?(?P<verdict>a|b)", "ignore_case": True},
        {"regex": "[AB]", "labels": {"A": "B", "B": "A"}},
        {"score": {"min": 1, "max": 5, "regex": "(?P<points>[0-9]) of (?P<verdict>[0-9])"}},
        {"json": "v"},
        "first-line",
    ],
)
def test_a_bounded_reading_is_the_reading(parser):
    texts = ["A", "b", "verdict: B", "xb", "3 of 5", '{"v": "A"}', "", "TIE\n", "7", "ünï\ud7ff"]
    for order in ("AB", "BA", "single"):
        with Reader(judge(parser)) as reader:
            for text in texts:
                said = Completion(text=text)
                assert reader.read(said, order) == parse(judge(parser), said, order)


def test_a_foreign_parser_is_read_and_its_noise_is_not(foreign):
    with Reader(foreign) as reader:
        assert reader.read(Completion(text=" B "), "AB").verdict == "candidate_2"


def test_a_foreign_parser_that_raises_says_so(foreign):
    with Reader(foreign) as reader:
        with pytest.raises(InputError, match="ZeroDivisionError: odd; the reply is kept"):
            reader.read(Completion(text="raise"), "AB")
        assert reader.read(Completion(text="A"), "AB").verdict == "candidate_1"


def test_a_foreign_parser_that_dies_is_started_again(foreign):
    with Reader(foreign) as reader:
        with pytest.raises(RunError, match="ended without an answer"):
            reader.read(Completion(text="die"), "AB")
        assert reader.read(Completion(text="A"), "AB").verdict == "candidate_1"


def test_no_parser_outlives_its_time_by_catching_everything(foreign):
    with Reader(foreign, seconds=0.2) as reader:
        assert reader.read(Completion(text="swallow"), "AB").reason == "parser timeout"


def test_a_parser_that_only_waits_runs_out_too(foreign, monkeypatch):
    with Reader(foreign) as reader:
        reader.read(Completion(text="A"), "AB")
        with monkeypatch.context() as hasty:
            hasty.setattr("judgelaw.wire.bounded._TICK_S", 0.02)
            assert reader.read(Completion(text="sleep"), "AB").reason == "parser timeout"
        assert reader.read(Completion(text="A"), "AB").verdict == "candidate_1"


def test_a_parser_at_work_is_ended_by_closing_it():
    before = set(psutil.Process().children())
    parser = BoundedParser(task(BACKTRACKS), seconds=60)
    ended = []

    def work():
        with pytest.raises(RunError):
            parser(HOSTILE)
        ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    while not own_children(before):
        time.sleep(0.01)
    time.sleep(0.2)
    parser.close()
    thread.join(10)
    assert ended
    assert not own_children(before)


def test_a_killed_reader_leaves_no_process_behind():
    code = f"""
        import os, threading, time
        from judgelaw.wire.bounded import BoundedParser
        parser = BoundedParser({task(BACKTRACKS)!r}, seconds=0.5)
        parser("A")
        print(parser._process.pid, flush=True)
        threading.Thread(target=parser, args=({HOSTILE!r},), daemon=True).start()
        time.sleep(0.2)
        os.kill(os.getpid(), 9)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    child, until = int(done.stdout), time.monotonic() + 20
    while at_work(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert not at_work(child)


def at_work(pid: int) -> bool:
    """Say whether there is such a process; one that has ended may wait for long to be missed."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_long_answer_comes_back_whole():
    text = "ü" * 300_000 + "\n"
    with closing(BoundedParser(task("(?s).*"))) as parser:
        assert parser(text) == text


def test_a_parser_that_is_not_installed_there_says_so():
    with closing(BoundedParser({"group": "judgelaw.parsers", "name": "nobody"})) as parser:
        for _ in range(2):
            with pytest.raises(InputError, match="the parser raised ValueError"):
                parser("A")


def test_a_text_that_is_read_in_time_is_not_timed():
    with closing(BoundedParser(task("(A)|^(?:B+)+$"), seconds=0.05)) as parser:
        for _ in range(200):
            assert parser("BA") == "A"
        with pytest.raises(ParserTimeoutError):
            parser("B" * 60 + "!")


def slow_first_object(text: str):
    """Decode from every brace on: what the parser means, in quadratic time."""
    decoder, start = json.JSONDecoder(), text.find("{")
    while start != -1:
        try:
            return decoder.raw_decode(text, start)[0]
        except ValueError:
            start = text.find("{", start + 1)
    return None


PIECES = [
    *('{"a":', '{"b":1}', '"a":', "true", "null", "NaN", "-Infinity", "u0041", '\\"', "1e5", "{}"),
    *'{}"a:[],10.-e\\nu \n\t\x01é',
]


def test_the_first_json_object_is_the_one_that_decodes_first():
    chance = random.Random(20261116)
    found = 0
    for _ in range(60_000):
        text = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 24)))
        expected = slow_first_object(text)
        assert repr(first_object(text)) == repr(expected), text
        found += expected is not None
    assert found > 1_000


@pytest.mark.parametrize(
    "piece", ["{", '{"', '{"a":', '{"a":[', '{"{', '{"a":"{\\"', "{ ", '{"a":{"b":1,']
)
def test_braces_that_begin_nothing_are_read_in_linear_time(piece):
    """Three times what a reply shows; decoding from every brace on takes a quarter of a minute."""
    started = time.process_time()
    assert first_object(piece * (300_000 // len(piece))) is None
    assert time.process_time() - started < 3


def test_json_that_is_nested_for_ever_costs_nothing():
    deep = '{"a":' * 16_000 + "1" + "}" * 16_000
    started = time.process_time()
    assert isinstance(first_object(deep), dict)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", r"(\w+\s?)+$", r"verdict: (\w*\s*)*!", "(.*)*x", "(x+x+)+y"]
)
def test_a_pattern_that_backtracks_for_ever_is_refused(pattern, monkeypatch):
    monkeypatch.setattr("judgelaw.wire.bounded.SECONDS", 0.2)  # it takes years
    tried = try_pattern(judge({"regex": pattern}))
    assert tried.refused
    assert "it backtracks" in tried.words


def test_a_pattern_that_is_slow_on_long_replies_is_named(monkeypatch):
    # The longest of the short replies takes a twentieth of a second, the long one a minute.
    monkeypatch.setattr("judgelaw.wire.bounded.SECONDS", 0.5)
    tried = try_pattern(judge({"regex": r"(\w+)\s*:"}))
    assert not tried.refused
    assert "100,000 characters" in tried.words


@pytest.mark.parametrize(
    "parser",
    [
        {"regex": r"\b(A|B|TIE)\b"},
        {"regex": r'"verdict"\s*:\s*"(A|B|TIE)"'},
        {"regex": r"(?i)final answer:\s*\**([AB])\**"},
        {"regex": r"\[\[([ABC])\]\]"},
        {"regex": r"<answer>(.*?)</answer>"},
        {"score": {"min": 1, "max": 5, "regex": "rating: ([0-9])"}},
        {"json": "verdict"},
        "first-line",
    ],
)
def test_ordinary_patterns_are_nobodys_business(parser):
    assert try_pattern(judge(parser)) is None
