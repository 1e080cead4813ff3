"""A changed name in the directory of an archive never loses a call or swaps repeats."""

import struct
import zipfile

import pytest

from judgelaw.errors import TableError
from judgelaw.tables.importers import Rules, import_log
from support.imports import FIXTURES

LOG = FIXTURES / "inspect-pairs.eval"
CENTRAL, LOCAL = b"PK\x01\x02", b"PK\x03\x04"


def calls(path):
    found = import_log("inspect", [path], rules=Rules(parser="first-line")).columns
    return sorted(zip(*found.values(), strict=True), key=str)


def names(data):
    """Return where each name stands, in the directory and before the entry."""
    found = []
    with zipfile.ZipFile(LOG) as archive:
        entries = archive.infolist()
    at = data.find(CENTRAL, max(entry.header_offset for entry in entries))
    for entry in entries:
        length, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        found.append((entry.filename, at + 46, entry.header_offset + 30))
        assert data[at + 46 : at + 46 + length].decode() == entry.filename
        at += 46 + length + extra + comment
    return found


def test_a_changed_letter_of_a_name_is_refused_or_changes_nothing(tmp_path):
    whole, path = LOG.read_bytes(), tmp_path / "log.eval"
    expected, refused = calls(LOG), 0
    for number, (name, central, _) in enumerate(names(whole)):
        for at in range(number % 5, len(name), 11):
            changed = bytearray(whole)
            changed[central + at] ^= 0x03
            path.write_bytes(changed)
            try:
                assert calls(path) == expected, (name, at)
            except TableError:
                refused += 1
    assert refused > 50


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("i1-plain-AB_epoch_1.json", "i1-plain-AB_epoch_2.json", "two entries are called"),
        ("i1-plain-AB_epoch_1.json", "i1-plain-AB_epoch_9.json", "says that it is of epoch 1"),
        ("samples/i1-plain-AB_epoch_1", "samplez/i1-plain-AB_epoch_1", "lists 1 sample that it"),
    ],
)
def test_a_name_changed_in_both_places_is_refused(tmp_path, old, new, words):
    whole, path = LOG.read_bytes(), tmp_path / "log.eval"
    assert whole.count(old.encode()) == 2
    path.write_bytes(whole.replace(old.encode(), new.encode()))
    with pytest.raises(TableError, match=words):
        calls(path)


def test_an_entry_under_another_name_than_its_own_is_refused(tmp_path):
    whole, path = bytearray(LOG.read_bytes()), tmp_path / "log.eval"
    places = {name: (central, local) for name, central, local in names(bytes(whole))}
    central, _ = places["samples/i1-plain-AB_epoch_1.json"]
    whole[central : central + 32] = b"samples/i9-plain-AB_epoch_1.json"
    path.write_bytes(whole)
    with pytest.raises(TableError, match="another name in the archive's directory"):
        calls(path)
