"""The frozen values of a complete analysis: what the report, the gate and the JSON read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from math import nan
from typing import Any

from judgelaw.analysis.answer import Answer, Best
from judgelaw.analysis.facet_values import (
    Identity,
    ItemValues,
    LargestComponent,
    OrderDirection,
    OtherMetric,
    PromptDistances,
    PromptLean,
    SlotPreference,
)
from judgelaw.analysis.look_first import ItemTable
from judgelaw.analysis.score_answers import ScoreAnswers
from judgelaw.analysis.soft_evidence import SoftEvidence
from judgelaw.decide import MorePrompts, PromptRow
from judgelaw.diagnose import Cell, Finding, ProbeEffect
from judgelaw.errors import InputError
from judgelaw.estimate import Design
from judgelaw.frames import Picture, Result, bars_svg
from judgelaw.quantities import Components, Evidence, Quantities, Quantity
from judgelaw.uncertainty import ErrorSplit, Interval, PermutationTest
from judgelaw.words import visible

_SAID = 3
"""Judges whose sentence an analysis says of itself."""
_BRIEF = (
    "estimate",
    "interval_low",
    "interval_high",
    "call_interval_low",
    "call_interval_high",
    "plugin",
)

Key = tuple[str | None, str]
"""Layer (None where the data has none) and judge."""


@dataclass(frozen=True, kw_only=True, repr=False)
class JudgeAnalysis(Result):
    """Everything that the calls of one judge in one layer say.

    Attributes:
        name, layer: which calls.
        items, prompts, orders: how many of each.
        repeats: calls in a cell, or (min, max) where cells differ.
        calls: how many verdicts were counted.
        quantities: every estimate with its errors, one row each.
        permutation: p values of "same law under every prompt" and "... order"; None where absent
            or not asked for.
        split: where the error of each macroaverage comes from, calls or items; empty below four
            repeats.
        lead: the largest component; None where the design has one component.
        item_values: estimates of single items.
        prompt_distances: None with one prompt.
        order_direction: None where positions are not known.
        prompt_leans: the same for every prompt, on the items asked; empty where not known.
        slots: how often the answer in each displayed slot is chosen; empty where not known.
        factor_levels: names of the levels, by factor.
        by_prompt: noise, invalid outputs, lean, accuracy and distance of every prompt, and whether
            it is to be kept.
        projection: prompt component with the error of drawing prompts; sampled designs only.
        other_metrics: flip rate, kappa, ... on the same calls.
        identity: the live identity check at each depth with equal repeats.
        probes: what changes of an answer do to the verdict; main layer only.
        warnings: what to know before quoting the numbers.
        evidence: what the components rest on: "sampled" verdicts, or "soft" token probabilities.
        soft: what token probabilities say beside them; None where there are none.
        single: whether single answers were judged, so that there is no order at all.
        scores: mean score, scores by prompt and against gold; None where verdicts are no scores.
        answer: may it be used, and what should change.
        more_prompts: whether wording matters for prompts like these, and how many more would tell;
            None where prompts were not drawn.
    """

    name: str
    layer: str | None
    items: int
    prompts: int
    orders: int
    repeats: int | tuple[int, int]
    calls: int
    quantities: Quantities
    permutation: Mapping[str, PermutationTest | None]
    split: Mapping[str, ErrorSplit]
    lead: LargestComponent | None
    item_values: ItemValues
    prompt_distances: PromptDistances | None
    order_direction: OrderDirection | None
    prompt_leans: tuple[PromptLean, ...]
    slots: tuple[SlotPreference, ...]
    factor_levels: Mapping[str, tuple[str, ...]]
    by_prompt: tuple[PromptRow, ...]
    projection: Interval | None
    other_metrics: tuple[OtherMetric, ...]
    identity: tuple[Identity, ...]
    warnings: tuple[str, ...]
    answer: Answer
    evidence: Evidence = "sampled"
    soft: SoftEvidence | None = None
    probes: Mapping[str, ProbeEffect] = field(default_factory=dict)
    single: bool = False
    scores: ScoreAnswers | None = None
    more_prompts: MorePrompts | None = None

    schema = "judgelaw.judge/1"
    brief = ("component", *_BRIEF)

    def in_words(self) -> str:
        """Give the answer, in one plain sentence."""
        return self.answer.headline

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each component."""
        return [{"component": name, **_flat(c)} for name, c in self.components.items()]

    def to_json(self) -> dict[str, Any]:
        """Return what the analysis document holds of this judge."""
        from judgelaw.analysis.encode import encode_judge  # noqa: PLC0415 - it imports this module

        return {"schema": self.schema, **encode_judge(self)}

    def _repr_html_(self) -> str:
        estimates = {name: c.estimate for name, c in self.components.items()}
        plugins = {name: c.plugin for name, c in self.components.items()}
        return super()._repr_html_() + bars_svg(estimates, plugins)

    @cached_property
    def depths(self) -> Mapping[int, Components]:
        """Components at nested prefixes of the repeat ranks, the full depth included."""
        return {at: self.quantities.of("depths", at) for at in self.quantities.places("depths")}

    @property
    def components(self) -> Components:
        """Components at the full depth, by name."""
        return self.depths[max(self.depths)]

    @cached_property
    def strata(self) -> Mapping[str, Components]:
        """Components of each stratum, by name; their bands are their intervals."""
        return {at: self.quantities.of("strata", at) for at in self.quantities.places("strata")}

    @property
    def factors(self) -> Components:
        """Parts of the prompt component by the factors that prompts cross; empty for none.

        By name, `wrapper` and `wrapper x language`.
        """
        return self.quantities.of("factors")

    @cached_property
    def changes(self) -> Mapping[str, Quantity | None]:
        """How often a verdict changes between two calls; None where the design does not vary it.

        `ask_again`, `reword`, `swap`, `both`. Of scores: by how many points.
        """
        found = self.quantities.of("changes")
        return {name: None if rate.absent else rate for name, rate in found.items()}

    @property
    def outcomes(self) -> Mapping[str, int]:
        """Calls by verdict."""
        return {v: int(n.estimate) for v, n in self.quantities.of("outcomes").items()}

    @property
    def figures(self) -> Components:
        """What the catalogue of quantities measures, by name."""
        return self.quantities.of("figures")

    @property
    def errors(self) -> Components:
        """The share of verdicts that are wrong, and of each reason; empty without gold."""
        return self.quantities.of("errors")

    @property
    def right_by_prompt(self) -> Components:
        """How often the judge is right under each prompt, by name; empty without gold."""
        return self.quantities.of("right_by_prompt")

    @property
    def gold_match(self) -> float | None:
        """Share of calls that gave the gold verdict, None without gold.

        Tie and invalid do not match a gold candidate.
        """
        found = self.figures["gold_match"]
        return None if found.absent else found.estimate

    @property
    def unanimous_cells(self) -> float:
        """Share of cells whose calls all agree; 1 is a near-deterministic judge."""
        return self.figures["unanimous_cells"].estimate

    @property
    def sentence(self) -> str:
        """The answer in a line."""
        return self.answer.headline

    @property
    def one_call(self) -> bool:
        """Whether every cell holds a single call, so that chance is not known."""
        return self.repeats == 1

    @property
    def near_deterministic(self) -> bool:
        """Whether every cell is unanimous, so that these calls show no call noise at all."""
        return self.unanimous_cells == 1


@dataclass(frozen=True, kw_only=True, repr=False)
class Table(Result):
    """A table of the analysis, named as in the paper where the paper has it.

    Attributes:
        name: `real_prompt_estimates`, `cross_prompt`, ...
        title: one line for people.
        columns: machine names; a band is the columns `X`, `X_low`, `X_high`.
        rows: one tuple for each row, in the order of the columns; None is not available.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    schema = "judgelaw.table/1"

    def in_words(self) -> str:
        """Give the title."""
        return self.title

    def records(self) -> list[dict[str, Any]]:
        """Return the rows by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the analysis was made: with these and the calls it can be repeated to the last digit.

    Attributes:
        design: "census" or "sampled".
        draws: item resamples of the bands.
        seed: of every random choice.
        permutations: shuffles of the permutation tests.
        level: nominal coverage of bands and intervals.
        version: of judgelaw.
        order_weights: by order, None where orders weigh the same.
        soft: "auto", "never" or "only": whether token probabilities may answer.
    """

    design: Design
    draws: int
    seed: int
    permutations: int
    level: float
    version: str
    order_weights: Mapping[str, float] | None = None
    soft: str = "auto"


@dataclass(frozen=True, kw_only=True, repr=False)
class Analysis(Result):
    """One complete analysis of one table.

    Attributes:
        judges: the main layer, by judge.
        layers: every layer by name, then judge; empty where the data has no layers.
        main_layer: name of the layer in `judges`, None where the data has none.
        roles: role of each layer.
        settings: how it was made.
        diagnostics: what the diagnostics found, problems first.
        tables: paper-named tables by name.
        left_out: why a table that the paper has cannot be made from these calls, by its name.
        warnings: about the whole table.
        best: the judge that is shown to be right more often than every other, if one is.
        reading: how the table was read, in a line; empty for calls that were read before.
        item_tables: every item of every judge, by layer and judge, with its texts where known.
        draw: draws a figure of the page by name; None where the calls are not at hand.

    Of one judge, `answer`, `components`, `changes` and `items` stand here too.
    """

    judges: Mapping[str, JudgeAnalysis]
    layers: Mapping[str, Mapping[str, JudgeAnalysis]]
    main_layer: str | None
    roles: Mapping[str, str]
    settings: Settings
    diagnostics: tuple[Finding, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    best: Best | None = None
    reading: str = ""
    item_tables: Mapping[Key, ItemTable] = field(default_factory=dict)
    draw: "Callable[[Analysis, str | None], Picture] | None" = field(default=None, compare=False)

    schema = "judgelaw.analysis/1"
    brief = ("judge", "component", *_BRIEF)

    def in_words(self) -> str:
        """Give the answer of the judge, or of every judge by name; of the first ones where many."""
        if len(self.judges) == 1:
            (judge,) = self.judges.values()
            return judge.answer.headline
        said = [f"{name}: {j.answer.headline}" for name, j in list(self.judges.items())[:_SAID]]
        more = len(self.judges) - _SAID
        return "\n".join([*said, f"and {more} judges more"] if more > 0 else said)

    @property
    def answer(self) -> Answer:
        """May the judge be used, and what should change; of one judge."""
        return self._the("answer").answer

    @property
    def components(self) -> Components:
        """Components at the full depth, by name; of one judge."""
        return self._the("components").components

    @property
    def changes(self) -> Mapping[str, Quantity | None]:
        """How often a verdict changes between two calls, by what is changed; of one judge."""
        return self._the("changes").changes

    @property
    def items(self) -> ItemTable:
        """Every item with its texts, its verdicts, how often it was right and changed."""
        return self.item_tables[self.main_layer, self._the("items").name]

    def plot(self, figure: str | None = None) -> Picture:
        """Draw a figure of the page, as a notebook shows it; by default the first.

        Raises:
            InputError: no figure is called so; the message lists those there are.
        """
        if self.draw is None:
            raise InputError("nothing to draw from: analyse the calls with jl.analyze")
        return self.draw(self, figure)

    def _the(self, asked: str) -> JudgeAnalysis:
        """Return the only judge."""
        if len(self.judges) == 1:
            return next(iter(self.judges.values()))
        names = ", ".join(map(repr, self.judges))
        where = "item_tables[layer, name]" if asked == "items" else f"judges[name].{asked}"
        raise AttributeError(f"there are several judges, {names}: take analysis.{where}")

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each judge and component of every layer, the main layer first."""
        main = [(self.main_layer, name, found) for name, found in self.judges.items()]
        others = [
            (layer, name, found)
            for (layer, name), found in self.streams().items()
            if layer != self.main_layer
        ]
        return [
            {"layer": layer, "judge": name, "component": component, **_flat(c)}
            for layer, name, found in [*main, *others]
            for component, c in found.components.items()
        ]

    def _repr_html_(self) -> str:
        shown = list(self.judges.items())[:_SAID]
        parts = [f"<h4>{escape(visible(name))}</h4>{j._repr_html_()}" for name, j in shown]
        more = len(self.judges) - _SAID
        return "".join([*parts, f"<p>and {more} judges more</p>"] if more > 0 else parts)

    def to_json(self) -> dict[str, Any]:
        """Return the `judgelaw.analysis/1` document: plain values, None for what is nan."""
        from judgelaw.analysis.encode import encode  # noqa: PLC0415 - encode imports this module

        return encode(self)

    @property
    def quantities(self) -> Quantities:
        """The long table: every estimate of every judge in every layer, one row each."""
        every = self.streams().values()
        return Quantities(tuple(row for found in every for row in found.quantities))

    def streams(self) -> Mapping[Key, JudgeAnalysis]:
        """Return every judge of every layer."""
        if not self.layers:
            return {(None, name): found for name, found in self.judges.items()}
        return {
            (layer, name): found
            for layer, judges in self.layers.items()
            for name, found in judges.items()
        }


def _flat(c: Quantity) -> dict[str, Any]:
    """Return the figures of a component that a frame holds, nan where there are none."""
    flat: dict[str, Any] = {"estimate": c.estimate, "plugin": c.plugin}
    for name in ("interval", "call_interval", "band"):
        low, high = getattr(c, name) or (nan, nan)
        flat |= {f"{name}_low": low, f"{name}_high": high}
    return flat | {"call_se": nan if c.call_se is None else c.call_se, "share": c.share}
