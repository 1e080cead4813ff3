"""Rules that give every cell of a design its law."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import check_at_least
from judgelaw.errors import InputError
from judgelaw.streams import stream

Laws = NDArray[np.float64]

_ROUNDING = 1e-12


class LawRule(ABC):
    """Laws for any items, prompts and orders that the rule knows."""

    @property
    @abstractmethod
    def identical_items(self) -> bool:
        """Whether every item has the same laws."""

    @property
    def written_items(self) -> tuple[str, ...] | None:
        """The only items that the rule knows, or None where it knows any."""
        return None

    @abstractmethod
    def laws(self, items: Sequence[str], prompts: int, orders: int) -> Laws:
        """Laws shaped (items, prompts, orders, verdicts)."""


def spaced_score(levels: int, *, facet: str = "prompt") -> NDArray[np.float64]:
    """Return equally spaced levels, centred, with mean square one over the census (FORMULAS 6)."""
    check_at_least(f"{facet}s", levels, 2, f"one {facet} cannot differ from itself")
    score = np.arange(1, levels + 1) - (levels + 1) / 2
    return np.asarray(score / np.sqrt(np.mean(score**2)))


def contrast(categories: int, gains: int, loses: int) -> NDArray[np.float64]:
    """Unit direction that moves mass from one verdict to another."""
    v = np.zeros(categories)
    v[gains], v[loses] = np.sqrt(0.5), -np.sqrt(0.5)
    return v


@dataclass(frozen=True, kw_only=True, eq=False)
class EffectRule(LawRule):
    """A base law moved by centred scores, so that each component is known in closed form.

    P_iko = B_i + sqrt(prompt) s_k v + sqrt(order) t_o w + sqrt(interaction) s_k t_o z

    with s, t equally spaced, centred and of mean square one, and v, w, z unit vectors that sum to
    zero. Then U_prompt = prompt, U_order = order and U_int = interaction for every item, whatever
    the directions, as the three terms are orthogonal over the crossed census.

    B_i = (1 - item_spread) base + item_spread D_i, with D_i Dirichlet(C base) of the item's own
    named stream, so that the mean over items is `base`.
    """

    base: NDArray[np.float64]
    prompt: float
    order: float
    interaction: float
    prompt_direction: NDArray[np.float64]
    order_direction: NDArray[np.float64]
    interaction_direction: NDArray[np.float64]
    item_spread: float
    seed: int

    @property
    def identical_items(self) -> bool:
        """Whether every item has the same laws."""
        return self.item_spread == 0

    def laws(self, items: Sequence[str], prompts: int, orders: int) -> Laws:
        """Laws shaped (items, prompts, orders, verdicts)."""
        shift = self._shift(prompts, orders)
        self._refuse_leaving_the_simplex(shift)
        laws = self._bases(items)[:, None, None, :] + shift
        # The check above leaves negatives of rounding size only, where a probability is exactly 0.
        laws[np.abs(laws) < _ROUNDING] = 0.0
        return np.asarray(laws)

    def _shift(self, prompts: int, orders: int) -> NDArray[np.float64]:
        shift = np.zeros((prompts, orders, len(self.base)))
        if self.prompt or self.interaction:
            s = spaced_score(prompts)[:, None, None]
            shift = shift + np.sqrt(self.prompt) * s * self.prompt_direction
        if self.order or self.interaction:
            t = spaced_score(orders, facet="order")[None, :, None]
            shift = shift + np.sqrt(self.order) * t * self.order_direction
        if self.interaction:
            shift = shift + np.sqrt(self.interaction) * s * t * self.interaction_direction
        return np.asarray(shift)

    def _bases(self, items: Sequence[str]) -> NDArray[np.float64]:
        if self.identical_items:
            return np.tile(self.base, (len(items), 1))
        own = np.zeros((len(items), len(self.base)))
        positive = self.base > 0
        for row, item in zip(own, items, strict=True):
            draws = stream(self.seed, "item", item).gamma(len(self.base) * self.base[positive])
            row[positive] = draws / draws.sum()
        return (1 - self.item_spread) * self.base + self.item_spread * own

    def _refuse_leaving_the_simplex(self, shift: NDArray[np.float64]) -> None:
        floor = (1 - self.item_spread) * self.base  # what every item keeps of the base
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(shift < -_ROUNDING, floor / -shift, np.inf)
        factor = float(room.min())
        if factor >= 1 - _ROUNDING:
            return
        k, o, _ = np.unravel_index(int(room.argmin()), room.shape)
        sizes = {"prompt": self.prompt, "order": self.order, "interaction": self.interaction}
        asked = ", ".join(f"{name} = {size:g}" for name, size in sizes.items() if size)
        # Rounded down, so that the numbers in the message are themselves accepted.
        fits = ", ".join(
            f"{name} <= {np.floor(size * factor**2 * 1e6) / 1e6:g}"
            for name, size in sizes.items()
            if size
        )
        raise InputError(
            f"{asked} would give prompt {k + 1} of {shift.shape[0]}, order {o + 1} of "
            f"{shift.shape[1]} the law {[round(float(x), 6) for x in floor + shift[k, o]]}"
            f"{' (least share of the base)' if self.item_spread else ''}, "
            f"which leaves the simplex: in this proportion {fits} works"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeRule(LawRule):
    """A judge as people have them: settled on each item, right on most, with known weaknesses.

    The first verdict is the right one of every item, the second one wrong. A settled item has one
    verdict under all prompts and orders, the right one with chance `right`; a share `lean` of the
    items goes by the position instead, the answer shown first. A prompt of `by_prompt` is right on
    its own share of the items. Each call leaves its verdict for the other one with chance `slip`.

    Attributes:
        right: share of items on which it is right.
        slip: chance of a slip in each call.
        lean: share of items that follow the position.
        by_prompt: share of items on which single prompts are right, by their place from 0.
        seed: of every item's own stream.
        verdicts: how many there are.
    """

    right: float
    slip: float
    lean: float
    by_prompt: Mapping[int, float]
    seed: int
    verdicts: int

    @property
    def identical_items(self) -> bool:
        """Whether every item has the same laws."""
        shares = (self.right, self.lean, *self.by_prompt.values())
        return all(share in (0, 1) for share in shares)

    def laws(self, items: Sequence[str], prompts: int, orders: int) -> Laws:
        """Laws shaped (items, prompts, orders, verdicts)."""
        beyond = [at for at in self.by_prompt if at >= prompts]
        if beyond:
            raise InputError(
                f"prompt {beyond[0] + 1} has a law of its own, and the design has {prompts}: "
                "leave it out, or declare the prompt"
            )
        wrong = np.zeros((len(items), prompts, orders), dtype=int)
        for row, item in zip(wrong, items, strict=True):
            settled, leaning, *own = stream(self.seed, "judge", item).random(2 + prompts)
            row[:] = settled >= self.right
            if leaning < self.lean:
                row[:] = np.arange(orders) > 0
            for at, share in self.by_prompt.items():
                row[at] = own[at] >= share
        laws = np.zeros((*wrong.shape, self.verdicts))
        np.put_along_axis(laws, wrong[..., None], 1 - self.slip, axis=-1)
        np.put_along_axis(laws, 1 - wrong[..., None], self.slip, axis=-1)
        return laws


@dataclass(frozen=True, kw_only=True, eq=False)
class TableRule(LawRule):
    """Laws written out, shaped (items, prompts, orders, verdicts); one row may serve all items."""

    table: Laws
    items: tuple[str, ...] | None

    @property
    def identical_items(self) -> bool:
        """Whether every item has the same laws."""
        return len(self.table) == 1

    @property
    def written_items(self) -> tuple[str, ...] | None:
        """The items that laws are written for, unless one row serves all."""
        if self.identical_items:
            return None
        return self.items or tuple(f"i{i + 1}" for i in range(len(self.table)))

    def laws(self, items: Sequence[str], prompts: int, orders: int) -> Laws:
        """Laws shaped (items, prompts, orders, verdicts)."""
        if (prompts, orders) != self.table.shape[1:3]:
            k, o = self.table.shape[1:3]
            raise InputError(
                f"the laws are written for {k} prompts x {o} orders, and the design has "
                f"{prompts} x {orders}: give a law for each of its cells"
            )
        names = self.written_items
        if names is None:
            return np.repeat(self.table, len(items), axis=0)
        index = {name: i for i, name in enumerate(names)}
        if unknown := [item for item in items if item not in index]:
            raise InputError(
                f"no law is written for item {unknown[0]!r}; there are {len(names)}, first "
                f"{', '.join(map(repr, names[:3]))}"
            )
        return self.table[[index[item] for item in items]]


@dataclass(frozen=True, kw_only=True, eq=False)
class InvalidRule(LawRule):
    """Another rule whose calls end invalid with a given rate, by prompt where rates differ.

    P' = (1 - rate_k) P + rate_k e_invalid.
    """

    inner: LawRule
    rates: tuple[float, ...]
    code: int

    @property
    def identical_items(self) -> bool:
        """Whether every item has the same laws."""
        return self.inner.identical_items

    @property
    def written_items(self) -> tuple[str, ...] | None:
        """The only items that the inner rule knows, or None where it knows any."""
        return self.inner.written_items

    def laws(self, items: Sequence[str], prompts: int, orders: int) -> Laws:
        """Laws shaped (items, prompts, orders, verdicts)."""
        if len(self.rates) not in (1, prompts):
            raise InputError(
                f"{len(self.rates)} rates of invalid output for {prompts} prompts: give one for "
                "all, or one for each"
            )
        rate = np.broadcast_to(np.asarray(self.rates), (prompts,))[None, :, None, None]
        laws = (1 - rate) * self.inner.laws(items, prompts, orders)
        laws[..., self.code] += rate[..., 0]
        return laws
