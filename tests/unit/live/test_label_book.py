"""Labels on the disk: each is there before anybody hears of it, whatever ends the process."""

import csv
import os
import signal
import subprocess
import sys

import pytest

from judgelaw.errors import InputError, RunLockedError
from judgelaw.live import LabelBook
from support.reports import HOSTILE


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_label_is_a_row_that_any_reader_of_csv_reads(tmp_path):
    path = tmp_path / "labels.csv"
    with LabelBook(path, now=lambda: 0.0) as book:
        book.add(item="i,1", label="pass", labeller='ann "a"', note="a, b")
        book.add(item="i2", label="", labeller="bob")
    assert rows(path) == [
        {
            "item": "i,1",
            "label": "pass",
            "labeller": 'ann "a"',
            "note": "a, b",
            "time": "1970-01-01T00:00:00Z",
        },
        {
            "item": "i2",
            "label": "",
            "labeller": "bob",
            "note": "",
            "time": "1970-01-01T00:00:00Z",
        },
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_an_item_is_called_comes_back(tmp_path, text):
    path = tmp_path / "labels.csv"
    with LabelBook(path) as book:
        book.add(item=text, label="pass", labeller="ann")
    with LabelBook(path) as book:
        (row,) = book.labels
    assert row.item == text.replace("\ud800", "\ufffd")


def test_it_goes_on_where_it_stopped_and_labels_an_item_once(tmp_path):
    path = tmp_path / "labels.csv"
    with LabelBook(path) as book:
        book.add(item="a", label="pass", labeller="ann")
    with LabelBook(path) as book:
        assert set(book.of("ann")) == {"a"}
        assert book.of("bob") == {}
        book.add(item="a", label="fail", labeller="bob")
        with pytest.raises(InputError, match="item 'a' has a label by ann"):
            book.add(item="a", label="fail", labeller="ann")
    assert [row["label"] for row in rows(path)] == ["pass", "fail"]


def test_undo_takes_back_the_last_label_of_that_person_only(tmp_path):
    path = tmp_path / "labels.csv"
    with LabelBook(path) as book:
        for item, who in (("a", "ann"), ("b", "ann"), ("a", "bob")):
            book.add(item=item, label="pass", labeller=who)
        assert book.undo("ann").item == "b"
        assert book.undo("carl") is None
        book.add(item="c", label="fail", labeller="ann")
        assert book.undo("ann").item == "c"
    assert [(row["item"], row["labeller"]) for row in rows(path)] == [("a", "ann"), ("a", "bob")]


def test_one_process_writes_at_a_time_also_after_an_undo(tmp_path):
    path = tmp_path / "labels.csv"
    with LabelBook(path) as book:
        with pytest.raises(RunLockedError, match="written by another"):
            LabelBook(path)
        book.add(item="a", label="pass", labeller="ann")
        book.undo("ann")
        with pytest.raises(RunLockedError, match="written by another"):
            LabelBook(path)
    LabelBook(path).close()


def test_a_line_that_a_power_loss_cut_is_dropped_and_said(tmp_path):
    path = tmp_path / "labels.csv"
    with LabelBook(path) as book:
        book.add(item="a", label="pass", labeller="ann")
    whole = path.read_bytes()
    path.write_bytes(whole + b"b,fa")
    with LabelBook(path) as book:
        assert book.said == [f"{path}: its last line was cut off and is dropped: b,fa"]
        assert set(book.of("ann")) == {"a"}
        book.add(item="b", label="fail", labeller="ann")
    assert [row["item"] for row in rows(path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n1,2\n", "its first line is a, b"),
        (b"item,label,labeller,note,time\na,b\n", "row 2 has 2 fields"),
        (b"", "its first line is nothing"),
    ],
)
def test_another_file_is_refused_and_left_alone(tmp_path, content, said):
    path = tmp_path / "labels.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        LabelBook(path)
    assert path.read_bytes() == content


def test_what_was_written_survives_a_kill(tmp_path):
    path = tmp_path / "labels.csv"
    code = (
        "import sys; from pathlib import Path; from judgelaw.live import LabelBook\n"
        "book = LabelBook(Path(sys.argv[1]))\n"
        "for n in range(100_000):\n"
        "    book.add(item=str(n), label='pass', labeller='ann'); print(n, flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in range(25):
            said = process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read().split()
    last = int(rest[-1] if rest else said)
    with LabelBook(path) as book:
        assert len(book.labels) >= last + 1
        assert [row.item for row in book.labels] == [str(n) for n in range(len(book.labels))]
