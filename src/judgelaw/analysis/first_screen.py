"""What a newcomer reads first: a word, four natural frequencies, a short sentence, what to do.

Each number is of 100 pairs of calls, each word has its rule, and nothing is said that the bounds
for the items asked do not carry.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Final, Literal

from judgelaw.analysis.sentence import MANY_INVALID, Claims, claims_of
from judgelaw.analysis.values import ChangeRate, JudgeAnalysis, Rule, ToDo, Trust, pair_of
from judgelaw.decide import FEW_ITEMS, PromptChoice, VoteGain, some_names, vote_gain
from judgelaw.diagnose import Finding
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import (
    CHANGES,
    Change,
    Estimand,
    Gate,
    Inference,
    LimitDecision,
    Resampling,
    change_interval,
    infer,
    more_than_asking_again,
)

FINE: Final = 0.10
"""Changes of 100 verdicts, as a share, up to which a judge is called fine without a gate."""
MOST_WORDS: Final = 20
_MOST_TO_DO = 3
_WORDS: Final = {
    "ask_again": "when you ask again",
    "reword": "when you reword the prompt",
    "swap": "when you swap the answers",
    "both": "when you reword and swap",
}
_FACETS: Final = {"reword": "other prompts", "swap": "other orders"}
Word = Literal["not yet", "with care", "fine"]


@dataclass(frozen=True, kw_only=True)
class FirstScreen:
    """What is read first of one judge, before the checks: see `JudgeAnalysis`."""

    short: str
    changes: Mapping[str, ChangeRate | None]
    to_do: tuple[ToDo, ...]


@dataclass(frozen=True, kw_only=True)
class Told:
    """What else the first screen goes by.

    Attributes:
        invalid: share of calls without a verdict.
        choice: the prompts to keep.
        votes: whether to work out what asking more often gains.
    """

    invalid: float
    choice: PromptChoice
    votes: bool


def first_screen(
    tensor: VerdictTensor, known: Inference, estimand: Estimand, how: Resampling, told: Told
) -> FirstScreen:
    """Return what is read first."""
    changes = change_rates(tensor, known, estimand, how.level)
    claims = claims_of(known, "fixed") if known.refusal("total", "fixed") is None else None
    gain = None
    if told.votes and claims is not None and _upper(changes) > FINE:
        by_order = (claims.largest or next(iter(claims.worth), None)) == "order"
        gain = vote_gain(
            tensor,
            by_order=by_order,
            design=estimand.design,
            order_weights=estimand.order_weights,
            seed=how.seed,
        )
    return FirstScreen(
        short=short_sentence(known, claims, changes),
        changes=changes,
        to_do=to_do(claims, changes, told.invalid, choice=told.choice, gain=gain),
    )


def change_rates(
    tensor: VerdictTensor, known: Inference, estimand: Estimand, level: float
) -> dict[str, ChangeRate | None]:
    """Return how often verdicts change, None where the design does not vary what would change."""
    even = known
    if estimand.order_weights is not None and len(tensor.orders) > 1:
        even = infer(tensor, design=estimand.design)
    found: dict[str, ChangeRate | None] = {}
    for change in CHANGES:
        of = even if change in {"swap", "both"} else known
        found[change] = _rate(of, change, level)
    return found


def _rate(known: Inference, change: Change, level: float) -> ChangeRate | None:
    here, new = (
        change_interval(known, change, level=level, scope=scope) for scope in ("fixed", "new")
    )
    if isnan(here.estimate):  # one level only
        return None
    more = more_than_asking_again(known, change, level=level)
    return ChangeRate(
        estimate=here.estimate,
        interval=pair_of(new),
        call_interval=pair_of(here),
        more=None if isnan(more.estimate) else more.estimate,
        more_interval=pair_of(more),
    )


def short_sentence(
    known: Inference, claims: Claims | None, changes: Mapping[str, ChangeRate | None]
) -> str:
    """Say in at most twenty words what the bounds for the items asked carry."""
    n = len(known.items.values)
    here = "on this item" if n == 1 else f"on these {n:,} items"
    if claims is None:
        return f"What moves the verdicts cannot be told {here}: vary prompts and orders."
    most = _upper(changes)
    if most <= FINE:
        at_most = f"at most {_points(most)} of 100"
        return f"Hardly any verdict changes {here}: {at_most}, whatever was varied."
    if known.bounds("total", 0.95, "fixed")[0] <= 0:
        return f"Too few verdicts changed {here} to tell why they do."
    if len(claims.shares) == 1:
        return f"Verdicts change by chance {here}; prompt and order were not varied."
    return f"{_moved_by(claims)} {here}{_and_so(claims)}."


def _moved_by(claims: Claims) -> str:
    if claims.nearly_all_call:
        return "Nearly all changes are pure chance"
    if claims.largest is None and claims.worth:
        return f"{_MOVERS[claims.worth[0]]} clearly moves verdicts"
    if claims.largest is None:
        return "What moves the verdicts most cannot be told"
    return f"{_MOVERS[claims.largest]} moves the verdicts most"


_MOVERS: Final = {
    "call": "Chance",
    "prompt": "The wording of the prompt",
    "order": "The order of the answers",
    "interaction": "The mix of prompt and order",
}
_REMEDIES: Final = {
    "prompt": "settle on one, or average over several",
    "order": "ask in both orders",
    "interaction": "average over both",
}
_OVER: Final = {"prompt": "over several prompts", "order": "in both orders"}


def _and_so(claims: Claims) -> str:
    part = claims.largest or next(iter(claims.worth), None)
    if part is None:
        return ": ask about more items"
    if part != "call":
        return f": {_REMEDIES[part]}"
    over = " and ".join(_OVER[c] for c in claims.worth if c in _OVER)
    vote = f": repeat and vote{', ' if over else ''}{over}"
    if not claims.no_rewording:
        return vote
    return f"{vote}{';' if over else ','} rewording will not help"


def to_do(
    claims: Claims | None,
    changes: Mapping[str, ChangeRate | None],
    invalid: float,
    *,
    choice: PromptChoice | None = None,
    gain: VoteGain | None = None,
) -> tuple[ToDo, ...]:
    """Return up to three things that are worth doing, each with its number."""
    return tuple(_to_do(claims, changes, invalid, choice, gain))[:_MOST_TO_DO]


def _to_do(
    claims: Claims | None,
    changes: Mapping[str, ChangeRate | None],
    invalid: float,
    choice: PromptChoice | None,
    gain: VoteGain | None,
) -> Iterator[ToDo]:
    if invalid >= MANY_INVALID:
        yield ToDo(
            do="Repair the prompt or the parser",
            because=f"{_points(invalid)} of 100 replies gave no verdict",
        )
    if claims is None or _upper(changes) <= FINE:
        return
    keep = None if choice is None else _keep(choice, claims)
    vote = None if gain is None else _vote(gain)
    by_accuracy = choice is not None and choice.merit == "accuracy"
    yield from filter(None, (keep, vote) if by_accuracy else (vote, keep))
    parts = [claims.largest, *claims.worth] if claims.largest else list(claims.worth)
    seen_to = _seen_to(keep, gain)
    for part in dict.fromkeys(parts):
        if part not in seen_to and (found := _remedy(part, changes)) is not None:
            yield found
    if not parts and not seen_to:
        yield ToDo(do="Ask about more items", because="these calls cannot tell what moves verdicts")


def _keep(choice: PromptChoice, claims: Claims) -> ToDo | None:
    """Say which prompts to keep, where others are shown to be worse and items are enough.

    Without gold a prompt is better because it is steadier: nothing to say where that is little.
    """
    kept, others = choice.kept, len(choice.rows) - len(choice.kept)
    if not others or choice.items < FEW_ITEMS:
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
        ties = f"; {_points(gain.ties)} of 100 verdicts become ties"
    else:
        prompts = "" if p.fixed is not None else " under every prompt"
        orders = " in both orders" if p.orders == "both" else ""
        do = f"Ask {_TIMES[p.repeats]}{prompts}{orders} and take the majority"
        ties = ""
    fall = f"changes fall from {_points(gain.before)} to {_points(gain.after)} of 100"
    return ToDo(do=do, because=f"{fall}, with {gain.calls} calls an item{ties}")


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


def _remedy(part: str, changes: Mapping[str, ChangeRate | None]) -> ToDo | None:
    change, do = {
        "call": ("ask_again", "Ask each item several times and take the majority"),
        "prompt": ("reword", "Settle on one prompt, or average over several"),
        "order": ("swap", "Ask in both orders"),
        "interaction": ("both", "Average over prompts and orders together"),
    }[part]
    rate, again = changes[change], changes["ask_again"]
    if rate is None or again is None:
        return None
    because = f"{_points(rate.estimate)} of 100 verdicts change {_WORDS[change]}"
    if part != "call":
        because += f", {_points(again.estimate)} when you just ask again"
    return ToDo(do=do, because=because)


def with_trust(
    judge: JudgeAnalysis, findings: Sequence[Finding], gate: Gate | None
) -> JudgeAnalysis:
    """Add the word: whether this judge may be relied on, by rules, and for which reason."""
    rules = tuple(_rules(judge, findings, gate))
    holding = next((rule for rule in rules if rule.holds), None)
    if holding is None:
        word: Word = "fine"
        reason = _fine(judge, gate)
    else:
        word, reason = holding.word, holding.reason
    return replace(judge, trust=Trust(word=word, reason=reason, rules=rules))


def _rules(judge: JudgeAnalysis, findings: Sequence[Finding], gate: Gate | None) -> Iterator[Rule]:
    """Yield every rule in the sequence in which they are tried."""
    invalid = judge.outcomes.get(INVALID, 0) / judge.calls
    yield Rule(
        word="not yet",
        when=f"{_points(MANY_INVALID)} of 100 replies or more gave no verdict",
        holds=invalid >= MANY_INVALID,
        reason=f"{_points(invalid)} of 100 replies gave no verdict.",
    )
    mine = [f for f in findings if f.subject in _subjects(judge)]
    problems = [f for f in mine if f.verdict == "problem"]
    yield Rule(
        word="not yet",
        when="a check of these calls found a problem",
        holds=bool(problems),
        reason=problems[0].headline if problems else "",
    )
    yield from _by_limits(judge, gate) if gate is not None else _by_default(judge)


def _by_limits(judge: JudgeAnalysis, gate: Gate) -> Iterator[Rule]:
    mine = [d for d in gate.limits if d.judge == judge.name]
    ends: tuple[tuple[Literal["not yet", "with care"], str, str], ...] = (
        ("not yet", "fail", "a limit of the study's gate is broken"),
        ("with care", "inconclusive", "a limit of the study's gate is not decided by these calls"),
    )
    for word, verdict, when in ends:
        found = [d for d in mine if d.verdict == verdict]
        yield Rule(
            word=word,
            when=when,
            holds=bool(found),
            reason=_limit(found[0]) if found else "",
        )


def _limit(d: LimitDecision) -> str:
    sign = "below" if d.side == "max" else "at least"
    ending = {"fail": "is not", "inconclusive": "is not shown to be"}[d.verdict]
    return (
        f"{d.quantity.capitalize()} is {d.estimate:.3f} and {ending} {sign} the limit {d.limit:g}."
    )


def _by_default(judge: JudgeAnalysis) -> Iterator[Rule]:
    worst = _worst(judge.changes)
    high = _upper(judge.changes)
    yield Rule(
        word="with care",
        when=f"more than {_points(FINE)} of 100 verdicts may change between two calls",
        holds=not high <= FINE,
        reason="" if worst is None else _changing(*worst),
    )


def _fine(judge: JudgeAnalysis, gate: Gate | None) -> str:
    if gate is not None:
        return "Every limit of the study's gate is kept."
    left = [_FACETS[c] for c in _FACETS if judge.changes[c] is None]
    unknown = f"; {' and '.join(left)} were not tried" if left else ""
    most = _points(_upper(judge.changes))
    return f"At most {most} of 100 verdicts change between two calls{unknown}."


def _changing(change: str, rate: ChangeRate) -> str:
    number = _points(rate.estimate)
    if rate.call_interval is not None and rate.estimate <= FINE:
        return (
            f"{number} of 100 verdicts change {_WORDS[change]}, and it may be "
            f"{_points(rate.call_interval[1])}."
        )
    return f"{number} of 100 verdicts change {_WORDS[change]}."


def _worst(changes: Mapping[str, ChangeRate | None]) -> tuple[str, ChangeRate] | None:
    known = [(name, rate) for name, rate in changes.items() if rate is not None]
    return max(known, key=lambda pair: pair[1].estimate) if known else None


def _upper(changes: Mapping[str, ChangeRate | None]) -> float:
    """Return the largest upper end over changes, on the items asked; inf where one has none."""
    known = [rate for rate in changes.values() if rate is not None]
    ends = [rate.call_interval[1] if rate.call_interval else float("inf") for rate in known]
    return max(ends, default=float("inf"))


def _subjects(judge: JudgeAnalysis) -> set[str]:
    """Return the names under which a finding may be about this judge; "" is about all."""
    return {"", judge.name, f"{judge.name} / {judge.layer}"}


def _points(share: float) -> str:
    """Write a share in points of 100, with a digit more where it is small."""
    value = 100 * max(0.0, share)
    return f"{value:.0f}" if value >= 10 or value == 0 else f"{value:.2g}"  # noqa: PLR2004 - digits
