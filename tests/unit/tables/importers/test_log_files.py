"""Damaged files are refused with their place; Zstandard is needed only where it is used."""

import gzip
import json
import sys
import tracemalloc
import zipfile

import pytest

from judgelaw.errors import InputError, MissingExtraError, TableError
from judgelaw.record_files import csv_rows, json_document, json_lines
from judgelaw.tables.importers.log_files import Archive
from support.imports import FIXTURES

LOG = FIXTURES / "inspect-pairs.eval"


def ignore(_):
    """Count no bytes."""


def test_entries_of_a_real_log_are_compressed_by_zstandard_and_read():
    with zipfile.ZipFile(LOG) as archive:
        assert {entry.compress_type for entry in archive.infolist()} == {93}
    read = []
    header = Archive(LOG).read_json("header.json", read.append)
    assert header["eval"]["model"] == "openai-api/local/judge-1"
    assert sum(read) > 0


def test_other_compressions_are_read_as_well(tmp_path):
    path = tmp_path / "log.eval"
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("header.json", json.dumps({"x": [1] * 50}))
        assert Archive(path).read_json("header.json", ignore) == {"x": [1] * 50}


def test_without_zstandard_the_message_names_the_one_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'judgelaw\[import\]'"):
        Archive(LOG).read_json("header.json", ignore)


def test_every_damaged_byte_of_an_entry_is_seen(tmp_path):
    whole = LOG.read_bytes()
    with zipfile.ZipFile(LOG) as archive:
        entry = archive.getinfo("header.json")
    start = entry.header_offset + 30 + len("header.json")
    path = tmp_path / "log.eval"
    for at in range(start, start + entry.compress_size, 61):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with pytest.raises(TableError, match=r"log\.eval"):
            Archive(path).read_json("header.json", ignore)


def test_a_cut_archive_is_refused(tmp_path):
    path = tmp_path / "log.eval"
    path.write_bytes(LOG.read_bytes()[:5000])
    with pytest.raises(TableError, match="damaged or cut"):
        Archive(path)


def test_json_lines_count_their_lines_and_may_be_gzipped(tmp_path):
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n\n{"a": 2}\n'))
    assert list(json_lines(path, ignore)) == [(f"{path}:1", {"a": 1}), (f"{path}:3", {"a": 2})]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": 1}\n{"a": \n', ":2: no JSON"),
        (b"[1]\n", ":1: a JSON list is no object"),
        (b'{"a": "\xff"}\n', "not UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path, content, words):
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(TableError, match=words):
        list(json_lines(path, ignore))


def test_a_bad_document_is_named_with_its_line(tmp_path):
    path = tmp_path / "log.json"
    path.write_text('{"a": 1,\n"b" 2}')
    with pytest.raises(TableError, match=r"log\.json:2: no JSON"):
        json_document(path, ignore)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(TableError, match="there is no such file"):
        json_document(tmp_path / "none.json", ignore)
    with pytest.raises(TableError, match="is a folder"):
        json_document(tmp_path, ignore)
    cut = tmp_path / "log.jsonl.gz"
    cut.write_bytes(gzip.compress(b'{"a": 1}\n' * 999)[:-20])
    with pytest.raises(TableError, match="damaged or cut"):
        list(json_lines(cut, ignore))


def zipped(path, entries, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def patched(path, signature, offset, value):
    """Change one byte of the first record that starts with the signature."""
    data = bytearray(path.read_bytes())
    data[data.find(signature) + offset] = value
    path.write_bytes(data)
    return path


CENTRAL, LOCAL = b"PK\x01\x02", b"PK\x03\x04"


@pytest.mark.parametrize(
    ("offset", "value", "words"),
    [
        (6, 99, "zip file version 9.9"),
        (8, 1, "it is encrypted"),
        (10, 77, "compression method 77"),
        (10, zipfile.ZIP_BZIP2, "compression method 12"),
    ],
    ids=["version", "encryption", "method", "bzip2"],
)
def test_an_archive_of_an_unknown_kind_is_refused_in_words(tmp_path, offset, value, words):
    path = patched(zipped(tmp_path / "log.eval", {"header.json": "{}"}), CENTRAL, offset, value)
    with pytest.raises(TableError, match=rf"log\.eval.*cannot be unpacked \({words}"):
        Archive(path).read_json("header.json", ignore)


def test_an_entry_that_is_too_large_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("judgelaw.record_files.LARGEST_PIECE", 1000)
    path = zipped(tmp_path / "log.eval", {"a.json": json.dumps("x" * 998), "b.json": "[" * 1001})
    assert len(Archive(path).read_json("a.json", ignore)) == 998
    with pytest.raises(TableError, match=r"log\.eval!b\.json: more than 1000 bytes"):
        Archive(path).read_json("b.json", ignore)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, 93])
def test_an_entry_that_unpacks_to_a_thousandfold_is_refused(tmp_path, method, monkeypatch):
    monkeypatch.setattr("judgelaw.record_files.ALWAYS", 2**20)
    path = tmp_path / "log.eval"
    if method == zipfile.ZIP_DEFLATED:
        zipped(path, {"a.json": json.dumps("x" * 2**21)})
    else:
        path.write_bytes(LOG.read_bytes())
        # The directory says that the packed bytes become two megabytes.
        patched(path, CENTRAL, 26, 0x20)
    name = Archive(path).names[0]
    with pytest.raises(TableError, match=r"unpack to more than \d+ .*_MOST_UNPACKED=20GB"):
        Archive(path).read_json(name, ignore)


def test_a_directory_that_lies_about_sizes_does_not_unpack_more_than_it_says(tmp_path):
    path = zipped(tmp_path / "log.eval", {"a.json": "[" + "1," * 400_000 + "1]"})
    for signature, offset in ((CENTRAL, 24), (LOCAL, 22)):
        data = bytearray(path.read_bytes())
        start = data.find(signature) + offset
        data[start : start + 4] = (100).to_bytes(4, "little")
        path.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(TableError, match=r"log\.eval"):
        Archive(path).read_json("a.json", ignore)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400_000


def test_a_piece_with_too_many_values_is_refused_before_they_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr("judgelaw.record_files.MOST_MARKS", 100)
    path = zipped(tmp_path / "log.eval", {"a.json": json.dumps([{}] * 99)})
    with pytest.raises(TableError, match=r"a\.json: more than 100 values"):
        Archive(path).read_json("a.json", ignore)
    lines = tmp_path / "log.jsonl"
    lines.write_text(json.dumps({"a": [0] * 99}) + "\n")
    assert len(list(json_lines(lines, ignore))) == 1
    lines.write_text(json.dumps({"a": [[]] * 99}) + "\n")
    with pytest.raises(TableError, match=r"log\.jsonl:1: more than 100 values"):
        list(json_lines(lines, ignore))


def test_a_line_that_is_too_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("judgelaw.record_files.LARGEST_PIECE", 50)
    path = tmp_path / "log.jsonl"
    path.write_text('{"a": 1}\n' + json.dumps({"a": "x" * 50}) + "\n")
    with pytest.raises(TableError, match=r"log\.jsonl:2: more than 50 bytes"):
        list(json_lines(path, ignore))


@pytest.mark.parametrize("name", ["log.jsonl.gz", "log.json.gz", "log.csv.gz"])
def test_a_gzip_file_that_grows_without_measure_is_refused(tmp_path, name, monkeypatch):
    monkeypatch.setattr("judgelaw.record_files.ALWAYS", 2**20)
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"a" * 8_000_000))
    read = {"log.jsonl.gz": json_lines, "log.json.gz": json_document}.get(name, csv_rows)
    with pytest.raises(TableError, match=r"unpack to more than \d+ .*_MOST_UNPACKED=20GB"):
        list(read(path, ignore))
    monkeypatch.setenv("JUDGELAW_MOST_UNPACKED", "1 GB")
    if name == "log.csv.gz":
        assert list(read(path, ignore)) == []  # a header of eight million letters, and no row
    else:
        with pytest.raises(TableError, match="no JSON"):
            list(read(path, ignore))
    monkeypatch.setenv("JUDGELAW_MOST_UNPACKED", "much")
    with pytest.raises(InputError, match=r"JUDGELAW_MOST_UNPACKED='much' is no size"):
        list(read(path, ignore))
