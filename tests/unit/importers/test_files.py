"""Damaged files are refused with their place; Zstandard is needed only where it is used."""

import gzip
import json
import sys
import zipfile

import pytest

from judgelaw.errors import MissingExtraError, TableError
from judgelaw.importers.files import Archive, read_json, read_json_lines
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
    assert list(read_json_lines(path, ignore)) == [(f"{path}:1", {"a": 1}), (f"{path}:3", {"a": 2})]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": 1}\n{"a": \n', ":2: no JSON"),
        (b"[1]\n", ":1: no JSON object"),
        (b'{"a": "\xff"}\n', "not UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path, content, words):
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(TableError, match=words):
        list(read_json_lines(path, ignore))


def test_a_bad_document_is_named_with_its_line(tmp_path):
    path = tmp_path / "log.json"
    path.write_text('{"a": 1,\n"b" 2}')
    with pytest.raises(TableError, match=r"log\.json:2: no JSON"):
        read_json(path, ignore)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(TableError, match="there is no such file"):
        read_json(tmp_path / "none.json", ignore)
    with pytest.raises(TableError, match="is a folder"):
        read_json(tmp_path, ignore)
    cut = tmp_path / "log.jsonl.gz"
    cut.write_bytes(gzip.compress(b'{"a": 1}\n' * 999)[:-20])
    with pytest.raises(TableError, match="damaged or cut"):
        list(read_json_lines(cut, ignore))
