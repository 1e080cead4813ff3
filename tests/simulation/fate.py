"""What happens to one session of a simulated run, drawn before it begins."""

import random
from dataclasses import dataclass
from typing import Literal

from simulation.provider import FAIR, Weather, draw_weather
from simulation.shadow import Keep


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What happens to one session. Moments count steps of the loop and changes of the disk.

    Attributes:
        end: how the process dies, if it does; a power loss may also come after a good end.
        dies_at: the moment of its death.
        keep: what a power loss leaves of what was not synced.
        disk: what the disk refuses, from `disk_from` on, `disk_times` times.
        interrupts: moments at which somebody presses Ctrl-C.
        jumps: moments at which the clock is set, and by how many seconds.
        commit_s: the longest time a commit takes.
        most_calls: the budget of calls, if there is one.
        parser_s: the longest time a foreign parser takes for some replies; None for one of ours.
    """

    weather: Weather = FAIR
    end: Literal["kill", "power"] | None = None
    dies_at: int = 0
    keep: Keep = "synced"
    disk: Literal["full", "sync", "write"] | None = None
    disk_from: int = 0
    disk_times: int = 0
    interrupts: frozenset[int] = frozenset()
    jumps: tuple[tuple[int, float], ...] = ()
    commit_s: float = 0.01
    parser_s: float | None = None
    most_calls: int | None = None


GOOD = Fate()
"""Nothing happens."""


def draw_fate(dice: random.Random, timeout_s: float) -> Fate:
    """Draw one session: nine in ten end in a death, three in ten meet a bad disk."""
    moments = (10, 100, 400, 1500, 4000)
    jumps = [(_moment(dice, moments), dice.uniform(-1e6, 1e6)) for _ in range(dice.randint(0, 3))]
    return Fate(
        weather=draw_weather(dice, timeout_s),
        end=dice.choices(("kill", "power", None), (6, 3, 1))[0],
        dies_at=_moment(dice, moments),
        keep=dice.choice(("synced", "everything", "some", "some")),
        disk=dice.choice(("full", "sync", "write")) if dice.random() < 0.3 else None,
        disk_from=_moment(dice, moments),
        disk_times=dice.choice((1, 3, 10**6)),
        interrupts=frozenset(_moment(dice, moments) for _ in range(dice.choice((0, 0, 0, 1, 2)))),
        jumps=tuple(jumps) if dice.random() < 0.5 else (),
        commit_s=dice.choice((0.001, 0.05, 2.0)),
        parser_s=dice.choice((None, None, 0.01, 10.0)),
        most_calls=dice.choice((None, None, None, 5, 12)),
    )


def _moment(dice: random.Random, moments: tuple[int, ...]) -> int:
    """Draw a moment, early ones as likely as late ones."""
    return dice.randint(1, dice.choice(moments))
