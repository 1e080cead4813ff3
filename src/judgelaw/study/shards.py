"""Shards: slices of one frozen manifest, each asked into a ledger of its own.

A shard holds whole items, so that no cell is split, and takes its share of what is limited.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Self, TypeVar

from judgelaw.errors import InputError
from judgelaw.study.models import Budget, Transport

T = TypeVar("T")
_WRITTEN = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One of several slices of the items of a study: every `of`-th item, from `number` on."""

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> Self:
        """Read `3/8`.

        Raises:
            InputError: it is no shard.
        """
        found = _WRITTEN.fullmatch(text.strip())
        number, of = (int(part) for part in found.groups()) if found else (0, 0)
        if not 1 <= number <= of:
            raise InputError(
                f"--shard {text}: no shard; write which of how many, such as 3/8, from 1/8 to 8/8"
            )
        return cls(number=number, of=of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def folder(self) -> str:
        """What the folder of the shard adds to the name of the run."""
        return f"-{self.number}-of-{self.of}"

    def of_items(self, items: Sequence[T]) -> Sequence[T]:
        """Return the items of the shard."""
        return items[self.number - 1 :: self.of]


@dataclass(frozen=True, kw_only=True)
class ShardRecord(Shard):
    """A shard as it was frozen.

    Attributes:
        calls: how many calls of the manifest are asked here.
    """

    calls: int


def share_of_budget(budget: Budget | None, share: float) -> Budget | None:
    """Return what a shard may spend: all shards together never spend more than the study says."""
    if budget is None:
        return None
    changed = {
        "calls": None if budget.calls is None else floor(budget.calls * share),
        "tokens": None if budget.tokens is None else floor(budget.tokens * share),
        "usd": None if budget.usd is None else budget.usd * share,
    }
    return budget.model_copy(update=changed)


def share_of_limits(transport: Transport, of: int) -> Transport:
    """Return the limits of a provider for one of several shards that run at once."""
    changed = {
        name: max(1, limit // of)
        for name in ("requests_per_minute", "tokens_per_minute")
        if (limit := getattr(transport, name)) is not None
    }
    return transport.model_copy(update=changed)
