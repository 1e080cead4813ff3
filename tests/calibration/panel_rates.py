"""How often what is said about panels is false, and how often it is said where it is true."""

from dataclasses import dataclass

import numpy as np

from judgelaw.analysis import decide_panels
from judgelaw.estimate import CENSUS
from judgelaw.streams import stream
from support.panel_worlds import WORLDS, truth_of


@dataclass(frozen=True)
class PanelRates:
    """Of so many data sets of one world, items and repeats.

    Attributes:
        sets: how many.
        false: by claim: sets where it is said and is not so; `any` where one of them is.
        said: by claim: sets where it is said.
        misses: sets where the interval of a right does not hold it.
        intervals: how many intervals there were.
    """

    sets: int
    false: dict[str, int]
    said: dict[str, int]
    misses: int
    intervals: int


def rates_of(name: str, *, items: int, repeats: int, sets: int) -> PanelRates:
    """Analyse many data sets of a world, and hold what is said against the truth."""
    world, truth = WORLDS[name], truth_of(name)
    false = dict.fromkeys(("combine", "keep_one", "alone", "any"), 0)
    said = dict.fromkeys(("combine", "keep_one", "alone"), 0)
    misses = intervals = 0
    for number in range(sets):
        rng = stream(48, "panel worlds", name, items, repeats, number)
        f = decide_panels(world.draw(rng, items, repeats), CENSUS)
        tried = [S.judges for S in f.panels if S.combine is not None]
        wrong = {
            "combine": any(S.combine and not truth.combine(S.judges) for S in f.panels),
            "keep_one": any(a.kind == "keep_one" for a in f.actions) and not truth.keep_one(tried),
            "alone": any(a.kind == "alone" and not truth.alone(a.judges[0]) for a in f.actions),
        }
        for claim, is_wrong in wrong.items():
            false[claim] += is_wrong
            said[claim] += any(a.kind == claim for a in f.actions)
        false["any"] += any(wrong.values())
        for S in f.panels[:1]:
            if S.right is not None and S.right.low is not None and S.right.high is not None:
                intervals += 1
                misses += not S.right.low <= truth.panels[S.judges] <= S.right.high
    return PanelRates(sets=sets, false=false, said=said, misses=misses, intervals=intervals)


def lines(name: str, *, items: int, repeats: int, sets: int) -> str:
    """Return one line of the table of a campaign."""
    r = rates_of(name, items=items, repeats=repeats, sets=sets)
    truth = truth_of(name)
    best = max(truth.panels.values())
    shares = "  ".join(
        f"{claim} {r.said[claim] / sets:.2f} (false {r.false[claim] / sets:.3f})"
        for claim in r.said
    )
    return (
        f"{name:42} N={items:3} R={repeats}  right {np.round(truth.one, 2).tolist()} panel "
        f"{best:.3f}  {shares}  any {r.false['any'] / sets:.3f}  covered "
        f"{1 - r.misses / max(1, r.intervals):.3f}"
    )


def main() -> None:
    """Print the table: `python -m calibration.panel_rates` in the folder of tests."""
    for name in WORLDS:
        for items, repeats, sets in ((50, 3, 200), (150, 3, 200)):
            print(lines(name, items=items, repeats=repeats, sets=sets), flush=True)


if __name__ == "__main__":
    main()
