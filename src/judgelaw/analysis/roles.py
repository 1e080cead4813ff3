"""Which layer answers the question, and what the others are for."""

import re
from collections.abc import Iterable, Mapping

from judgelaw.errors import InputError

ROLES = ("audit", "evaluation", "reference", "control")
_WORDS = {**{role: role for role in ROLES}, "null": "control"}
_MAIN = ("audit", "evaluation")


def infer_roles(layers: Iterable[str], declared: Mapping[str, str] | None) -> dict[str, str]:
    """Return the role of each layer: as declared, else the role that its name holds.

    A layer whose name holds none has the role "". Layers come in the sequence in which they are
    declared, the others after them.
    """
    known = dict(declared or {})
    there = list(layers)
    listed = [layer for layer in known if layer in there]
    if wrong := [f"{layer}: {role}" for layer, role in known.items() if role not in ROLES]:
        raise InputError(f"role {wrong[0]!r}: a layer is {', '.join(ROLES)}")
    ordered = listed + [layer for layer in there if layer not in known]
    return {layer: known.get(layer) or _in_name(layer) for layer in ordered}


def _in_name(layer: str) -> str:
    words = re.split(r"[^a-z]+", layer.lower())
    return next((_WORDS[word] for word in words if word in _WORDS), "")


def main_layer(roles: Mapping[str, str]) -> str:
    """Return the main layer: the first of role audit, else evaluation, else the first listed."""
    for role in _MAIN:
        for layer, its in roles.items():
            if its == role:
                return layer
    return next(iter(roles))
