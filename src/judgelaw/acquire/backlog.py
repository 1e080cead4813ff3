"""Replies that are read and not yet durable: bounded, so that a kill can lose only a few."""

from collections.abc import Sequence

from judgelaw.ledger import Completed, Ending, Read, Record

_MOST_BYTES = 128 * 2**20


class Backlog:
    """Counts what was recorded and not yet written."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._endings = 0
        self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether nothing more should be asked for until something is written."""
        return self._endings >= self._most or self._bytes >= _MOST_BYTES

    def add(self, ending: Ending) -> None:
        """Count an ending that was recorded."""
        self._endings += 1
        self._bytes += _size(ending)

    def durable(self, records: Sequence[Record]) -> None:
        """Count off what has been written; verdicts can be had again, so nobody counts them."""
        endings = [record for record in records if not isinstance(record, Read)]
        self._endings -= len(endings)
        self._bytes -= sum(map(_size, endings))


def _size(ending: Ending) -> int:
    return len(ending.body) if isinstance(ending, Completed) else 0
