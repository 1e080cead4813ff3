"""One judge as declared: the full configuration whose answers are counted under one name."""

import hashlib
import inspect
import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    GetPydanticSchema,
    Tag,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from judgelaw.wire.parser_rules import short_rule
from judgelaw.words import stream_name

PositiveInt = Annotated[int, Field(ge=1, le=2**53)]
"""Up to what every reader of JSON holds exactly."""

PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Name = Annotated[
    str, Field(max_length=200, pattern=r"^[^\s\x00-\x1f]([^\x00-\x1f]*[^\s\x00-\x1f])?$")
]
"""One line without blanks at its ends: it stands in tables, messages and reports."""

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


Fault = tuple[tuple[str | int, ...], str]
"""Where something is wrong, by keys of the file from the part on, and what."""


class Model(BaseModel):
    """A frozen part of a study; an unknown key is an error.

    What `Attributes:` says of a field in the docstring is its description in the JSON Schema.
    """

    def problems(self) -> Iterator[Fault]:
        """Yield what is wrong with this part alone, where its fields are well-formed each."""
        yield from ()

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core_schema))
        schema["description"], _, _ = inspect.cleandoc(cls.__doc__ or "").partition(
            "\n\nAttributes"
        )
        said: dict[str, str] = {}
        for each in reversed(cls.__mro__):
            said |= attributes_of(each.__doc__ or "")
        for name, field in cls.model_fields.items():
            if name in said:
                spec = schema["properties"][field.alias or name]
                spec.setdefault("description", said[name])
        return schema


def attributes_of(docstring: str) -> dict[str, str]:
    """Return what the section `Attributes:` of a docstring says, by name."""
    section = inspect.cleandoc(docstring).partition("Attributes:\n")[2].partition("\n\n")[0]
    entries = re.split(r"^    (?=\S)", section, flags=re.MULTILINE)[1:]
    named = (entry.partition(": ") for entry in entries)
    return {name: " ".join(text.split()) for names, _, text in named for name in names.split(", ")}


def canonical_json(value: Any) -> str:
    """Write a value as the one JSON text that hashes are taken of: sorted keys, no spaces."""
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )


def sha256_hex(text: str | bytes) -> str:
    """Return the SHA-256 of a text, in UTF-8, or of bytes."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


LABELS_HELP = "what the match becomes: A, B or TIE for pairs; any verdict for single answers"


class RegexParser(Model):
    """The first match of a regular expression; its group `verdict`, or 1, or the whole match.

    Attributes:
        regex: the pattern, searched in the whole completion.
        ignore_case: the pattern, and the verdicts it finds, in any case.
    """

    regex: str = Field(min_length=1)
    labels: dict[str, str] | None = Field(default=None, description=LABELS_HELP)
    ignore_case: bool = False
    strict: bool = Field(
        default=True,
        description="labels match to the letter; a study that leaves it out gets false: case, "
        "and quotes, brackets and marks around a label, do not matter",
    )


class JsonParser(Model):
    """One field of a JSON object in the completion; a dotted path descends.

    Attributes:
        field: the name of the field, or a path such as `result.verdict`.
        ignore_case: the value may be written in any case.
    """

    field: str = Field(alias="json", min_length=1)
    labels: dict[str, str] | None = Field(default=None, description=LABELS_HELP)
    ignore_case: bool = False
    strict: bool = Field(
        default=True,
        description="labels match to the letter; a study that leaves it out gets false: case, "
        "and quotes, brackets and marks around a label, do not matter",
    )


class ScoreRange(Model):
    """Admissible scores: `min`, `min + step`, ..., up to `max`; any between at step 0.

    Attributes:
        min, max: the lowest and the highest score.
        step: how far apart two neighbouring scores are.
    """

    min: float
    max: float
    step: float = Field(default=1.0, ge=0)
    regex: str | None = Field(default=None, description="where the number stands; group 1")


class ScoreParser(Model):
    """A number in a declared range; one that is off the range or the grid is `invalid`.

    Attributes:
        score: which numbers are scores, and where one stands.
    """

    score: ScoreRange


def _kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "name"
    keys = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    for key, kind in (("regex", "regex"), ("json", "json"), ("field", "json"), ("score", "score")):
        if key in keys:
            return kind
    return None


ParserSpec = Annotated[
    Annotated[str, Tag("name")]
    | Annotated[RegexParser, Tag("regex")]
    | Annotated[JsonParser, Tag("json")]
    | Annotated[ScoreParser, Tag("score")],
    Discriminator(_kind),
]
"""A name (`first-line`, or an entry point of the group `judgelaw.parsers`) or one of the models."""


class SingleCriterion(Model):
    """The one criterion that a judge is asked about, in calls of its own.

    Attributes:
        judge: the judge as the study names it.
        criterion: the criterion's name.
        text: what stands in the place of `{criterion}` in its prompts.
    """

    judge: Name
    criterion: Name
    text: str = Field(min_length=1)


def _known_wires(*_: object) -> CoreSchema:
    from judgelaw.wire.wires import WIRES  # noqa: PLC0415 - the formats use this file

    return core_schema.literal_schema(list(WIRES))


Wire = Annotated[str, GetPydanticSchema(_known_wires)]
"""The name of a wire format that a file of `wire/providers/` brings."""

SeedPolicy = Literal["sent", "logical", "none"]

LITERAL = "literal:"
"""Declares that the value of a header is no secret. Runs frozen before have values without it."""

AMENDABLE = (
    "base_url",
    "api_key",
    "auth",
    "headers",
    "query",
    "proxy",
    "secrets",
    "price",
    "batch",
    "model_path",
    "folder",
    "source_sha256",
)
"""Fields that reach a judge without being part of what it is: they may change between sessions."""


class Decoding(Model):
    """Sampling parameters; what is absent is not sent.

    Attributes:
        temperature: how random the model is; 0 takes the most probable token.
        top_p: sample from the smallest set of tokens with this probability.
        top_k: sample from so many of the most probable tokens.
        min_p: leave out tokens less probable than this share of the most probable one.
        max_tokens: the cap of a completion, in tokens.
        max_completion_tokens: the same for models that reason before they answer.
        presence_penalty: against tokens that occurred.
        frequency_penalty: against tokens, by how often they occurred.
        repetition_penalty: the factor by which tokens that occurred become less probable.
        reasoning_effort: how long a reasoning model thinks, in the provider's words.
        seed: refused: every call has a seed of its own.
        logprobs, top_logprobs: of the provider's request; `logprobs` of the judge is simpler.
    """

    temperature: Annotated[float, Field(ge=0)] | None = None
    top_p: Share | None = None
    top_k: int | None = None
    min_p: Share | None = None
    max_tokens: PositiveInt | None = None
    max_completion_tokens: PositiveInt | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: PositiveFloat | None = None
    reasoning_effort: str | None = None
    seed: int | None = None
    logprobs: bool | PositiveInt | None = None
    top_logprobs: PositiveInt | None = None


class Price(Model):
    """What a judge costs, in US dollars per million tokens.

    Attributes:
        input_per_mtok: of tokens read.
        output_per_mtok: of tokens written.
        cached_input_per_mtok: of tokens that the provider had read before; by default as others.
    """

    input_per_mtok: Annotated[float, Field(ge=0)]
    output_per_mtok: Annotated[float, Field(ge=0)]
    cached_input_per_mtok: Annotated[float, Field(ge=0)] | None = None


class Batch(Model):
    """Ask through the provider's batch interface: cheaper, and hours later.

    Attributes:
        chunk: calls in one batch.
        at_once: batches that wait at the provider at the same time.
        poll_s: seconds between two looks at them.
        window: how long the provider may take, where it lets one choose.
    """

    chunk: Annotated[int, Field(ge=1, le=50_000)] = 1_000
    at_once: PositiveInt = 4
    poll_s: PositiveFloat = 60.0
    window: str = "24h"


class ChatTemplate(Model):
    """A chat template rendered here, so that the server sees one frozen prompt text.

    Attributes:
        path: the Jinja file, relative to the study; its text is frozen with the run.
        text: the template itself, in place of a file.
        sha256: the expected hash of the text, checked at load.
        bos, eos: what `bos_token` and `eos_token` stand for in the template.
        server_adds_bos: whether the server puts a BOS token before the prompt that it is sent.
        strip_bos: take the template's leading BOS away, for servers that add their own.
        special: further control tokens; item text that holds one is refused.
        variables: constants that the template reads, such as a date.
    """

    path: str | None = None
    text: str | None = None
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    bos: str | None = None
    eos: str | None = None
    server_adds_bos: bool = True
    strip_bos: bool = False
    special: tuple[str, ...] = ()
    variables: dict[str, str | int | float | bool] = Field(default_factory=dict)


class FinalChannel(Model):
    """Read only what follows the last `start` marker, up to the first `end` marker.

    Attributes:
        start: the marker before the answer.
        end: markers that end the answer.
    """

    start: str = Field(min_length=1)
    end: tuple[str, ...] = ()


class LawCell(Model):
    """The law of the cells that match; what is absent matches everything.

    Attributes:
        item, prompt, order: which cells this law is for.
        verdicts: the probability of each verdict.
    """

    item: str | None = None
    prompt: str | None = None
    order: str | None = None
    verdicts: dict[str, Share]


class Law(Model):
    """The known law of a simulated judge: the first cell that matches, else `verdicts`.

    Or a `world`, which gives every cell its law from a base and declared effects:
    `{base: [0.4, 0.3, 0.2, 0.1], prompt: 0.01, order: 0.05, item_spread: 0.1}`.
    Where a study has criteria, `criteria` holds such a law for each of them.

    Attributes:
        verdicts: the probability of each verdict in every cell.
        cells: cells with a law of their own.
        world: a base and its declared effects.
    """

    verdicts: dict[str, Share] | None = None
    cells: tuple[LawCell, ...] = ()
    world: dict[str, Any] | None = None
    criteria: "dict[str, Law]" = Field(
        default_factory=dict, description="a law for each criterion of the study"
    )


class JudgeSpec(Model):
    """A judge, frozen: provider, model, renderer, decoding, terminal rule and parser.

    Attributes:
        name: what the calls table calls it.
        provider: who answers.
        wire: the body format, where the provider leaves a choice.
        seed: `sent` in the request, `logical` (recorded, not sent) or `none`.
        truncated: the terminal rule, what a completion cut at its cap becomes.
        truncated_on: finish reasons that mean cut.
        complete_on: if given, every other finish reason makes the output invalid.
        final_channel: where the answer stands when the text carries a reasoning channel.
        content_filter: codes or words of a 400 reply that mean a filtered completion.
        batch: ask through the provider's batch interface.
        extra: further fields of the request body, sent as they are.
        logprobs: how many of the most probable tokens to ask for in the place of every token.
        model: as the provider names it; empty where a function or a command has none.
        call: the Python function that answers, `package.module:function`.
        command, mode: the program that answers, by JSON lines or started once for every call.
        folder: the folder of the study, where functions are looked for and commands run.
        source_sha256: of the source of a function that Python handed in.
        family, contract: the judge that a `grid` expanded, and this one's levels.
        criteria: how each criterion is read where one reply holds several verdicts.
        asks: the criterion of this judge's calls, where each has calls of its own.
        base_url: the address before `/chat/completions`.
        api_key: `env:NAME`, the variable that holds the key; absent, none is sent.
        revision: the exact weights or snapshot: recorded, part of the configuration.
        system: the system message before every prompt.
        template: a chat template rendered here, for a server that completes text.
        decoding: sampling parameters.
        stop: texts that end a completion.
        parser: how a completion becomes a verdict.
        price: what it costs, for budgets and plans.
        grammar: of the embedded model: what it can say, in the notation of llama.cpp.
        law: of a simulated judge: the probabilities that its verdicts are drawn from.
        model_path: the file of the embedded model's weights, where it is not the packaged one.
        n_parallel: how many requests the embedded model serves at once.
        n_ctx: how many tokens the embedded model can hold.
        threads: how many threads the embedded model computes with.
        prime: ask each distinct prompt once and discard the answer, so that all calls are cached.
    """

    # Providers are read with this class: its checks are built when a judge is first declared.
    model_config = ConfigDict(defer_build=True)

    name: Name
    provider: str
    wire: Wire | None = None
    base_url: str | None = None
    api_key: str | None = None
    headers: dict[str, str] = Field(
        default_factory=dict,
        description="env:NAME for a secret, literal:TEXT for what everybody may read",
    )
    auth: Literal["bearer", "x-api-key", "api-key"] | None = Field(
        default=None, description="the header that carries the key; by default the format's own"
    )
    query: dict[str, str] = Field(
        default_factory=dict,
        description="added to every address, as in {api-version: '2025-01-01'}; env:NAME for a "
        "secret",
    )
    proxy: str | None = Field(
        default=None,
        description="http://HOST:PORT, env:NAME, or none; by default as the environment says",
    )
    secrets: tuple[str, ...] = Field(
        default=(),
        description="env:NAME of what must never be stored: passwords and keys that a function or "
        "a command reads by itself",
    )
    model: str = ""
    call: str | None = Field(default=None, description="package.module:function")
    command: tuple[str, ...] | None = Field(
        default=None, description="the program and its arguments, run in the study's folder"
    )
    mode: Literal["lines", "once"] = "lines"
    revision: str | None = None
    system: str | None = None
    template: ChatTemplate | None = None
    decoding: Decoding = Decoding()
    stop: tuple[str, ...] = ()
    extra: dict[str, Any] = Field(default_factory=dict)
    logprobs: Annotated[int, Field(ge=2, le=100)] | None = Field(
        default=None, description="token probabilities: how many tokens to list, 20 for most"
    )
    seed: SeedPolicy = "sent"
    parser: ParserSpec = "first-line"
    truncated: Literal["invalid", "parse"] = "invalid"
    truncated_on: tuple[str, ...] = ("length", "max_tokens", "model_context_window_exceeded")
    complete_on: tuple[str, ...] | None = None
    final_channel: FinalChannel | None = None
    content_filter: tuple[str, ...] = ()
    price: Price | None = None
    batch: Batch | None = None
    prompt_cache: Literal["off", "on"] = Field(
        default="off",
        description="ask the provider to keep prompts that repeat: part of what the judge is, "
        "since cached prompts may give other numbers",
    )
    grammar: str | None = None
    law: Law | None = None
    model_path: str | None = None
    n_parallel: PositiveInt = 1
    n_ctx: PositiveInt = 4096
    threads: PositiveInt | None = None
    prime: bool = True
    folder: str | None = None
    source_sha256: str | None = None
    family: str | None = None
    contract: dict[str, str] = Field(default_factory=dict)
    criteria: dict[Name, ParserSpec] = Field(default_factory=dict)
    asks: SingleCriterion | None = None

    @model_validator(mode="before")
    @classmethod
    def _choose_defaults(cls, data: Any) -> Any:
        """Fill in what a short form leaves out."""
        if not isinstance(data, dict):
            return data
        # After this step pydantic treats the data as Python values, where a list is no tuple.
        filled = {
            key: value if key == "extra" else with_tuples(value) for key, value in data.items()
        }
        if "seed" not in filled and _seedless(filled):
            filled["seed"] = "logical"
        if isinstance(filled.get("base_url"), str):
            filled["base_url"] = filled["base_url"].rstrip("/")
        if isinstance(filled.get("parser"), str) and ":" in filled["parser"]:
            filled["parser"] = short_rule(filled["parser"])
        if isinstance(filled.get("template"), str):
            filled["template"] = {"path": filled["template"]}
        return filled

    def __hash__(self) -> int:
        """Hash by content: equal judges have equal fingerprints."""
        return hash(self.fingerprint)

    @property
    def body(self) -> str | None:
        """The body format that is sent, or None where an entry point did not name one."""
        from judgelaw.wire.wires import PROVIDERS  # noqa: PLC0415 - the providers use this file

        if self.wire is not None or self.provider not in PROVIDERS:
            return self.wire
        return PROVIDERS[self.provider].format

    @property
    def by_criterion(self) -> "dict[str, JudgeSpec]":
        """The judge as it reads each of its criteria; their terminal rule is one."""
        return {
            criterion: self.model_copy(update={"parser": rule, "criteria": {}})
            for criterion, rule in self.criteria.items()
        }

    @property
    def streams(self) -> dict[str, tuple[str, str | None]]:
        """The judge and criterion of each stream of verdicts that its calls give, by name."""
        if self.asks is not None:
            return {self.name: (self.asks.judge, self.asks.criterion)}
        if self.criteria:
            return {stream_name(self.name, each): (self.name, each) for each in self.criteria}
        return {self.name: (self.name, None)}

    @property
    def api_key_variable(self) -> str | None:
        """The environment variable that holds the key."""
        return None if self.api_key is None else self.api_key.removeprefix("env:")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the configuration; the same judge at another address keeps it."""
        return sha256_hex(canonical_json({"schema": "judgelaw.judge/1", **self.identity()}))

    def identity(self) -> dict[str, Any]:
        """Return what the judge is, as JSON; a template stands for its text, not for its path."""
        values = self.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude=set(AMENDABLE)
        )
        values["seed"] = self.seed
        if self.batch is not None:
            # Which interface answers is part of what the judge is; how it is used is not.
            values["batch"] = {"window": self.batch.window}
        if self.model_path is not None:
            # The same file in another folder is the same judge.
            values["model_path"] = PurePath(self.model_path).name
        if self.template is not None:
            values["template"].pop("path", None)
        return values


def with_tuples(value: Any) -> Any:
    """Return plain data with tuples in the place of lists, as models hold them."""
    if isinstance(value, dict):
        return {key: with_tuples(inner) for key, inner in value.items()}
    return tuple(with_tuples(inner) for inner in value) if isinstance(value, list) else value


def _seedless(data: dict[str, Any]) -> bool:
    """Whether the format that a judge names, or its provider's own, takes no seed."""
    from judgelaw.wire.wires import WIRES  # noqa: PLC0415 - the formats use this file

    named = (data.get("provider"), data.get("wire"))
    return any(isinstance(name, str) and name in WIRES and WIRES[name].seedless for name in named)


PARSERS_GROUP = "judgelaw.parsers"
