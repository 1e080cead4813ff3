"""What is worth doing about a judge, in a line each, and the words in which changes are told."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from judgelaw.analysis.sentence import MANY_INVALID, Claims
from judgelaw.analysis.values import ChangeRate, ToDo
from judgelaw.decide import TIE, PromptChoice, VoteGain, some_names
from judgelaw.tensor import INVALID

FINE: Final = 0.10
"""Changes of 100 verdicts, as a share, up to which a judge is called fine without a gate."""
MOST_TO_DO: Final = 3
_LEAST_ITEMS = 50
"""From so many items on the prompts to keep were measured to hold the best one."""
WHEN: Final = {
    "ask_again": "when you ask again",
    "reword": "when you reword the prompt",
    "swap": "when you swap the answers",
    "both": "when you reword and swap",
}


@dataclass(frozen=True, kw_only=True)
class Wording:
    """How changes are spoken of: verdicts of 100, or points of a score.

    Attributes:
        span: points from the lowest to the highest score, None where verdicts are no scores.
        single: whether single answers were judged: nothing is said about their order.
    """

    span: float | None = None
    single: bool = False

    @property
    def noun(self) -> str:
        """What changes."""
        return "verdicts" if self.span is None else "scores"

    @property
    def fine(self) -> float:
        """The change up to which a judge is called fine without a gate."""
        return FINE if self.span is None else FINE * self.span

    @property
    def pool(self) -> str:
        """What to do with several calls."""
        return "vote" if self.span is None else "average"

    def amount(self, value: float) -> str:
        """Write a change."""
        return f"{points(value)} of 100" if self.span is None else f"{in_points(value)} points"

    def changing(self, value: float, when: str = "") -> str:
        """Say how much changes."""
        if self.span is None:
            return f"{points(value)} of 100 verdicts change{when}"
        return f"scores differ by {in_points(value)} points on average{when}"


OF_VERDICTS: Final = Wording()


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """How often calls give the gold verdict, and how often guessing among the answers would."""

    right: float
    guess: float

    @property
    def poor(self) -> bool:
        """Whether these calls were right no more often than guessing is."""
        return self.right <= self.guess

    @property
    def words(self) -> str:
        """Say both."""
        gives = f"{points(self.right)} of 100 calls give the gold verdict"
        return f"{gives}, guessing would give {points(self.guess)}"


def accuracy_of(verdicts: Iterable[str], right: float | None) -> Accuracy | None:
    """Return the accuracy of verdicts; None without gold, or where there is nothing to guess."""
    answers = [v for v in verdicts if v not in (TIE, INVALID)]
    if right is None or len(answers) <= 1:
        return None
    return Accuracy(right=right, guess=1 / len(answers))


def in_points(value: float) -> str:
    """Write points of a score."""
    known = max(0.0, value)
    return f"{known:.1f}" if known >= 10 else f"{known:.2f}"  # noqa: PLR2004 - digits


def largest_change(changes: Mapping[str, ChangeRate | None]) -> float:
    """Return the largest upper end over changes, on the items asked; inf where one has none."""
    known = [rate for rate in changes.values() if rate is not None]
    ends = [rate.call_interval[1] if rate.call_interval else float("inf") for rate in known]
    return max(ends, default=float("inf"))


def points(share: float) -> str:
    """Write a share in points of 100, with a digit more where it is small."""
    value = 100 * max(0.0, share)
    return f"{value:.0f}" if value >= 10 or value == 0 else f"{value:.2g}"  # noqa: PLR2004 - digits


def to_do(
    claims: Claims | None,
    changes: Mapping[str, ChangeRate | None],
    invalid: float,
    said: Wording = OF_VERDICTS,
    *,
    choice: PromptChoice | None = None,
    gain: VoteGain | None = None,
    accuracy: Accuracy | None = None,
) -> tuple[ToDo, ...]:
    """Return up to three things that are worth doing, each with its number."""
    first = _first(invalid, accuracy)
    then = _to_do(claims, changes, said, choice=choice, gain=gain)
    return (*first, *then)[:MOST_TO_DO]


def _first(invalid: float, accuracy: Accuracy | None) -> Iterator[ToDo]:
    """Yield what comes before changes: replies that say nothing, verdicts that are not right."""
    if invalid >= MANY_INVALID:
        yield ToDo(
            do="Repair the prompt, or how replies are read",
            because=f"{points(invalid)} of 100 replies gave no verdict",
        )
    elif accuracy is not None and accuracy.poor:
        yield ToDo(do="Find out why it is not right", because=accuracy.words)


def _to_do(
    claims: Claims | None,
    changes: Mapping[str, ChangeRate | None],
    said: Wording,
    *,
    choice: PromptChoice | None,
    gain: VoteGain | None,
) -> Iterator[ToDo]:
    if claims is None or largest_change(changes) <= said.fine:
        return
    keep = None if choice is None else _keep(choice, claims)
    vote = _vote(gain) if gain is not None and gain.shown else None
    by_accuracy = choice is not None and choice.merit == "accuracy"
    parts = [claims.largest, *claims.worth] if claims.largest else list(claims.worth)
    seen_to = _seen_to(keep, gain if vote is not None else None)
    left = [part for part in dict.fromkeys(parts) if part not in seen_to]
    remedies = {
        part: _no_vote(gain) if part == "call" and gain else _remedy(part, changes, said)
        for part in left
    }
    # What moves the verdicts most comes first, whatever else is worth doing.
    first = remedies.pop(claims.largest, None) if claims.largest else None
    ways = (keep, vote) if by_accuracy else (vote, keep)
    yield from filter(None, (first, *ways, *remedies.values()))
    if not parts and not seen_to:
        because = f"these calls cannot tell what moves {said.noun}"
        yield ToDo(do="Ask about more items", because=because)


def _keep(choice: PromptChoice, claims: Claims) -> ToDo | None:
    """Say which prompts to keep, where others are shown to be worse and items are enough.

    Without gold a prompt is better because it is steadier: nothing to say where that is little.
    """
    kept, others = choice.kept, len(choice.rows) - len(choice.kept)
    if not others or choice.items < _LEAST_ITEMS:
        return None
    if choice.merit == "noise" and claims.no_rewording:
        return None
    worse = "the other one is" if others == 1 else f"the other {others} are"
    less = "right less often" if choice.merit == "accuracy" else "less steady"
    return ToDo(
        do=f"Keep prompt{'' if len(kept) == 1 else 's'} {some_names(kept)}",
        because=f"{worse} shown to be {less}",
    )


_TIMES: Final = {1: "once", 2: "twice", 3: "three times"}


def _vote(gain: VoteGain) -> ToDo:
    """Say how to ask, and what it gains."""
    p = gain.protocol
    if p.orders == "consistent":
        do = "Ask in both orders, and rule a tie where they disagree"
        ties = f"; {points(gain.ties)} of 100 verdicts become ties"
    else:
        prompts = "" if p.fixed is not None else " under every prompt"
        orders = " in both orders" if p.orders == "both" else ""
        do = f"Ask {_TIMES[p.repeats]}{prompts}{orders} and take the majority"
        ties = ""
    fall = f"changes fall from {points(gain.before)} to {points(gain.after)} of 100"
    return ToDo(do=do, because=f"{fall}, with {gain.calls} calls an item{ties}")


def _no_vote(gain: VoteGain) -> ToDo:
    """Say what to do about chance where a vote was looked at and is not shown to be steadier."""
    votes, one = points(gain.after), points(gain.before)
    tried = f"a majority of {gain.calls} calls changes on {votes} of 100 items, one call on {one}"
    if gain.worth:
        return ToDo(do="Ask about more items", because=f"{tried}: that is not shown to be less")
    return ToDo(do="Sharpen the question, or try another judge", because=tried)


def _seen_to(keep: ToDo | None, gain: VoteGain | None) -> set[str]:
    """Return the parts that the lines above already do something about."""
    found = set() if keep is None else {"prompt"}
    if gain is None:
        return found
    p = gain.protocol
    every = p.fixed is None
    return (
        found
        | {"call"}
        | ({"order"} if p.orders != "one" else set())
        | ({"prompt", "interaction"} if every else set())
    )


def _remedy(part: str, changes: Mapping[str, ChangeRate | None], said: Wording) -> ToDo | None:
    several = "Ask each item several times and take the "
    change, do = {
        "call": ("ask_again", several + ("majority" if said.span is None else "mean score")),
        "prompt": ("reword", "Settle on one prompt, or average over several"),
        "order": ("swap", "Ask in both orders"),
        "interaction": ("both", "Average over prompts and orders together"),
    }[part]
    rate, again = changes[change], changes["ask_again"]
    if rate is None or again is None:
        return None
    because = said.changing(rate.estimate, f" {WHEN[change]}")
    if part != "call":
        just = points(again.estimate) if said.span is None else in_points(again.estimate)
        because += f", {just} when you just ask again"
    return ToDo(do=do, because=because)
