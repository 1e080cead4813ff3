"""What a study file declares: its fields, its presets, its JSON Schema."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasChoices, Discriminator, Field, Tag

from judgelaw.study.depths import Depth, Repeats, Stop
from judgelaw.study.presets import DERIVED, PRESETS
from judgelaw.study.prompt_models import Generator, Orders, Prompts, Reworded
from judgelaw.study.transforms import ProbeEntry
from judgelaw.tensor import SINGLE
from judgelaw.wire import (
    PROVIDERS,
    JudgeSpec,
    Model,
    Name,
    ParserSpec,
    PositiveFloat,
    PositiveInt,
    Share,
)
from judgelaw.words import plain_number, probe_layer, probed_by, sides

Role = Literal["audit", "evaluation", "reference", "control", "probe"]
Task = Literal["pairwise", "pointwise", "choose"]
Dissimilarity = Literal["ordinal", "numeric", "nominal"]

T = TypeVar("T")
Free = Annotated[T, "free"]
"""A field that changes no call: it may be amended on resume, and every change is recorded."""

PAPER_SIX = "paper-six"
ORDERS = ("AB", "BA")
CYCLIC = "cyclic"
MAIN: tuple[Role, ...] = ("audit", "evaluation")
"""Roles of the layer that answers, and that probes are held against; the first that is there."""


class Selection(Model):
    """Which of the items: so many of each stratum by seed, or the rest of another selection.

    Attributes:
        per_stratum: so many items of each stratum.
        complement_of: all items that are not in the selection of this name.
    """

    per_stratum: PositiveInt | None = None
    complement_of: str | None = None


class Items(Model):
    """Where the items are, and how their fields are called there; `strata` are those of LLMBar.

    Attributes:
        source: the format of the file.
        path: the file, or the folder of LLMBar, relative to the study.
        fields: the name in the file of each field that is called otherwise there.
        strata: of LLMBar: by subset, or by split.
        sample: which of the items are asked; absent, all.
        selections: further selections by name, for layers.
    """

    source: Literal["jsonl", "csv", "parquet", "llmbar"]
    path: str = Field(min_length=1)
    fields: dict[str, str] = Field(default_factory=dict)
    strata: Literal["subset", "split"] = "subset"
    sample: Selection | None = None
    selections: dict[str, Selection] = Field(default_factory=dict)


class Reuse(Model):
    """Calls of another layer that stand in this one too: asked once, counted in both.

    Attributes:
        layer: the layer that makes the calls.
        judge: the judge whose calls they are.
        repeats: the first so many repeats of every cell; absent, as many as this layer has.
    """

    layer: str
    judge: str
    repeats: Depth | None = None


class Layer(Model):
    """A stream of calls with a role; it shares no call with another layer but those it reuses.

    Attributes:
        repeats: calls in a cell; absent, those of `reuse`, else the study's.
        items: a selection by name; absent, that of the layer reused, else the study's own `sample`.
        judges: names of judges, or of the family that a grid expanded; absent, all but the one
            whose calls are reused.
        reuse: calls of another layer that are part of this one.
        labels: hidden labels of a control layer.
        prompt: the template that a control layer repeats; absent, the first.
        name: what the calls table calls it.
        role: `audit` and `evaluation` answer; `reference` is asked deeper; `control` repeats one
            prompt.
    """

    name: Name
    role: Role = "audit"
    repeats: Depth | None = None
    items: str | None = None
    judges: tuple[str, ...] | None = None
    reuse: Reuse | None = None
    labels: Annotated[int, Field(ge=2, le=1_000)] | None = None
    prompt: str | None = None


class Continuous(Model):
    """The ends of a continuous scale: any number between them is a score."""

    low: float = Field(alias="from", allow_inf_nan=False, description="the lowest score")
    high: float = Field(alias="to", allow_inf_nan=False, description="the highest score")


class AskedCriterion(Model):
    """A criterion with calls of its own.

    Attributes:
        ask: what stands in the place of `{criterion}` in the prompts.
        parser: how its replies are read; absent, as the judge says.
    """

    ask: str = Field(min_length=1)
    parser: ParserSpec | None = None


def _is_asked(value: Any) -> str:
    asked = "ask" in value if isinstance(value, dict) else isinstance(value, AskedCriterion)
    return "ask" if asked else "read"


Criterion = Annotated[
    Annotated[ParserSpec, Tag("read")] | Annotated[AskedCriterion, Tag("ask")],
    Discriminator(_is_asked),
]
"""How a criterion is read from a reply that holds several, or what is asked about it alone."""


class Transport(Model):
    """How calls travel; no part of what is measured.

    Attributes:
        concurrency: calls under way at once, for each judge.
        timeout_s: seconds until a call that has no answer is a failed attempt.
        attempts: how often a call is tried.
        requests_per_minute, tokens_per_minute: what the provider grants; absent, it is found out.
        backoff_s, max_backoff_s: the first and the longest wait before another attempt, in seconds.
    """

    concurrency: PositiveInt = 8
    timeout_s: PositiveFloat = Field(
        default=60.0, validation_alias=AliasChoices("timeout_s", "timeout")
    )
    attempts: PositiveInt = 5
    requests_per_minute: PositiveInt | None = None
    tokens_per_minute: PositiveInt | None = None
    backoff_s: PositiveFloat = 0.5
    max_backoff_s: PositiveFloat = 60.0


class Budget(Model):
    """Where acquisition stops: calls, tokens, dollars, or seconds of one session.

    Attributes:
        calls: requests that may be made in all.
        tokens: tokens that may be read and written in all.
        usd: US dollars that may be spent in all; the judges need a `price`.
        deadline_s: seconds until a session stops.
    """

    calls: PositiveInt | None = None
    tokens: PositiveInt | None = None
    usd: PositiveFloat | None = None
    deadline_s: PositiveFloat | None = None


Limit = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""Of a component, in the units of its dissimilarity: a share but for numeric scores."""


class Limits(Model):
    """The largest components that a release may show.

    Attributes:
        call: of calls repeated under one prompt and order.
        prompt: between prompts.
        order: between answer orders.
        interaction: of prompt and order together.
        total: of all four.
        invalid: of replies that hold no verdict.
    """

    call: Limit | None = None
    prompt: Limit | None = None
    order: Limit | None = None
    interaction: Limit | None = None
    total: Limit | None = None
    invalid: Share | None = None


class Gate(Limits):
    """The limits of a release; those under `criteria` hold for one criterion only.

    Attributes:
        probes: the largest shift that a probe may cause, by name.
        criteria: limits of single criteria, by name.
    """

    probes: dict[Name, Share] = Field(default_factory=dict)
    criteria: dict[Name, Limits] = Field(default_factory=dict)

    def named(self, read: Container[str | None]) -> dict[str, float]:
        """Return the limits by name: `prompt`, `probe.NAME`, `CRITERION.prompt`.

        Those on criteria are there as far as their calls were `read`.
        """
        limits: dict[str, float] = self.model_dump(
            exclude_none=True, exclude={"probes", "criteria"}
        )
        probes = {f"probe.{name}": limit for name, limit in self.probes.items()}
        criteria = {
            f"{name}.{quantity}": limit
            for name, own in self.criteria.items()
            if name in read
            for quantity, limit in own.model_dump(exclude_none=True).items()
        }
        return {**limits, **probes, **criteria}


class AnswerBar(Model):
    """What the user asks of the judges, in place of the usual bars.

    Attributes:
        at_least: how often the judge has to be right, as a share.
    """

    at_least: Share | None = None


class Analysis(Model):
    """What is decided about the analysis before the first call.

    Attributes:
        estimator: whether the prompts are all that matter (`census`) or were drawn (`sampled`).
        depth: repeats of a cell that count; absent, all.
        thresholds: limits that are looked at, by name.
        seeds: seeds of resampling, by name.
        draws: weightings of the items in the bootstrap bands.
        permutations: shuffles of the permutation tests.
    """

    estimator: Literal["census", "sampled"] | None = None
    depth: Annotated[int, Field(ge=2, le=2**31)] | None = None
    thresholds: dict[str, float] = Field(default_factory=dict)
    seeds: dict[str, int] = Field(default_factory=dict)
    draws: PositiveInt | None = None
    permutations: PositiveInt | None = None


def _usual_orders(declared: dict[str, Any]) -> Any:
    return CYCLIC if declared.get("task") == "choose" else dict.fromkeys(ORDERS, 0.5)


class Study(Model):
    """A whole study.

    Attributes:
        version: of this format.
        name: of the study, and of its run folder.
        seed: every random choice derives from it.
        task: two answers side by side, one answer, or the best of several.
        items: what is judged.
        prompts: how it is asked.
        orders: in which orders answers are shown, with weights.
        repeats: calls in every cell.
        stop: when enough is known.
        schedule: the order of the calls: random, or cell by cell, or prompt by prompt.
        judges: who is asked.
        layers: streams of calls; absent, one layer `audit`.
        probes: changes of an answer that should not matter.
        transport: how calls travel.
        budget: where the run stops.
        gate: limits for `judgelaw gate`.
        analysis: what is decided about the analysis before the first call.
    """

    version: Literal[1]
    name: Free[str] = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)
    seed: Annotated[int, Field(ge=0)]
    task: Task = "pairwise"
    criteria: dict[Name, Criterion] = Field(
        default_factory=dict,
        description="what is judged: how each is read from one reply, or asked in its own calls",
    )
    scale: tuple[float, ...] | Continuous | None = Field(
        default=None,
        description="pointwise: every score, rising, or {from: 0, to: 1} where they are continuous",
    )
    labels: tuple[Name, ...] | None = Field(default=None, description="pointwise: every label")
    dissimilarity: Free[Dissimilarity | None] = Field(
        default=None, description="how far two scores are apart; ordinal unless it says otherwise"
    )
    items: Items
    prompts: Prompts
    orders: Orders = Field(default_factory=_usual_orders, validate_default=True)
    repeats: Repeats = 4
    stop: Stop | None = None
    schedule: Literal["random", "cells", "prompts"] = "random"
    judges: tuple[JudgeSpec, ...]
    layers: tuple[Layer, ...] = ()
    probes: tuple[ProbeEntry, ...] = ()
    transport: Free[Transport] = Transport()
    budget: Free[Budget | None] = None
    gate: Free[Gate | None] = None
    analysis: Free[Analysis | None] = None
    answer: Free[AnswerBar | None] = Field(
        default=None, description="how often the judge has to be right, as a share"
    )
    env_file: Free[str | None] = Field(
        default=None, description="a file of NAME=VALUE lines that keys are read from"
    )

    @property
    def streams(self) -> tuple[Layer, ...]:
        """The layers with everything filled in; one layer `audit` where none is declared."""
        items = {layer.name: layer.items for layer in self.layers}
        filled = [self._filled(layer, items) for layer in self.layers]
        plain = [layer for layer in filled if layer.role != "probe"]
        plain = plain or [Layer(name="audit", role="audit", repeats=self.equal_repeats)]
        main = plain.index(base_of(plain))
        plain[main] = self._chosen(plain[main])
        own = next((layer for layer in filled if layer.role == "probe"), None)
        return (*plain, *self._probed(plain, own))

    @property
    def equal_repeats(self) -> int:
        """Repeats of a cell where no item is asked more often than another."""
        return self.repeats if isinstance(self.repeats, int) else self.repeats.average

    @property
    def main(self) -> Layer:
        """The layer that answers: the one that stops, and whose items may differ in repeats."""
        return base_of(self.streams)

    @property
    def looked_at(self) -> tuple[str, ...]:
        """The layers that go deeper with every look: the main one, and probes of its depth."""
        if any(layer.role == "probe" for layer in self.layers):
            return (self.main.name,)
        return (self.main.name, *(s.name for s in self.streams if s.role == "probe"))

    def _chosen(self, main: Layer) -> Layer:
        """Give the main layer the depth that it begins with, or has at most."""
        if self.stop is not None:
            return main.model_copy(update={"repeats": self.stop.looks[0]})
        if not isinstance(self.repeats, int):
            return main.model_copy(update={"repeats": self.repeats.most})
        return main

    def _probed(self, layers: list[Layer], own: Layer | None) -> Iterator[Layer]:
        """Yield a layer for each probe and side: the baseline's design, one answer changed."""
        base = base_of(layers)
        own = own or base
        for probe in self.probes:
            for side in sides(self.task, self.candidates):
                update = {"name": probe_layer(probe.name, side), "role": "probe"}
                yield own.model_copy(update={**update, "items": base.items, "reuse": None})

    def _filled(self, layer: Layer, items: Mapping[str, str | None]) -> Layer:
        """Fill in what a layer takes from the layer that it reuses, or from the study."""
        reuse = layer.reuse
        update: dict[str, Any] = {"repeats": layer.repeats or self.equal_repeats}
        if reuse is not None:
            depth = layer.repeats or reuse.repeats or self.equal_repeats
            own = {"repeats": reuse.repeats or depth}
            chosen = layer.items or items.get(reuse.layer)
            update = {"repeats": depth, "items": chosen, "reuse": reuse.model_copy(update=own)}
        return layer.model_copy(update=update)

    @property
    def verdicts(self) -> tuple[str, ...] | None:
        """The verdicts that single answers may get, `invalid` aside; None where none is listed."""
        if isinstance(self.scale, tuple):
            return tuple(map(plain_number, self.scale))
        return self.labels

    @property
    def ends(self) -> tuple[float, float] | None:
        """The lowest and the highest score; None where verdicts are no scores."""
        if isinstance(self.scale, Continuous):
            return self.scale.low, self.scale.high
        return (self.scale[0], self.scale[-1]) if self.scale else None

    @property
    def order_labels(self) -> tuple[str, ...]:
        """The orders that are run, in a fixed sequence."""
        if self.task == "pointwise":
            return (SINGLE,)
        known = ORDERS if self.task == "pairwise" else self.order_weights
        return tuple(order for order in known if order in self.order_weights)

    @property
    def order_weights(self) -> dict[str, float]:
        """The weights of orders; none while a rule waits for the items."""
        return self.orders if isinstance(self.orders, dict) else {}

    @property
    def candidates(self) -> int:
        """How many candidates an item has; at least two while a rule waits for the items."""
        if self.task == "pointwise":
            return 1
        return len(next(iter(self.order_weights), ORDERS[0]))

    @property
    def asked(self) -> dict[str, AskedCriterion]:
        """The criteria that have calls of their own."""
        return {n: c for n, c in self.criteria.items() if isinstance(c, AskedCriterion)}

    @property
    def depth(self) -> dict[str, int]:
        """Repeats by layer."""
        return {layer.name: layer.repeats or 0 for layer in self.streams}

    def deepened(self, depth: dict[str, int], prompts: int | None = None) -> "Study":
        """Return the study with other repeats by layer, and other prompts of a generator."""
        update: dict[str, Any] = {}
        if isinstance(self.repeats, int):
            update = {"repeats": depth.get("audit", self.repeats)}
        if self.layers:
            # All probes have the depth of their layer.
            probed = max((n for name, n in depth.items() if probed_by(name)), default=0)
            deep = (_deeper(layer, depth.get(layer.name, probed)) for layer in self.layers)
            update = {"layers": tuple(deep)}
        own = self.prompts
        grows = isinstance(own, Generator | Reworded) and own.policy == "generator"
        if prompts is not None and grows and not isinstance(own, str):
            update["prompts"] = own.model_copy(update={"count": prompts})
        return self.model_copy(update=update)

    def judges_of(self, layer: Layer) -> tuple[JudgeSpec, ...]:
        """Return the judges of one layer, in the sequence of the study."""
        if layer.judges is None:
            reused = layer.reuse and layer.reuse.judge
            return tuple(judge for judge in self.judges if judge.name != reused)
        wanted = set(layer.judges)
        return tuple(j for j in self.judges if j.name in wanted or j.family in wanted)


def base_of(layers: Sequence[Layer]) -> Layer:
    """Return the layer that answers, and that probes are held against."""
    return next((layer for role in MAIN for layer in layers if layer.role == role), layers[0])


def _deeper(layer: Layer, repeats: int) -> Layer:
    """Return a layer at another depth, with as many calls of the layer that it reuses."""
    update: dict[str, Any] = {"repeats": repeats}
    if layer.reuse is not None:
        update["reuse"] = layer.reuse.model_copy(update={"repeats": repeats})
    return layer.model_copy(update=update)


_TEXT = {"type": "string"}


def study_schema() -> dict[str, Any]:
    """Return the schema of a study as it is written: with presets, grids and short forms."""
    schema = Study.model_json_schema(by_alias=True)
    definitions = schema["$defs"]
    judge = definitions["JudgeSpec"]
    for name in DERIVED:
        del judge["properties"][name]
    judge["properties"] = {
        "name": judge["properties"].pop("name"),
        "preset": {"enum": sorted(PRESETS), "description": "one of the paper's configurations"},
        "grid": {
            "type": "object",
            "additionalProperties": {"type": "array", "minItems": 1},
            "description": "values of decoding, stop, truncated, ...: one judge a combination",
        },
        **judge["properties"],
    }
    judge["required"] = ["name"]
    own_code = [name for name, provider in PROVIDERS.items() if provider.own_code]
    unnamed = {"properties": {"provider": {"enum": own_code}}}
    judge["anyOf"] = [
        {"required": ["preset"]},
        {"required": ["provider", "model"]},
        {"required": ["provider"], **unnamed},
    ]
    template = judge["properties"]["template"]
    template["anyOf"] = [_TEXT, *template["anyOf"]]
    transport = definitions["Transport"]["properties"]
    transport["timeout"] = {
        **transport["timeout_s"],
        "title": "Timeout",
        "description": "an older name of timeout_s",
    }
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "$id": "urn:judgelaw:study:1", **schema}


FREE = tuple(name for name, field in Study.model_fields.items() if "free" in field.metadata)
"""The fields of a study that may be amended."""
