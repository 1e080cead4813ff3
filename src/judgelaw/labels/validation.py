"""The answer of `validate`: a judge against people, with its sentence and its JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite, nan
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from judgelaw.errors import InputError
from judgelaw.frames import Result
from judgelaw.labels.against import Against, against, by_prompt, by_stratum, confusion
from judgelaw.labels.label_budget import LabelBudget
from judgelaw.labels.opinions import Opinions
from judgelaw.labels.pass_rate import METHODS, LabelChoice, PassRate, Shares, ppi, rogan_gladen
from judgelaw.labels.raters import People, Suspect, people, suspects
from judgelaw.labels.targets import Minimum, budgets, minima
from judgelaw.labels.verdict_words import sentence_of
from judgelaw.quantities import Estimate, unknown
from judgelaw.streams import stream
from judgelaw.words import did_you_mean, listed

SCHEMA = "judgelaw.validation/1"
_TWO = 2


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Validation(Result):
    """A judge against people.

    Attributes:
        human: the column that holds the labels.
        judge: whose verdicts; None where the table does not tell.
        opinions: what was said, item by item.
        positive: the class that `tpr` speaks of, None unless there are two or one was named.
        overall: recall, agreement, kappa and errors on all labelled items.
        people: how far people agree with each other.
        pass_rate: how often one class is right among items nobody labelled.
        by_prompt, by_stratum: the same as `overall`; empty where there is one only.
        confusion: calls by label and verdict, rows as `classes`, columns as `opinions.verdicts`.
        look_first: items on which judge and people differ most surely.
        limits: least values that were asked for, and whether they are reached.
        certify: labels that would show a target.
        notes: what to know about the table.
        sentence: the answer in words.
    """

    human: str
    judge: str | None
    opinions: Opinions
    positive: str | None
    overall: Against
    people: People
    pass_rate: PassRate
    by_prompt: Mapping[str, Against]
    by_stratum: Mapping[str, Against]
    confusion: NDArray[np.int64]
    look_first: tuple[Suspect, ...]
    limits: tuple[Minimum, ...]
    certify: tuple[LabelBudget, ...]
    notes: tuple[str, ...]
    sentence: str

    schema = SCHEMA
    passes = "pass"

    def in_words(self) -> str:
        """Give the answer."""
        return self.sentence

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each figure: agreement, kappa, recall of each class, errors."""
        found: dict[str, Estimate] = {"agreement": self.agreement, "kappa": self.kappa}
        found |= {f"recall of {name}": e for name, e in self.recall.items()}
        found |= self.overall.scores
        if (errors := self.overall.errors) is not None:
            found |= {"errors": errors.rate, "repeatable": errors.repeatable, "dice": errors.dice}
        if self.pass_rate.corrected is not None:
            found[f"rate of {self.pass_rate.of}, unlabelled"] = self.pass_rate.corrected
        return [
            {"figure": name, "estimate": e.estimate, "low": e.low, "high": e.high}
            for name, e in found.items()
        ]

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels that people gave."""
        return self.opinions.classes

    @property
    def labelled(self) -> int:
        """Items with a label."""
        return self.overall.labelled

    @property
    def recall(self) -> Mapping[str, Estimate]:
        """How often the judge says a class where people do."""
        return self.overall.recall

    @property
    def tpr(self) -> Estimate | None:
        """Recall of the positive class, of two."""
        return self._of_two(right=True)

    @property
    def tnr(self) -> Estimate | None:
        """Recall of the other class, of two."""
        return self._of_two(right=False)

    @property
    def agreement(self) -> Estimate:
        """How often a verdict is what a person said."""
        return self.overall.agreement

    @property
    def kappa(self) -> Estimate:
        """Agreement beyond chance."""
        return self.overall.kappa

    @property
    def verdict(self) -> Literal["pass", "fail", "inconclusive"]:
        """What the limits say together; `pass` where there is none."""
        found = {one.verdict for one in self.limits}
        if "fail" in found:
            return "fail"
        return "inconclusive" if "inconclusive" in found else "pass"

    def _of_two(self, *, right: bool) -> Estimate | None:
        if len(self.classes) != _TWO or self.opinions.kind == "scores":
            return None
        return next(e for c, e in self.recall.items() if (c == self.positive) == right)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON holds it; what does not exist is null."""
        return to_json(self)


def validate_opinions(
    found: Opinions,
    *,
    human: str = "human",
    judge: str | None = None,
    positive: str | None = None,
    labels: LabelChoice | None = None,
    minimum: Mapping[str, float] | None = None,
    certify: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Validation:
    """Hold what a judge said against what people said.

    Args:
        found: both.
        human: the column that holds the labels, for words.
        judge: the name of the judge, for words.
        positive: the class that TPR and the corrected rate speak of.
        labels: how the labelled items were chosen; None leaves the rate uncorrected.
        minimum: least values of recall, tpr, tnr, agreement or kappa.
        certify: targets of the same names, to count the labels that would show them.
        seed: of the draws.
    """
    _check_labels(labels)
    named = _positive(found, positive)
    asked = named if positive is not None else None
    overall = against(found, seed=seed)
    rate = _pass_rate(found, named, labels, seed)
    raters = people(found)
    strata = by_stratum(found, seed)
    return Validation(
        human=human,
        judge=judge,
        opinions=found,
        positive=named,
        overall=overall,
        people=raters,
        pass_rate=rate,
        by_prompt=by_prompt(found, seed),
        by_stratum=strata,
        confusion=confusion(found),
        look_first=suspects(found),
        limits=minima(found, asked, minimum or {}, seed),
        certify=budgets(found, asked, certify or {}, overall),
        notes=(*found.notes, *_notes(overall, raters)),
        sentence=sentence_of(found, named, overall, raters, strata),
    )


def _check_labels(labels: str | None) -> None:
    if labels not in (None, *METHODS):
        raise InputError(
            f"labels={labels!r}: say 'random' where the labelled items are a random subset of all, "
            "'chosen' where somebody or something picked them"
        )


def _positive(found: Opinions, asked: str | None) -> str | None:
    if asked is None:
        two = len(found.classes) == _TWO and found.kind != "scores"
        return found.classes[-1] if two else None
    fits = [c for c in found.classes if c.casefold() == asked.strip().casefold()]
    if not fits:
        raise InputError(
            f"positive={asked!r}: no label is called that{did_you_mean(asked, found.classes)}; "
            f"people say {listed(found.classes)}: name one of them"
        )
    return fits[0]


def _notes(overall: Against, raters: People) -> list[str]:
    notes = []
    if raters.tied:
        notes.append(
            f"{raters.tied} labelled items have no majority among their raters: they count in the "
            "agreement, and nowhere else"
        )
    if overall.errors is not None and overall.errors.reason:
        notes.append(overall.errors.reason)
    return notes


def _pass_rate(
    found: Opinions, positive: str | None, labels: LabelChoice | None, seed: int
) -> PassRate:
    """Return the rate of the class `pass` where one is called so, else of the positive class."""
    passing = [c for c in found.classes if c.casefold() in ("pass", "passed")]
    if positive is None:
        reason = "several classes: name the one whose rate is asked for, positive= (--positive)"
        return PassRate(of=None, observed=nan, observed_everywhere=nan, reason=reason)
    of = passing[0] if passing else positive
    c = found.classes.index(of)
    f, free = found.shares[:, c], ~found.voted
    everywhere = float(f.mean())
    if not free.any():
        return PassRate(
            of=of,
            observed=everywhere,
            observed_everywhere=everywhere,
            reason="every item is labelled: nothing is left to correct",
        )
    observed = float(f[free].mean())
    if labels is None:
        reason = (
            "say how the labelled items were chosen, labels='random' or 'chosen' (--labels): the "
            "right correction depends on it"
        )
        return PassRate(of=of, observed=observed, observed_everywhere=everywhere, reason=reason)
    there, whole = _corrected(found, c, labels, seed)
    return PassRate(
        of=of,
        observed=observed,
        observed_everywhere=everywhere,
        corrected=there,
        corrected_everywhere=whole,
        method=METHODS[labels],
        reason=there.reason,
    )


def _corrected(
    found: Opinions, c: int, labels: LabelChoice, seed: int
) -> tuple[Estimate, Estimate | None]:
    f, calls = found.shares[:, c], found.calls.sum(axis=1)
    settled, free = found.label >= 0, ~found.voted
    y = (found.label == c).astype(float)
    if labels == "random":
        return ppi(y[settled], f[settled], f[free]), None
    yes, no = settled & (y == 1), settled & (y == 0)
    if not yes.any() or not no.any():
        nothing = unknown("labels of one class only: the judge's error rates are not known")
        return nothing, nothing

    def of(which: NDArray[np.bool_]) -> Shares:
        return Shares(x=f[which], calls=int(calls[which].sum()))

    return rogan_gladen(of(yes), of(no), of(free), stream(seed, "labels", "rate"))


def to_json(v: Validation) -> dict[str, Any]:
    """Return a validation as JSON holds it."""
    rate = v.pass_rate
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "judge": v.judge,
        "human": v.human,
        "labelled": v.labelled,
        "unlabelled": len(v.opinions.items) - v.labelled,
        "classes": list(v.classes),
        "positive": v.positive,
        **_against(v.overall),
        "pass_rate": {
            "of": rate.of,
            "observed": _number(rate.observed),
            "observed_everywhere": _number(rate.observed_everywhere),
            "corrected": rate.corrected and rate.corrected.to_json(),
            "corrected_everywhere": rate.corrected_everywhere
            and rate.corrected_everywhere.to_json(),
            "method": rate.method,
            "reason": rate.reason or None,
        },
        "sentence": v.sentence,
        "people": {
            "votes": v.people.votes,
            "several": v.people.several,
            "tied": v.people.tied,
            "agreement": v.people.agreement.to_json(),
            "ceiling": v.people.ceiling.to_json(),
            "judge": v.people.judge.to_json(),
        },
        "confusion": {
            label: dict(zip(v.opinions.verdicts, row.tolist(), strict=True))
            for label, row in zip(v.classes, v.confusion, strict=True)
        },
        "by_prompt": {name: _against(one) for name, one in v.by_prompt.items()},
        "by_stratum": {name: _against(one) for name, one in v.by_stratum.items()},
        "look_first": [asdict(one) for one in v.look_first],
        "certify": [asdict(one) for one in v.certify],
        "notes": list(v.notes),
    }
    if v.tpr is not None and v.tnr is not None:
        found |= {"tpr": v.tpr.to_json(), "tnr": v.tnr.to_json()}
    if v.limits:
        limits = [{k: _number(x) for k, x in asdict(one).items()} for one in v.limits]
        found["gate"] = {"verdict": v.verdict, "limits": limits}
    return found


def _against(a: Against) -> dict[str, Any]:
    found: dict[str, Any] = {
        "labelled": a.labelled,
        "recall": {name: e.to_json() for name, e in a.recall.items()},
        "agreement": a.agreement.to_json(),
        "kappa": a.kappa.to_json(),
        "errors": None,
    }
    if (e := a.errors) is not None:
        parts = {"rate": e.rate, "repeatable": e.repeatable, "dice": e.dice}
        found["errors"] = {
            **{name: _number(one.estimate) for name, one in parts.items()},
            "votes": {str(m): _number(one.estimate) for m, one in e.votes.items()},
            "intervals": {name: one.to_json() for name, one in parts.items()},
            "vote_intervals": {str(m): one.to_json() for m, one in e.votes.items()},
        }
    if a.scores:
        found["scores"] = {name: one.to_json() for name, one in a.scores.items()}
    return found


def _number(x: Any) -> Any:
    return None if isinstance(x, float) and not isfinite(x) else x
