"""What a newcomer reads first: a word, four natural frequencies, a short sentence, what to do.

Each number is of 100 pairs of calls, each word has its rule, and nothing is said that the bounds
for the items asked do not carry.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Final, Literal

from judgelaw.analysis.facet_values import pair_of
from judgelaw.analysis.sentence import MANY_INVALID, Claims, claims_of
from judgelaw.analysis.things_to_do import (
    FINE,
    MOST_TO_DO,
    OF_VERDICTS,
    WHEN,
    Wording,
    accuracy_of,
    in_points,
    largest_change,
    points,
    to_do,
)
from judgelaw.analysis.values import ChangeRate, JudgeAnalysis, Rule, ToDo, Trust
from judgelaw.decide import PromptChoice, vote_gain
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
from judgelaw.words import of_orders

MOST_WORDS: Final = 20
_FACETS: Final = {"reword": "other prompts", "swap": "other orders"}
Word = Literal["not yet", "with care", "fine"]


def wording_of(judge: JudgeAnalysis) -> Wording:
    """Return how the changes of a judge are spoken of."""
    span = None if judge.scores is None else judge.scores.span
    return Wording(span=span, single=judge.single)


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
        right: share of calls that give the gold verdict, None where there is none.
        votes: whether to work out what asking more often gains.
    """

    invalid: float
    choice: PromptChoice
    right: float | None
    votes: bool


def first_screen(
    tensor: VerdictTensor, known: Inference, estimand: Estimand, how: Resampling, told: Told
) -> FirstScreen:
    """Return what is read first."""
    span = None if tensor.scale is None else tensor.scale.span
    said = Wording(span=span, single=tensor.single)
    changes = change_rates(tensor, known, estimand, how.level)
    claims = claims_of(known, "fixed") if known.refusal("total", "fixed") is None else None
    gain = None
    # The vote of scores is their mean, and no protocol of votes.
    if told.votes and claims is not None and span is None and largest_change(changes) > said.fine:
        by_order = (claims.largest or next(iter(claims.worth), None)) == "order"
        gain = vote_gain(
            tensor,
            by_order=by_order,
            design=estimand.design,
            order_weights=estimand.order_weights,
            seed=how.seed,
        )
    orders = len(tensor.orders)
    in_vain = gain is not None and not gain.shown
    found = to_do(
        claims,
        changes,
        told.invalid,
        said,
        choice=told.choice,
        gain=gain,
        accuracy=None if span else accuracy_of(tensor.verdicts, told.right),
    )
    return FirstScreen(
        short=of_orders(short_sentence(known, claims, changes, said, in_vain=in_vain), orders),
        changes=changes,
        to_do=tuple(
            ToDo(do=of_orders(x.do, orders), because=of_orders(x.because, orders)) for x in found
        ),
    )


def change_rates(
    tensor: VerdictTensor, known: Inference, estimand: Estimand, level: float
) -> dict[str, ChangeRate | None]:
    """Return how often verdicts change, None where the design does not vary what would change.

    Of scores it is how many points two calls differ by, whatever dissimilarity is declared.
    """
    if tensor.scale is not None:
        points = tensor.scale.points(tensor.verdicts)
        known = infer(tensor, design=estimand.design, dissimilarity=points)
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
    known: Inference,
    claims: Claims | None,
    changes: Mapping[str, ChangeRate | None],
    said: Wording = OF_VERDICTS,
    *,
    in_vain: bool = False,
) -> str:
    """Say in at most twenty words what the bounds for the items asked carry.

    `in_vain` says that a vote was looked at and is not shown to be steadier than a call.
    """
    n = len(known.items.values)
    here = "on this item" if n == 1 else f"on these {n:,} items"
    if claims is None:
        vary = "prompts" if said.single else "prompts and orders"
        return f"What moves the {said.noun} cannot be told {here}: vary {vary}."
    most = largest_change(changes)
    if most <= said.fine:
        hardly = "Scores hardly change" if said.span else "Hardly any verdict changes"
        return f"{hardly} {here}: at most {said.amount(most)}, whatever was varied."
    if known.bounds("total", 0.95, "fixed")[0] <= 0:
        return f"Too few {said.noun} changed {here} to tell why they do."
    if len(claims.shares) == 1:
        fixed = "the prompt was" if said.single else "prompt and order were"
        return f"{said.noun.capitalize()} change by chance {here}; {fixed} not varied."
    return f"{_moved_by(claims, said)} {here}{_and_so(claims, said, in_vain=in_vain)}."


def _moved_by(claims: Claims, said: Wording) -> str:
    if claims.nearly_all_call:
        return "Nearly all changes are pure chance"
    if claims.largest is None and claims.worth:
        return f"{_MOVERS[claims.worth[0]]} clearly moves {said.noun}"
    if claims.largest is None:
        return f"What moves the {said.noun} most cannot be told"
    return f"{_MOVERS[claims.largest]} moves the {said.noun} most"


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


def _and_so(claims: Claims, said: Wording, *, in_vain: bool) -> str:
    part = claims.largest or next(iter(claims.worth), None)
    if part is None:
        return ": ask about more items"
    if part != "call":
        return f": {_REMEDIES[part]}"
    over = " and ".join(_OVER[c] for c in claims.worth if c in _OVER)
    if in_vain and not over:
        rewording = "rewording will not help, " if claims.no_rewording else ""
        return f"; {rewording}voting is not shown to help"
    vote = f": repeat and {said.pool}{', ' if over else ''}{over}"
    if in_vain:
        vote = f": ask {over}"
    if not claims.no_rewording:
        return vote
    return f"{vote}{';' if over else ','} rewording will not help"


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
        word, reason = holding.word, of_orders(holding.reason, judge.orders)
    to_do = judge.to_do
    if holding is not None and holding.when == _PROBLEM:
        to_do = (_LOOK_FIRST, *to_do)[:MOST_TO_DO]
    return replace(judge, trust=Trust(word=word, reason=reason, rules=rules), to_do=to_do)


_PROBLEM: Final = "a check of these calls found a problem"
_LOOK_FIRST: Final = ToDo(
    do="Find out what is behind the problem below",
    because="until then these numbers may be wrong",
)


def _rules(judge: JudgeAnalysis, findings: Sequence[Finding], gate: Gate | None) -> Iterator[Rule]:
    """Yield every rule in the sequence in which they are tried."""
    invalid = judge.outcomes.get(INVALID, 0) / judge.calls
    yield Rule(
        word="not yet",
        when=f"{points(MANY_INVALID)} of 100 replies or more gave no verdict",
        holds=invalid >= MANY_INVALID,
        reason=f"{points(invalid)} of 100 replies gave no verdict.",
    )
    mine = [f for f in findings if f.subject in _subjects(judge)]
    problems = [f for f in mine if f.verdict == "problem"]
    yield Rule(
        word="not yet",
        when=_PROBLEM,
        holds=bool(problems),
        reason=_plain(problems[0]) if problems else "",
    )
    yield from _by_limits(judge, gate) if gate is not None else _by_default(judge)


_PLAIN: Final = {
    "rank_gap": "Repeats are not alike: how often two agree depends on how far apart they come.",
    "elapsed_time": "Something changed over time: how often two calls agree depends on the time "
    "between them.",
    "cell_dependence": "Calls that should know nothing of each other agree more than by chance.",
    "control": "Something beside the prompt differs: labels that change nothing seem to matter.",
    "invalid_outputs": "So many replies gave no verdict that it matters how they are counted.",
}
"""Findings whose own words speak to those who know the method, as anybody may read them."""


def _plain(problem: Finding) -> str:
    return _PLAIN.get(problem.name, problem.headline)


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
    said = wording_of(judge)
    worst = _worst(judge.changes, said.fine)
    high = largest_change(judge.changes)
    when = f"more than {points(FINE)} of 100 verdicts may change between two calls"
    if said.span is not None:
        tenth = f"{in_points(said.fine)} points, a tenth of the scale"
        when = f"two calls may differ by more than {tenth}, on average"
    yield Rule(
        word="with care",
        when=when,
        holds=not high <= said.fine,
        reason="" if worst is None else _changing(*worst, said),
    )
    accuracy = None if judge.scores else accuracy_of(judge.outcomes, judge.gold_match)
    if accuracy is not None:
        yield Rule(
            word="with care",
            when=f"no more than {points(accuracy.guess)} of 100 calls give the gold verdict, as "
            "guessing would",
            holds=accuracy.poor,
            reason=f"{accuracy.words}.",
        )


def _fine(judge: JudgeAnalysis, gate: Gate | None) -> str:
    if gate is not None:
        return "Every limit of the study's gate is kept."
    said = wording_of(judge)
    tried = {c: words for c, words in _FACETS.items() if not (judge.single and c == "swap")}
    left = [words for c, words in tried.items() if judge.changes[c] is None]
    unknown = f"; {' and '.join(left)} were not tried" if left else ""
    most = largest_change(judge.changes)
    if said.span is not None:
        differ = f"two calls differ by at most {in_points(most)} points on average"
    else:
        differ = f"at most {points(most)} of 100 verdicts change between two calls"
    return f"It is stable: {differ} on these items{unknown}."


def _changing(change: str, rate: ChangeRate, said: Wording) -> str:
    text = said.changing(rate.estimate, f" {WHEN[change]}")
    text = text[0].upper() + text[1:]
    written = points if said.span is None else in_points
    if rate.call_interval is not None and rate.estimate <= said.fine:
        return f"{text}, and it may be {written(rate.call_interval[1])}."
    if rate.more is not None and _shown_more(rate):
        return f"{text}, {written(rate.estimate - rate.more)} when you just ask again."
    return f"{text}."


def _worst(changes: Mapping[str, ChangeRate | None], fine: float) -> tuple[str, ChangeRate] | None:
    """Return the largest change of those that are shown to be more than asking again.

    Both at once is named only where neither alone is shown to be more. Where the one found is fine,
    another is not: the one that may be largest.
    """
    known = {name: rate for name, rate in changes.items() if rate is not None}
    more = [name for name, rate in known.items() if _shown_more(rate)]
    alone = [name for name in more if name != "both"] or more
    again = [name for name in known if name == "ask_again"]
    worst = max(alone or again, key=lambda name: known[name].estimate, default=None)
    if worst is None:
        return None
    if largest_change({worst: known[worst]}) <= fine:
        worst = max(known, key=lambda name: largest_change({name: known[name]}))
    return worst, known[worst]


def _shown_more(rate: ChangeRate) -> bool:
    return rate.more_interval is not None and rate.more_interval[0] > 0


def _subjects(judge: JudgeAnalysis) -> set[str]:
    """Return the names under which a finding may be about this judge; "" is about all."""
    return {"", judge.name, f"{judge.name} / {judge.layer}"}
