"""Label books under seeds: what was acknowledged is in the file, and on the disk.

Others edit the files at any moment, the disk refuses, takes part of a write or fails to sync, and
the process is killed or loses power. A seed that breaks a promise is printed with its replay.
"""

import os
from contextlib import closing

import pytest

from judgelaw.live import LabelBook, label_book
from simulation.labels import label_worlds, play_labels

FAST = range(150)
SLOW = range(1_000, 7_000)
SHARDS = 4
WITHIN = 300
"""A planted bug is found within so many seeds."""


def test_label_books_keep_what_they_acknowledged():
    worlds = [world for _, world in label_worlds(FAST) if world.run() == []]
    assert len(worlds) == len(FAST)
    assert sum(world.acknowledged for world in worlds) > 1_000
    assert sum(world.edits for world in worlds) > 30
    assert sum(world.refusals for world in worlds) > 100


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_label_books_keep_what_they_acknowledged_over_thousands_of_seeds(shard):
    assert play_labels(SLOW[shard::SHARDS]) == {}


def the_file_is_not_looked_at(patch):
    patch.setattr(label_book._Held, "_is_at_path", lambda held: held._fd >= 0)


def the_file_is_not_read_back(patch):
    settle = LabelBook._settle

    def once(book):
        book._journal.look()
        content = book._file.read()
        if content is None or book._in_doubt:
            settle(book)
        else:
            book._bring_together(content, *book._understood(content))

    patch.setattr(LabelBook, "_settle", once)


def a_short_write_is_a_whole_one(patch):
    patch.setattr(label_book, "write_all", os.write)


def nothing_is_synced(patch):
    def append(held, before, more):
        with label_book.writing(held.path):
            label_book.write_all(held._fd, more)
        held.content = before + more

    patch.setattr(label_book._Held, "append", append)


def there_is_no_journal(patch):
    look = label_book._Journal.look

    def empty(journal):
        if journal.is_open:
            look(journal)
        else:
            journal._file.read()
            journal._file.replace(b"")

    patch.setattr(label_book._Journal, "look", empty)


@pytest.mark.parametrize(
    "plant",
    [
        the_file_is_not_looked_at,
        the_file_is_not_read_back,
        a_short_write_is_a_whole_one,
        nothing_is_synced,
        there_is_no_journal,
    ],
)
def test_a_planted_bug_is_found(plant, monkeypatch):
    plant(monkeypatch)
    with closing(label_worlds(range(WITHIN))) as worlds:
        assert any(world.run() for _, world in worlds)
