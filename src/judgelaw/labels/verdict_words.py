"""What a validation says in one sentence: what the judge is good at, what it misses."""

from collections.abc import Mapping
from math import isnan

from judgelaw.labels.against import Against
from judgelaw.labels.opinions import Opinions
from judgelaw.labels.raters import People
from judgelaw.labels.vote_errors import Errors
from judgelaw.quantities import Estimate

_FAILING = ("fail", "failed", "failure")
_PASSING = ("pass", "passed")
_TWO = 2


def percent(e: Estimate) -> str:
    """Write a share in whole percent with its interval, as far as it lies between 0 and 100."""
    if isnan(e.low):
        return "a share not known"
    low, high = 100 * max(e.low, 0.0), 100 * min(e.high, 1.0)
    point = "no point" if isnan(e.estimate) else f"{100 * e.estimate:.0f}%"
    return f"{point} ({low:.0f} to {high:.0f})"


def sentence_of(
    found: Opinions,
    positive: str | None,
    overall: Against,
    people: People,
    strata: Mapping[str, Against],
) -> str:
    """Return the answer in words."""
    if found.kind == "scores":
        return _of_scores(overall, by_majority=people.several > 0)
    two = len(found.classes) == _TWO and positive is not None
    opening = _of_two(found, str(positive), overall) if two else _of_several(overall, people)
    parts = [opening + "; " + _of_errors(overall.errors, by_majority=people.several > 0) + "."]
    if (where := _of_strata(strata)) is not None:
        parts.append(where)
    if people.several:
        parts.append(_of_people(people))
    return " ".join(parts)


def _of_two(found: Opinions, positive: str, overall: Against) -> str:
    other = next(c for c in found.classes if c != positive)
    yes, no = overall.recall[positive], overall.recall[other]
    if isnan(yes.estimate) and isnan(no.estimate):
        return f"Agrees with people in {percent(overall.agreement)} of their votes"
    if isnan(yes.estimate) or isnan(no.estimate):
        known, e = (positive, yes) if isnan(no.estimate) else (other, no)
        rest = other if known == positive else positive
        return f"Says {known!r} where people do in {percent(e)}; nobody labelled an item {rest!r}"
    if positive.casefold() in _FAILING and other.casefold() in _PASSING:
        return f"Catches {percent(yes)} of failures, passes {percent(no)} of good answers"
    if positive.casefold() in _PASSING and other.casefold() in _FAILING:
        return f"Passes {percent(yes)} of good answers, catches {percent(no)} of failures"
    return f"Says {positive!r} where people do in {percent(yes)}, {other!r} in {percent(no)}"


def _of_several(overall: Against, people: People) -> str:
    words = f"Agrees with people in {percent(overall.agreement)} of {people.votes:,} votes"
    known = {name: e for name, e in overall.recall.items() if not isnan(e.estimate)}
    if len(known) < _TWO:
        return words
    best = max(known, key=lambda name: known[name].estimate)
    worst = min(known, key=lambda name: known[name].estimate)
    if known[best].low <= known[worst].high:
        return f"{words}; no class is shown to be recognised better than another"
    return (
        f"{words}; best at {best!r}, of which it finds {percent(known[best])}, worst at {worst!r}, "
        f"of which it finds {percent(known[worst])}"
    )


def _of_errors(e: Errors | None, *, by_majority: bool = False) -> str:
    if e is None:
        return "no item has a label that most people share"
    held = ", held against the majority," if by_majority else ""
    if isnan(e.dice.estimate):
        return (
            f"of 100 verdicts{held} {_wrong(e.rate)}, and one call an item does not tell chance "
            "from habit"
        )
    return (
        f"of 100 verdicts{held} {_wrong(e.dice)} by chance, {100 * e.repeatable.estimate:.0f} "
        "wrong again in a second call"
    )


def _wrong(e: Estimate) -> str:
    of_hundred = f"{100 * e.estimate:.0f}"
    return f"{of_hundred} {'is' if of_hundred == '1' else 'are'} wrong"


def _of_strata(strata: Mapping[str, Against]) -> str | None:
    if len(strata) < _TWO:
        return None
    best = max(strata, key=lambda name: strata[name].agreement.estimate)
    worst = min(strata, key=lambda name: strata[name].agreement.estimate)
    high, low = strata[best].agreement, strata[worst].agreement
    apart = "" if high.low > low.high else ", which these labels do not tell apart"
    return f"It agrees most on {best}, {percent(high)}, least on {worst}, {percent(low)}{apart}."


def _of_people(p: People) -> str:
    return (
        f"Where several people voted, two of them agree in {percent(p.agreement)}, the judge with "
        f"one of them in {percent(p.judge)}; with one more vote like these no judge could agree in "
        f"more than {percent(p.ceiling)}."
    )


def _of_scores(overall: Against, *, by_majority: bool) -> str:
    mae, bias = overall.scores["mae"], overall.scores["bias"]
    r = overall.scores["correlation"]
    if isnan(r.estimate):
        related = ""
    elif isnan(r.low):
        related = f"; correlation {r.estimate:.2f}"
    else:
        related = f"; correlation {r.estimate:.2f} ({r.low:.2f} to {r.high:.2f})"
    errors = _of_errors(overall.errors, by_majority=by_majority)
    if isnan(mae.low) or isnan(bias.low):
        return (
            f"Scores differ from people's by {mae.estimate:.2f}, alike on all labelled items, "
            f"which does not tell how far they would on others{related}; {errors}."
        )
    side = "above" if bias.estimate >= 0 else "below"
    low, high = sorted((abs(bias.low), abs(bias.high)))
    known = bias.low > 0 or bias.high < 0
    lean = (
        f"{abs(bias.estimate):.2f} {side} them on average ({low:.2f} to {high:.2f})"
        if known
        else f"not shown to lean (bias {bias.estimate:+.2f}, {bias.low:+.2f} to {bias.high:+.2f})"
    )
    return (
        f"Scores differ from people's by {mae.estimate:.2f} ({mae.low:.2f} to {mae.high:.2f}) and "
        f"are {lean}{related}; {errors}."
    )
