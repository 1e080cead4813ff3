"""What a study declares of its prompts and orders."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from judgelaw.wire import Model, Name, PositiveFloat, PositiveInt


class TemplateSpec(Model):
    """One template: text before and after the item block, or a free text with placeholders."""

    id: Name
    prefix: str | None = None
    suffix: str | None = None
    text: str | None = None


class Census(Model):
    """All the prompts that the estimate is about."""

    policy: Literal["census"]
    templates: tuple[TemplateSpec, ...] = ()
    path: str | None = None
    block: str | None = None


class Grammar(Model):
    """The choices from which a generator draws wrappers around one criterion."""

    headings: tuple[str, ...] | None = None
    cases: tuple[Literal["upper", "title", "sentence", "lower"], ...] | None = None
    styles: (
        tuple[Literal["none", "plain", "colon", "brackets", "xml", "markdown", "bold", "rule"], ...]
        | None
    ) = None
    separators: tuple[str, ...] | None = None


class Generator(Model):
    """Prompts sampled by seed from a grammar: the estimate is about the grammar."""

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
    """

    policy: Literal["factors"] = "factors"
    factors: dict[Name, tuple[str, ...] | dict[Name, str]]
    template: str = Field(min_length=1)


def _policy(value: Any) -> str | None:
    if isinstance(value, str):
        return "name"
    if isinstance(value, Factors) or (isinstance(value, dict) and "factors" in value):
        return "factors"
    policy = value.get("policy") if isinstance(value, dict) else getattr(value, "policy", None)
    return policy if policy in ("census", "generator") else None


Prompts = Annotated[
    Annotated[Literal["paper-six"], Tag("name")]
    | Annotated[Census, Tag("census")]
    | Annotated[Generator, Tag("generator")]
    | Annotated[Factors, Tag("factors")],
    Discriminator(_policy),
]


class SampledOrders(Model):
    """Orders of several candidates drawn by seed, so that all stand equally often in every slot."""

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
