"""What a study declares of its prompts and orders."""

import re
from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from judgelaw.wire import (
    Decoding,
    Fault,
    JudgeSpec,
    Model,
    Name,
    PositiveFloat,
    PositiveInt,
    with_tuples,
)
from judgelaw.words import LEVEL_MARKS

_LEVELS = 2
_MOST_CROSSED = 1_000
_FACTOR = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
_RESERVED = re.compile(r"instruction|candidates|candidate(_[a-z])?")


class TemplateSpec(Model):
    """One template: text before and after the item block, or a free text with placeholders.

    Attributes:
        id: what the calls table calls it.
        prefix, suffix: texts before and after the item.
        text: a whole prompt with places such as `{instruction}` and `{candidate_a}`.
    """

    id: Name
    prefix: str | None = None
    suffix: str | None = None
    text: str | None = None

    def problems(self) -> Iterator[Fault]:
        """Yield a template that is written in both ways, or in none."""
        around = self.prefix is not None or self.suffix is not None
        if around == (self.text is not None):
            yield (), "must give prefix and suffix, or text, one of them; choose"


class Census(Model):
    """All the prompts that the estimate is about.

    Attributes:
        policy: `census`.
        templates: the prompts, one by one.
        path: files of prompts, as in `prompts/*.txt`; a file's name is the id.
        block: how an item is laid out between prefix and suffix.
    """

    policy: Literal["census"]
    templates: tuple[TemplateSpec, ...] = ()
    path: str | None = None
    block: str | None = None

    def problems(self) -> Iterator[Fault]:
        """Yield what is wrong with how prompts are given, and with ids of several."""
        if bool(self.templates) == (self.path is not None):
            yield (), "must list templates or name a path, one of them; choose"
        seen: set[str] = set()
        for place, template in enumerate(self.templates):
            if template.id in seen:
                text = f"{template.id!r}, already used; ids must be distinct"
                yield ("templates", place, "id"), text
            seen.add(template.id)


class Grammar(Model):
    """The choices from which a generator draws wrappers around one criterion.

    Attributes:
        headings: words that may stand above the instructions.
        cases: how headings are written.
        styles: how headings are marked.
        separators: what may stand between the parts.
    """

    headings: tuple[str, ...] | None = None
    cases: tuple[Literal["upper", "title", "sentence", "lower"], ...] | None = None
    styles: (
        tuple[Literal["none", "plain", "colon", "brackets", "xml", "markdown", "bold", "rule"], ...]
        | None
    ) = None
    separators: tuple[str, ...] | None = None

    def problems(self) -> Iterator[Fault]:
        """Yield headings that are no line."""
        for place, heading in enumerate(self.headings or ()):
            if not heading.strip() or not heading.isprintable():
                text = f"{heading[:40]!r}, must be one printable line; correct it"
                yield ("headings", place), text


class Generator(Model):
    """Prompts sampled by seed from a grammar: the estimate is about the grammar.

    Attributes:
        policy: `generator`.
        count: how many prompts are drawn.
        grammar: the choices that prompts are drawn from.
        criterion: the sentence that says what is judged.
        output: the sentence that says how to answer.
        block: how an item is laid out.
    """

    policy: Literal["generator"]
    count: PositiveInt
    grammar: Literal["wrappers"] | Grammar = "wrappers"
    criterion: str | None = None
    output: str | None = None
    block: str | None = None


class Factors(Model):
    """The full crossing of named levels, each a text that fills its place in one template.

    Attributes:
        factors: levels by factor: a list of short texts, which are their own names, or texts by
            name. A text may hold the place of a factor that is declared after it.
        template: the file with a place `{factor}` for every factor, and for the item.
        policy: `factors`.
    """

    policy: Literal["factors"] = "factors"
    factors: dict[Name, tuple[str, ...] | dict[Name, str]]
    template: str = Field(min_length=1)

    def problems(self) -> Iterator[Fault]:
        """Yield what is wrong with the levels of each factor, and with their crossing."""
        if not self.factors:
            text = "empty, levels are crossed over one factor or more; name one with its levels"
            yield ("factors",), text
        for factor, given in self.factors.items():
            path = ("factors", factor)
            if not _FACTOR.fullmatch(factor) or _RESERVED.fullmatch(factor):
                text = (
                    f"{factor!r}, must be a word of letters, digits and _ that no field of an item "
                    "has; choose another"
                )
                yield path, text
            levels = [*given]
            if len(levels) < _LEVELS:
                shown = repr(levels[0]) if levels else "no level"
                text = f"{shown}, a factor needs two levels or more to vary; add one, or write the"
                yield path, f"{text} text into the template"
            if twice := [level for level, n in Counter(levels).items() if n > 1]:
                yield path, f"{twice[0]!r}, given twice; count each level once"
            for level in given if isinstance(given, dict) else ():
                if set(level) & set(LEVEL_MARKS):
                    text = f"{level!r}, a name of a level holds no , and no =; choose another"
                    yield (*path, level), text
        crossed = prod(len(given) for given in self.factors.values())
        if crossed > _MOST_CROSSED:
            text = f"{crossed:,} prompts, the crossing must have {_MOST_CROSSED:,} at most; leave"
            yield ("factors",), f"{text} out levels"


Marks = Literal["dash", "star", "bullet", "number", "bracket", "letter"]
"""How the entries of a list begin: `-`, `*`, `•`, `1.`, `1)`, `(a)`."""


class Rules(Model):
    """What a generator without a model may change; what is left out stays as it is.

    Attributes:
        order: the entries of every list, such as one of criteria, in any order; but for lists whose
            text says that their sequence means something, as in "the most important first".
        numbering: how the entries of every list begin; `true` for any of six ways.
        wrappers: a heading around the instructions, from the grammar `wrappers` or an own one.
        labels: other words for the labels that the judge answers with, the first ones together, the
            second ones together, and so on; its parser reads them all.
        languages: the template in other languages by name, each a file or the text itself; the
            template as it is counts as one more.
    """

    order: bool = False
    numbering: bool | tuple[Marks, ...] = False
    wrappers: bool | Grammar = False
    labels: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    languages: dict[Name, str] = Field(default_factory=dict)


def _listed_rules(value: Any) -> Any:
    """Let a list of names stand for rules that need nothing more."""
    if isinstance(value, list | tuple):
        return dict.fromkeys(map(str, value), True)
    # After this step pydantic treats the data as Python values, where a list is no tuple.
    return with_tuples(value)


class Reworded(Model):
    """Rewordings of one template, each drawn by a seed of its own.

    `policy: generator` takes the draws as they come, duplicates too: the estimate is about prompts
    like these. `policy: census` takes a varied set of them: the estimate is about this set.

    Attributes:
        count: how many prompts.
        among: of a varied set, how many draws it is chosen from; four for one by default.
        text, template: the template itself, or its file.
        model: who rewords, a judge of the study by name or one that is declared here.
        rules: what is changed by rule, where no model rewords.
        instruction: what the model is told; the text follows it.
        decoding: of the model while it rewords; by default temperature 1 and room for the text.
        alternatives: sentences of the template, each with others that may stand in its place. A
            model chooses among them, rules draw one.
        keep: texts that every rewording has to hold as they are.
        seed: of the draws; by default the study's.
        approved: leave out what people struck because its meaning had changed.
        draws: the folder of the draws; by default `rewordings/NAME` beside the study.
        policy: `generator` or `census`.
        grammar: `reworded`.
    """

    policy: Literal["generator", "census"]
    grammar: Literal["reworded"]
    count: PositiveInt
    among: PositiveInt | None = None
    text: str | None = None
    template: str | None = None
    model: Name | JudgeSpec | None = None
    rules: Annotated[Rules, BeforeValidator(_listed_rules)] | None = None
    instruction: str | None = Field(default=None, min_length=1)
    decoding: Decoding | None = None
    alternatives: tuple[tuple[str, ...], ...] = ()
    keep: tuple[str, ...] = ()
    seed: Annotated[int, Field(ge=0)] | None = None
    approved: bool = False
    draws: str | None = None


def _policy(value: Any) -> str | None:
    if isinstance(value, str):
        return "name"
    given = value.get("grammar") if isinstance(value, dict) else None
    if isinstance(value, Reworded) or given == "reworded":
        return "reworded"
    if isinstance(value, Factors) or (isinstance(value, dict) and "factors" in value):
        return "factors"
    policy = value.get("policy") if isinstance(value, dict) else getattr(value, "policy", None)
    return policy if policy in ("census", "generator") else None


Prompts = Annotated[
    Annotated[Literal["paper-six"], Tag("name")]
    | Annotated[Census, Tag("census")]
    | Annotated[Generator, Tag("generator")]
    | Annotated[Reworded, Tag("reworded")]
    | Annotated[Factors, Tag("factors")],
    Discriminator(_policy),
]


def drawn_count(prompts: Prompts) -> int | None:
    """Return how many prompts a generator draws; None for prompts that are all there are."""
    if isinstance(prompts, Generator | Reworded) and prompts.policy == "generator":
        return prompts.count
    return None


class SampledOrders(Model):
    """Orders of several candidates drawn by seed, so that all stand equally often in every slot.

    Attributes:
        sample: how many orders are drawn.
    """

    sample: PositiveInt


def _orders_form(value: Any) -> str:
    if isinstance(value, str):
        return "name"
    drawn = isinstance(value, SampledOrders) or (isinstance(value, dict) and "sample" in value)
    return "sample" if drawn else "weights"


Orders = Annotated[
    Annotated[Literal["cyclic", "all"], Tag("name")]
    | Annotated[SampledOrders, Tag("sample")]
    | Annotated[dict[str, PositiveFloat], Tag("weights")],
    Discriminator(_orders_form),
]
"""Weights by order; or for several candidates a rule, which the items turn into weights."""
