"""A world: laws for every cell, their exact components, and verdicts drawn from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import (
    check_array,
    check_at_least,
    check_fraction,
    check_laws,
    check_names,
    check_verdicts,
)
from judgelaw.errors import InputError
from judgelaw.streams import stream
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID, VerdictTensor
from judgelaw.worlds.law_rules import (
    EffectRule,
    InvalidRule,
    JudgeRule,
    LawRule,
    TableRule,
    contrast,
)


@dataclass(frozen=True, kw_only=True)
class Components:
    """Exact components of a world: means over its items.

    Kept apart from `judgelaw.estimate.known_laws`, which uses the four concentrations H: the two
    are different arithmetic for the same numbers, and tests hold them against each other.
    """

    call: float
    prompt: float
    order: float
    interaction: float
    total: float


def components_of(laws: NDArray[np.float64]) -> Components:
    """Components of laws (items, prompts, orders, verdicts), equal weights (S3.1, explicit form).

    call = E[1 - |P_XO|^2], prompt = E|P_X - p|^2, order = E|P_O - p|^2,
    interaction = E|P_XO - P_X - P_O + p|^2, total = 1 - |p|^2, then the mean over items.
    """
    centre = laws.mean(axis=(1, 2), keepdims=True)
    of_prompt = laws.mean(axis=2, keepdims=True)
    of_order = laws.mean(axis=1, keepdims=True)
    return Components(
        call=float(1 - np.mean(np.sum(laws**2, axis=-1))),
        prompt=_mean_square(of_prompt - centre),
        order=_mean_square(of_order - centre),
        interaction=_mean_square(laws - of_prompt - of_order + centre),
        total=float(1 - np.mean(np.sum(centre**2, axis=-1))),
    )


def _mean_square(deviation: NDArray[np.float64]) -> float:
    return float(np.mean(np.sum(deviation**2, axis=-1)))


def draw_ranked(
    laws: NDArray[np.float64], repeats: int, rng: np.random.Generator, *, copying: float = 0.0
) -> NDArray[np.int16]:
    """Draw verdict codes shaped (..., repeats) from laws shaped (..., verdicts).

    With `copying`, each call after the first repeats the verdict before it in its cell with that
    probability. The law of a single call stays what it was; agreement of two calls of a cell that
    are g ranks apart becomes |P|^2 + copying^g (1 - |P|^2).
    """
    uniforms = rng.random((*laws.shape[:-1], repeats))
    codes = np.zeros(uniforms.shape, dtype=np.int16)
    edges = np.cumsum(laws, axis=-1)
    # A law sums to one up to rounding; a last positive verdict must still catch the rest.
    edges[edges > 1 - 1e-12] = 1.0
    for c in range(laws.shape[-1] - 1):
        codes += uniforms >= edges[..., c, None]
    if copying:
        kept = rng.random(uniforms.shape) < copying
        for r in range(1, repeats):
            np.copyto(codes[..., r], codes[..., r - 1], where=kept[..., r])
    return codes


W = TypeVar("W", bound="World")

_EFFECT_KEYS = (
    *("base", "prompt", "order", "interaction", "item_spread", "seed"),
    *("prompt_direction", "order_direction", "interaction_direction"),
)
SPEC_KEYS = (
    *_EFFECT_KEYS,
    *("laws", "item_names", "deterministic", "judge", "verdicts", "invalid", "copying"),
)
_JUDGE_KEYS = ("right", "slip", "lean", "prompts")


def _ground(kind: type[W], spec: Mapping[str, Any]) -> W:
    written = [key for key in ("laws", "deterministic", "judge") if key in spec]
    effects = [key for key in _EFFECT_KEYS if key in spec and key != "seed"]
    if len(written) > 1 or (written and effects):
        raise InputError(
            f"a world declares its laws once, and this one has {', '.join(written + effects)}: "
            "keep laws, deterministic, judge, or base with effects"
        )
    verdicts: Sequence[str] | None = spec.get("verdicts")
    if "laws" in spec:
        return kind.from_laws(spec["laws"], items=spec.get("item_names"), verdicts=verdicts)
    if "item_names" in spec:
        raise InputError("item_names name the rows of laws, and this world has no laws written out")
    if "deterministic" in spec:
        options = {} if verdicts is None else {"verdicts": verdicts}
        return kind.deterministic(spec["deterministic"], **options)
    if "judge" in spec:
        given = spec["judge"]
        if not isinstance(given, Mapping) or {*given} - {*_JUDGE_KEYS}:
            raise InputError(f"judge: {given!r}: it is a mapping of {', '.join(_JUDGE_KEYS)}")
        return kind.from_judge(**given, seed=spec.get("seed", 0), verdicts=verdicts)
    chosen = {key: spec[key] for key in _EFFECT_KEYS if key in spec}
    return kind.from_effects(verdicts=verdicts, **chosen)


PAPER_BASE = (0.4, 0.3, 0.2, 0.1)
"""The base law of the published simulation: candidate 1, candidate 2, tie, invalid."""

_LAW_AXES = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """A judge whose laws are known.

    Attributes:
        rule: gives every cell of a design its law.
        verdicts: names of the outcomes, in the order of a law's probabilities.
        copying: probability that a call repeats the verdict before it in its cell; 0 means
            independent calls, which the estimators assume.
    """

    rule: LawRule
    verdicts: tuple[str, ...] = DEFAULT_VERDICTS
    copying: float = 0.0

    @classmethod
    def from_effects(
        cls,
        *,
        base: ArrayLike = PAPER_BASE,
        prompt: float = 0.0,
        order: float = 0.0,
        interaction: float = 0.0,
        item_spread: float = 0.0,
        seed: int = 0,
        verdicts: Sequence[str] | None = None,
        prompt_direction: ArrayLike | None = None,
        order_direction: ArrayLike | None = None,
        interaction_direction: ArrayLike | None = None,
    ) -> Self:
        """Build a world whose components are the given numbers, for every item.

        By default prompts move mass between the first two verdicts, as in the published
        simulation; orders between the first and the third; the interaction between the second and
        the third (with two verdicts, all between these). Directions are scaled to length one.

        `item_spread` mixes into each item's base a law of its own; see `EffectRule`.
        """
        law = check_laws(base, what="base")
        if law.ndim != 1:
            raise InputError(
                f"base has shape {law.shape}: it is one law; give a table of them to from_laws"
            )
        c = len(law)
        third = min(2, c - 1)
        return cls(
            rule=EffectRule(
                base=law,
                prompt=check_fraction("prompt", prompt),
                order=check_fraction("order", order),
                interaction=check_fraction("interaction", interaction),
                prompt_direction=_direction("prompt_direction", prompt_direction, c, 0, 1),
                order_direction=_direction("order_direction", order_direction, c, 0, third),
                interaction_direction=_direction(
                    "interaction_direction", interaction_direction, c, third - 1, third
                ),
                item_spread=check_fraction("item_spread", item_spread),
                seed=check_at_least("seed", seed, 0, "a seed is not negative"),
            ),
            verdicts=verdict_names(verdicts, c),
        )

    @classmethod
    def from_judge(
        cls,
        *,
        right: float = 1.0,
        slip: float = 0.0,
        lean: float = 0.0,
        prompts: Mapping[int, float] | None = None,
        seed: int = 0,
        verdicts: Sequence[str] | None = None,
    ) -> Self:
        """Build a judge that is settled on each item, and whose weaknesses are known.

        It is right on a share of the items, a share of them follows the position, and single
        prompts, by their number from 1, are right on a share of their own; see `JudgeRule`.
        """
        names = verdict_names(verdicts, len(verdicts) if verdicts else len(DEFAULT_VERDICTS))
        check_at_least("verdicts", len(names), 2, "a verdict is right or wrong")
        of_prompt = {
            check_at_least("prompt", int(number), 1, "prompts are numbered from 1") - 1: (
                check_fraction(f"right of prompt {number}", share)
            )
            for number, share in (prompts or {}).items()
        }
        return cls(
            rule=JudgeRule(
                right=check_fraction("right", right),
                slip=check_fraction("slip", slip),
                lean=check_fraction("lean", lean),
                by_prompt=of_prompt,
                seed=check_at_least("seed", seed, 0, "a seed is not negative"),
                verdicts=len(names),
            ),
            verdicts=names,
        )

    @classmethod
    def from_laws(
        cls,
        laws: ArrayLike,
        *,
        items: Sequence[str] | None = None,
        verdicts: Sequence[str] | None = None,
    ) -> Self:
        """Build a world from written laws shaped ([items,] prompts, orders, verdicts)."""
        table = check_laws(laws)
        if table.ndim == _LAW_AXES - 1:
            table = table[None]
        if table.ndim != _LAW_AXES:
            raise InputError(
                f"laws have {table.ndim} axes {table.shape}: they are ([items,] prompts, orders, "
                "verdicts)"
            )
        names = None if items is None else check_names("item_names", items)
        if names is not None and len(names) != len(table):
            raise InputError(f"{len(names)} items are named for {len(table)} rows of laws")
        return cls(
            rule=TableRule(table=table, items=names),
            verdicts=verdict_names(verdicts, table.shape[-1]),
        )

    @classmethod
    def deterministic(cls, codes: ArrayLike, *, verdicts: Sequence[str] = DEFAULT_VERDICTS) -> Self:
        """Build a world with one answer a cell, from codes ([items,] prompts, orders)."""
        names = check_names("verdicts", verdicts)
        chosen = check_array("deterministic", codes)
        known = chosen.size and chosen.dtype.kind in "iu"
        if not known or chosen.min() < 0 or chosen.max() >= len(names):
            raise InputError(
                f"deterministic = {chosen.tolist()} chooses among {len(names)} verdicts: give a "
                f"whole number from 0 to {len(names) - 1} for every prompt and order"
            )
        return cls.from_laws(np.eye(len(names))[chosen], verdicts=names)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Build a world from plain values as they stand in a study or world file.

        Either `base` with effects, or `laws` written out ([items,] prompts, orders, verdicts) with
        `item_names`, or `deterministic` codes, or a `judge` (right, slip, lean, prompts); then
        `verdicts`, `invalid` and `copying`.
        """
        keys = ", ".join(SPEC_KEYS)
        if not isinstance(spec, Mapping):
            raise InputError(f"a world is a mapping of {keys}, not {spec!r}")
        if unknown := [key for key in spec if key not in SPEC_KEYS]:
            raise InputError(f"a world has no key {unknown[0]!r}: its keys are {keys}")
        world = _ground(cls, spec)
        if invalid := spec.get("invalid", 0):
            world = world.with_invalid(invalid)
        return world.with_copying(spec.get("copying", 0.0))

    def with_invalid(self, rate: float | Sequence[float]) -> Self:
        """Return this world with calls that end invalid at `rate`, or at one rate per prompt."""
        if INVALID not in self.verdicts:
            raise InputError(
                f"the verdicts {list(self.verdicts)} have no {INVALID!r} for a rate of invalid "
                "output: name one of them so"
            )
        rates = check_array("invalid", rate)
        if rates.ndim > 1 or rates.size == 0:
            raise InputError(f"invalid = {rate!r}: give one rate for all prompts, or one for each")
        checked = tuple(check_fraction("invalid", r) for r in rates.ravel().tolist())
        code = self.verdicts.index(INVALID)
        return replace(self, rule=InvalidRule(inner=self.rule, rates=checked, code=code))

    def with_copying(self, probability: float) -> Self:
        """Return this world with repeats that depend on each other."""
        return replace(self, copying=check_fraction("copying", probability))

    @property
    def identical_items(self) -> bool:
        """Whether every item has the same laws, so that one row stands for all."""
        return self.rule.identical_items

    @property
    def written_items(self) -> tuple[str, ...] | None:
        """The only items that have laws, or None where every item has one."""
        return self.rule.written_items

    def laws(self, *, items: int | Sequence[str], prompts: int, orders: int) -> NDArray[np.float64]:
        """Laws of a design, shaped (items, prompts, orders, verdicts)."""
        check_at_least("prompts", prompts, 1, "a design has a prompt")
        check_at_least("orders", orders, 1, "a design has an order")
        return self.rule.laws(_item_names(items), prompts, orders)

    def cell_law(
        self, item: str, prompt_index: int, order_index: int, prompts: int, orders: int
    ) -> NDArray[np.float64]:
        """Law of one cell; it depends on nothing but the world and the arguments."""
        if not (0 <= prompt_index < prompts and 0 <= order_index < orders):
            raise InputError(
                f"cell (prompt {prompt_index}, order {order_index}) lies outside a design of "
                f"{prompts} prompts x {orders} orders; both count from 0"
            )
        return np.asarray(self.rule.laws([item], prompts, orders)[0, prompt_index, order_index])

    def components(
        self, *, prompts: int, orders: int, items: int | Sequence[str] = 1
    ) -> Components:
        """Exact population components, equal weights, averaged over the items."""
        return components_of(self.laws(items=items, prompts=prompts, orders=orders))

    def draw(
        self,
        rng: np.random.Generator,
        *,
        items: int | Sequence[str],
        prompts: int,
        orders: int,
        repeats: int,
    ) -> NDArray[np.int16]:
        """Draw ranked verdict codes shaped (items, prompts, orders, repeats)."""
        check_at_least("repeats", repeats, 1, "a cell needs a call")
        laws = self.laws(items=items, prompts=prompts, orders=orders)
        return draw_ranked(laws, repeats, rng, copying=self.copying)

    def tensor(
        self, *, items: int | Sequence[str], prompts: int, orders: int, repeats: int, seed: int
    ) -> VerdictTensor:
        """Draw a whole design from the stream `world` of `seed`, ready for the estimators."""
        codes = self.draw(
            stream(seed, "world"), items=items, prompts=prompts, orders=orders, repeats=repeats
        )
        return VerdictTensor.from_ranked(codes, verdicts=self.verdicts, items=_item_names(items))


def _item_names(items: int | Sequence[str]) -> Sequence[str]:
    if isinstance(items, (int, np.integer)):
        count = check_at_least("items", items, 1, "nothing can be drawn without an item")
        return [f"i{i + 1}" for i in range(count)]
    if not (names := check_names("items", items)):
        raise InputError("items = []: nothing can be drawn without an item; name one or more")
    return names


def verdict_names(verdicts: Sequence[str] | None, categories: int) -> tuple[str, ...]:
    """Return the names given, or the usual ones of so many verdicts."""
    if verdicts is not None:
        return check_verdicts(verdicts, categories)
    if categories == len(DEFAULT_VERDICTS):
        return DEFAULT_VERDICTS
    return tuple(f"v{c + 1}" for c in range(categories))


def _direction(
    name: str, given: ArrayLike | None, categories: int, gains: int, loses: int
) -> NDArray[np.float64]:
    if given is None:
        return contrast(categories, gains, loses)
    v = check_array(name, given)
    numbers = v.dtype.kind in "iuf"
    if not numbers or v.shape != (categories,) or not np.all(np.isfinite(v)):
        raise InputError(
            f"{name} = {given!r}: give one finite number for each of {categories} verdicts"
        )
    length = float(np.linalg.norm(v))
    if length == 0 or abs(v.sum()) > 1e-9 * length:
        raise InputError(
            f"{name} = {v.tolist()} sums to {v.sum():g}: what moves between verdicts sums to 0 and "
            "is not all 0, such as [1, -1, 0, 0]"
        )
    return np.asarray(v / length)
