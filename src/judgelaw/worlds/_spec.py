"""Worlds from plain values, as a study file or a world file holds them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from judgelaw.errors import InputError

if TYPE_CHECKING:
    from judgelaw.worlds._world import World

W = TypeVar("W", bound="World")

_EFFECT_KEYS = (
    "base",
    "prompt",
    "order",
    "interaction",
    "item_spread",
    "seed",
    "prompt_direction",
    "order_direction",
    "interaction_direction",
)
SPEC_KEYS = (*_EFFECT_KEYS, "laws", "item_names", "deterministic", "verdicts", "invalid", "copying")


def build(kind: type[W], spec: Mapping[str, Any]) -> W:
    """Build a world of class `kind`.

    Either `base` with effects, or `laws` written out ([items,] prompts, orders, verdicts) with
    `item_names`, or `deterministic` codes; then `verdicts`, `invalid` and `copying`.
    """
    if not isinstance(spec, Mapping):
        raise InputError(f"a world is a mapping of {', '.join(SPEC_KEYS)}, not {spec!r}")
    if unknown := [key for key in spec if key not in SPEC_KEYS]:
        raise InputError(f"a world has no key {unknown[0]!r}: its keys are {', '.join(SPEC_KEYS)}")
    world = _ground(kind, spec)
    if invalid := spec.get("invalid", 0):
        world = world.with_invalid(invalid)
    return world.with_copying(spec.get("copying", 0.0))


def _ground(kind: type[W], spec: Mapping[str, Any]) -> W:
    written = [key for key in ("laws", "deterministic") if key in spec]
    effects = [key for key in _EFFECT_KEYS if key in spec and key != "seed"]
    if len(written) > 1 or (written and effects):
        raise InputError(
            f"a world declares its laws once, and this one has {', '.join(written + effects)}: "
            "keep laws, deterministic, or base with effects"
        )
    verdicts: Sequence[str] | None = spec.get("verdicts")
    if "laws" in spec:
        return kind.from_laws(spec["laws"], items=spec.get("item_names"), verdicts=verdicts)
    if "item_names" in spec:
        raise InputError("item_names name the rows of laws, and this world has no laws written out")
    if "deterministic" in spec:
        options = {} if verdicts is None else {"verdicts": verdicts}
        return kind.deterministic(spec["deterministic"], **options)
    chosen = {key: spec[key] for key in _EFFECT_KEYS if key in spec}
    return kind.from_effects(verdicts=verdicts, **chosen)
