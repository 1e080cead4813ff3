"""Orders in which several candidates are shown: permutations, from a rule and the items.

An order is written as letters: `CAB` shows the third candidate first, the first one second. A
rotation of an order moves every candidate on by one slot, so that the n rotations of one order
show each candidate once in every slot.
"""

from collections.abc import Iterator
from itertools import islice, permutations
from math import factorial

from judgelaw.errors import InputError
from judgelaw.streams import stream
from judgelaw.study.models import CYCLIC, Study
from judgelaw.study.prompt_models import SampledOrders
from judgelaw.words import LETTERS, counted

MOST_ALL = 4
"""Candidates up to which every order is run: five have 120."""
MOST_SAMPLED = 1_000
_LISTED = 7
"""Candidates up to which all circles of orders are listed, 720, before some are drawn."""


def with_orders(study: Study, candidates: int) -> Study:
    """Return a study whose rule of orders is turned into weights, for items of so many candidates.

    Raises:
        InputError: the rule asks for orders that so many candidates do not have.
    """
    if study.task != "choose":
        return study
    rule = study.orders
    if isinstance(rule, dict):
        if wrong := next((order for order in rule if len(order) != candidates), None):
            raise InputError(
                f"{wrong!r}, the items have {candidates} candidates; write every order with the "
                f"letters {LETTERS[:candidates]}, or orders: cyclic"
            )
        return study
    found = _orders(rule, candidates, study.seed)
    return study.model_copy(update={"orders": dict.fromkeys(found, 1 / len(found))})


def _orders(rule: str | SampledOrders, n: int, seed: int) -> tuple[str, ...]:
    letters = LETTERS[:n]
    if isinstance(rule, SampledOrders):
        return _sampled(rule.sample, n, seed)
    if rule == CYCLIC:
        return _rotations(letters)
    if n > MOST_ALL:
        raise InputError(
            f"'all', {n} candidates have {factorial(n):,} orders, and all are run up to "
            f"{MOST_ALL} candidates; write cyclic, or {{sample: {2 * n}}}"
        )
    return tuple(map("".join, permutations(letters)))


def _rotations(order: str) -> tuple[str, ...]:
    return tuple(order[place:] + order[:place] for place in range(len(order)))


def _sampled(size: int, n: int, seed: int) -> tuple[str, ...]:
    """Draw circles of rotations by seed: whole ones, and the beginning of a last one.

    Whole circles show each candidate equally often in every slot; a part of one changes that by
    one order at most.
    """
    most = min(factorial(n), MOST_SAMPLED)
    if size > most:
        why = f"{n} candidates have {most}" if most < MOST_SAMPLED else f"at most {most} are drawn"
        raise InputError(f"{counted(size, 'order')}, {why}; ask for {most} or fewer")
    circles = islice(_circles(n, seed), -(-size // n))
    return tuple(order for circle in circles for order in circle)[:size]


def _circles(n: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield circles of rotations in a random sequence, each once; A stands first in its first."""
    random, others = stream(seed, "orders"), LETTERS[1:n]
    if n <= _LISTED:
        known = ["".join(order) for order in permutations(others)]
        drawn = [known[place] for place in random.permutation(len(known))]
    else:
        # So many that the same one hardly ever comes twice.
        tries = ("".join(random.permutation([*others])) for _ in range(MOST_SAMPLED))
        drawn = [*dict.fromkeys(tries)]
    for order in drawn:
        yield _rotations("A" + order)
