"""Labels on the disk: each is there before anybody hears of it, whatever ends the process."""

import csv
import errno
import os
import signal
import subprocess
import sys

import pytest

from judgelaw.errors import InputError, RunLockedError, StorageError
from judgelaw.live import LabelBook
from support.reports import HOSTILE


def rows(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
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


EDITS = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "cut in a row": lambda path: os.truncate(path, path.stat().st_size - 30),
    "a row out": lambda path: renamed(path, b"".join(path.read_bytes().splitlines(True)[:-1])),
    "an old copy": lambda path: renamed(path, b"item,label,labeller,note,time\n"),
    "the same once more": lambda path: renamed(path, path.read_bytes()),
    "by a spreadsheet": lambda path: renamed(
        path, b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n")
    ),
    "in place": lambda path: path.write_bytes(b"item,label,labeller,note,time\n"),
    "with semicolons": lambda path: renamed(path, path.read_bytes().replace(b",", b";")),
    "no CSV": lambda path: renamed(path, b"\xff\x00\n"),
    "a hole": lambda path: renamed(path, bytes(100) + b"\n"),
}


def renamed(path, content):
    """Write a file as most programs do: another file takes its name."""
    other = path.with_name("saving")
    other.write_bytes(content)
    other.replace(path)


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("when", ["open", "closed"])
def test_whatever_others_do_to_the_file_every_label_is_in_it(tmp_path, edit, when):
    path = tmp_path / "labels.csv"
    with LabelBook(path) as book:
        book.add(item="a", label="pass", labeller="ann", note="a, \r=b")
        book.add(item="b", label="fail", labeller="ann")
        if when == "open":
            EDITS[edit](path)
            book.add(item="c", label="pass", labeller="bob")
            assert [row["item"] for row in rows(path)] == ["a", "b", "c"]
    if when == "closed":
        EDITS[edit](path)
    with LabelBook(path) as book:
        assert {row.item: row.label for row in book.labels}.items() >= {
            "a": "pass",
            "b": "fail",
        }.items()
        book.undo("ann")
    assert "b" not in {row["item"] for row in rows(path)}


def test_what_others_wrote_is_kept_too_and_both_are_said(tmp_path):
    path = tmp_path / "labels.csv"
    with LabelBook(path, now=lambda: 0.0) as book:
        book.add(item="a", label="pass", labeller="ann")
        book.add(item="b", label="pass", labeller="ann")
        old = path.read_bytes()
        book.undo("ann")
        book.add(item="c", label="pass", labeller="ann")
        renamed(path, old.replace(b"a,pass", b"a,fail") + b"d,pass,carl,,")
        book.add(item="e", label="pass", labeller="ann")
        found = [(row["item"], row["label"]) for row in rows(path)]
        assert found == [("a", "fail"), ("d", "pass"), ("c", "pass"), ("e", "pass")]
        lost, changed, new = (words.removeprefix(f"{path}: ") for words in book.said)
        assert lost.startswith("put back 1 label that it no longer had")
        assert changed.startswith("1 label changed by another program: the file counts")
        assert new == "took over 1 label that another program wrote there"
    assert b'"given", "a", "pass", "ann"' in path.with_name("labels.csv.journal").read_bytes()


def test_a_file_that_others_broke_is_kept_under_another_name(tmp_path):
    path = tmp_path / "labels.csv"
    with LabelBook(path) as book:
        book.add(item="a", label="pass", labeller="ann")
        renamed(path, b"my;own;table\n")
        book.add(item="b", label="pass", labeller="ann")
        assert "it is kept as labels.csv.unreadable-" in book.said[0]
    assert [row["item"] for row in rows(path)] == ["a", "b"]
    (aside,) = tmp_path.glob("labels.csv.unreadable-*")
    assert aside.read_bytes() == b"my;own;table\n"


def test_a_journal_that_is_lost_or_cut_is_written_again(tmp_path):
    path, journal = tmp_path / "labels.csv", tmp_path / "labels.csv.journal"
    with LabelBook(path) as book:
        for n, harm in enumerate((journal.unlink, lambda: os.truncate(journal, 9))):
            book.add(item=f"a{n}", label="pass", labeller="ann")
            harm()
            book.add(item=f"b{n}", label="pass", labeller="ann")
    path.unlink()
    with LabelBook(path) as book:
        assert set(book.of("ann")) == {"a0", "a1", "b0", "b1"}


def test_a_file_of_an_earlier_version_goes_on(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,label,labeller,note,time\na,pass,ann,,2026-11-16T00:00:00Z")
    with LabelBook(path) as book:
        assert book.said == []
        assert set(book.of("ann")) == {"a"}
        book.add(item="b", label="pass", labeller="ann")
    assert [row["item"] for row in rows(path)] == ["a", "b"]


def test_a_disk_that_is_full_loses_nothing_and_takes_the_label_later(tmp_path, monkeypatch):
    path = tmp_path / "labels.csv"
    with LabelBook(path) as book:
        book.add(item="a", label="pass", labeller="ann")
        before = [p.read_bytes() for p in (path, tmp_path / "labels.csv.journal")]
        write = os.write
        with monkeypatch.context() as full:
            full.setattr(os, "write", lambda fd, content: refuse(fd, bytes(content), write))
            with pytest.raises(StorageError, match="No space left"):
                book.add(item="b", label="pass", labeller="ann")
        assert [p.read_bytes() for p in (path, tmp_path / "labels.csv.journal")] == before
        book.add(item="b", label="pass", labeller="ann")
    assert [row["item"] for row in rows(path)] == ["a", "b"]


def refuse(fd, content, write):
    """Take some of it, then no more."""
    if len(content) < 20:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return write(fd, content[:20])


def test_a_label_that_is_sent_twice_counts_once_and_an_undo_too(tmp_path):
    path = tmp_path / "labels.csv"
    with LabelBook(path) as book:
        first = book.add(item="a", label="pass", labeller="ann")
        assert book.add(item="a", label="pass", labeller="ann") == first
        book.add(item="b", label="pass", labeller="ann")
        assert book.undo("ann", "b").item == "b"
        assert book.undo("ann", "b") is None
    assert [row["item"] for row in rows(path)] == ["a"]


@pytest.mark.parametrize("text", ["=1+1", "'=1", "+cmd|' /C calc'!A0", "@x", "-1", "-x", "\tx"])
def test_no_spreadsheet_runs_a_text_and_none_changes_when_it_is_read_back(tmp_path, text):
    path = tmp_path / "labels.csv"
    with LabelBook(path) as book:
        book.add(item=text, label="pass", labeller=text, note=text)
    (row,) = rows(path)
    assert row["item"] == row["note"] == row["labeller"]
    assert row["item"] == "-1" or row["item"].startswith("'")
    for _ in range(2):
        with LabelBook(path) as book:
            (label,) = book.labels
            assert (label.item, label.labeller, label.note) == (text, text, text)
        path.with_name("labels.csv.journal").unlink()


def test_a_link_of_ones_own_is_followed_and_one_of_another_user_is_not(tmp_path, monkeypatch):
    path, target = tmp_path / "labels.csv", tmp_path / "elsewhere.csv"
    path.symlink_to(target.name)
    with LabelBook(path) as book:
        book.add(item="a", label="pass", labeller="ann")
        book.undo("ann")
    assert path.is_symlink()
    assert target.is_file()
    monkeypatch.setattr(os, "geteuid", lambda: path.lstat().st_uid + 1)
    with pytest.raises(InputError, match="a link of another user"):
        LabelBook(path)
