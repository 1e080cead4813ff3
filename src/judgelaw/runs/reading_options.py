"""Which calls to read, and how: each option is one field here.

Python keywords, flags of commands, checks, help and the reference are made from the fields. One
that `selects` calls by a name of theirs needs nothing more; the use of the others is in
`source.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self, TypeVar

from judgelaw.errors import InputError
from judgelaw.option_types import Option, by_name, each, names, number, option_in, share
from judgelaw.tables import Said
from judgelaw.words import did_you_mean, judge_of

if TYPE_CHECKING:
    from judgelaw.analysis import Key
    from judgelaw.tensor import VerdictTensor

Names = str | Iterable[str]
"""One name, or several."""
Scale = Sequence[float] | Mapping[str, float]
"""Scores from low to high, or their ends where they are continuous."""


def _weights(name: str, value: Any) -> None:
    """Weights by order, or one for each in their sequence."""
    named = isinstance(value, Mapping) or not isinstance(value, Iterable)
    (by_name if named else each)(number, "{'AB': 0.5, 'BA': 0.5}")(name, value)


def _scale(name: str, value: Any) -> None:
    """All scores, or the two ends."""
    if not isinstance(value, Mapping):
        each(number, "[1, 2, 3, 4, 5]")(name, value)
        return
    if set(value) != {"from", "to"}:
        raise InputError(f"{name} = {value!r}: write the two ends, {{'from': 0, 'to': 1}}")
    by_name(number, "{'from': 0, 'to': 1}")(name, value)


def _typed_scale(text: str) -> Scale:
    low, dots, high = text.partition("..")
    try:
        if dots:
            return {"from": float(low), "to": float(high)}
        return tuple(float(word) for word in text.split(",") if text)
    except ValueError:
        raise InputError(
            f"--scale {text}: write the scores from low to high, as in --scale 1,2,3,4,5, or "
            "their ends, as in --scale 0..1"
        ) from None


class Selection(Said, total=False):
    """Which calls to read, of whatever holds calls or labelled rows."""

    layer: Annotated[str | None, Option("Read this layer only.", selects="layer")]
    prompts: Annotated[
        Names | None,
        Option(
            "Read this prompt only.",
            "read this prompt only, or these",
            flag="--prompt",
            many=True,
            rule=names,
            selects="prompt",
        ),
    ]


class Reading(Selection, total=False):
    """Which calls of a run, table or tensor to read, and how: what every question takes."""

    judge: Annotated[
        Names | None,
        Option(
            "Read this judge only.",
            "read this judge only, or these",
            many=True,
            rule=names,
            selects="judge",
        ),
    ]
    criterion: Annotated[
        Names | None,
        Option(
            "Read this criterion only.",
            "read this criterion only, or these, where a table or run has several",
            many=True,
            metavar="NAME",
            rule=names,
            selects="criterion",
        ),
    ]
    design: Annotated[
        Literal["census", "sampled"] | None,
        Option(
            "Are the prompts all that matter, or drawn from a generator? "
            "[default: as the run declares, else census]",
            '"census" if the prompts are all that matter, "sampled" if a generator drew them; by '
            'default as the run declares it, else "census"',
        ),
    ]
    incomplete: Annotated[
        Literal["error", "drop"],
        Option(
            "What to do with items that lack two calls in a cell.",
            '"drop" leaves out items that lack two calls in a cell; "error" refuses them',
            default="error",
        ),
    ]
    scale: Annotated[
        Scale | None,
        Option(
            "Verdicts are scores: all of them from low to high, or the two ends where they are "
            "continuous. A run declares its own.",
            "the scores from low to high, where the verdicts of a table are scores; or their "
            'ends, `{"from": 0, "to": 1}`, where they are continuous',
            metavar="1,2,...|0..1",
            rule=_scale,
            typed=_typed_scale,
        ),
    ]
    date: Annotated[
        str | None,
        Option(
            "Read the calls of this date. [default: the latest]",
            "read the calls of this date, where there are several; by default the latest",
            metavar="DATE",
        ),
    ]
    repeats: Annotated[
        int | None,
        Option(
            "Read the frozen prefix of repeat ranks below R.",
            "read the frozen prefix of repeat ranks below this number",
            metavar="R",
            least=1,
            why="the calls of no rank are none",
        ),
    ]
    order_weights: Annotated[
        Mapping[str, float] | Sequence[float] | None,
        Option(
            python="how often each order is used, by name or in their sequence; by default as the "
            "run declares it, else equal",
            flag="",
            rule=_weights,
        ),
    ]


Judge = Annotated[str | None, Option("Read this judge only.", metavar="NAME")]
Criterion = Annotated[str | None, Option("Read this criterion only.", metavar="NAME")]
Draws = Annotated[
    int | None,
    Option(
        "Item resamples of bootstrap bands. [default: 20,000; fewer for many items]",
        least=2,
        why="percentiles need two draws, usually 20,000",
    ),
]
SEED = Option(
    "Seed of every draw. [default: as the run declares, else 0]",
    least=0,
    why="a seed is not negative",
)
Seed = Annotated[int | None, SEED]
Permutations = Annotated[
    int | None,
    Option(
        "Shuffles of the permutation tests; 0 leaves them out. "
        "[default: 999; fewer for many calls]",
        least=0,
        why="0 leaves the tests out",
    ),
]
Soft = Annotated[
    Literal["auto", "never", "only"],
    Option(
        "Answer with token probabilities (columns p_VERDICT): where they hold, never, or refuse "
        "calls without.",
        default="auto",
    ),
]
AtLeast = Annotated[
    float | None,
    Option(
        "How often the judge has to be right, as .9, in place of the usual bars.",
        metavar="SHARE",
        least=0,
        most=1,
        rule=share,
    ),
]


class Selectable(Protocol):
    """Calls that bear names: of a judge, a layer, a prompt."""

    def names(self, part: str) -> Sequence[str]:
        """Return the names that a part of the calls has."""

    def only(self, part: str, chosen: Sequence[str]) -> Self:
        """Keep the calls that bear one of these names."""


C = TypeVar("C", bound=Selectable)
_AXES = {"item": "items", "prompt": "prompts", "order": "orders", "stratum": "strata"}


@dataclass(frozen=True)
class Streams:
    """Tensors by (layer, judge), to be selected from."""

    tensors: "Mapping[Key, VerdictTensor]"

    def names(self, part: str) -> list[str]:
        """Return the names that a part of the calls has."""
        found: set[str | None] = set()
        for (layer, judge), tensor in self.tensors.items():
            if part == "layer":
                found.add(layer)
            elif part == "judge":
                found |= {judge, judge_of(judge)}
            elif part == "criterion":
                found.add(tensor.criterion)
            else:
                found |= set(getattr(tensor, _AXES[part]) or ())
        return sorted(name for name in found if name is not None)

    def only(self, part: str, chosen: Sequence[str]) -> "Streams":
        """Keep the calls that bear one of these names."""
        if part in _AXES:
            how = {_AXES[part]: chosen}
            return Streams({key: t.select(**how) for key, t in self.tensors.items()})
        kept = {}
        for key, tensor in self.tensors.items():
            layer, judge = key
            own: dict[str, set[str | None]] = {
                "layer": {layer},
                "judge": {judge, judge_of(judge)},
                "criterion": {tensor.criterion},
            }
            if own[part] & set(chosen):
                kept[key] = tensor
        return Streams(kept)


def select(calls: C, part: str, chosen: Sequence[str]) -> C:
    """Keep the calls that bear one of these names; refuse a name that no call bears."""
    there = calls.names(part)
    for name in chosen:
        if name not in there:
            known = f"there are {', '.join(there)}"
            if not there:
                known = f"the calls have no {_several(part)}"
            none = "no call is of" if part == "date" else f"no {part} is called"
            raise InputError(f"{none} {name!r}{did_you_mean(name, there)}: {known}")
    return calls.only(part, chosen)


def _several(part: str) -> str:
    return {"criterion": "criteria", "stratum": "strata"}.get(part, f"{part}s")


def selected(calls: C, reading: Mapping[str, Any], *, but: Iterable[str] = ()) -> C:
    """Keep the calls that a reading selects by the fields that name some.

    Args:
        calls: tensors, or labelled rows.
        reading: fields of `Reading`.
        but: fields that were seen to already.
    """
    for field, hint in Reading.__annotations__.items():
        option = option_in(hint)
        if option is None or not option.selects or field in but:
            continue
        if chosen := names_of(reading.get(field)):
            calls = select(calls, option.selects, chosen)
    return calls


def for_baseline(reading: Reading, match: Mapping[str, str] | None = None) -> Reading:
    """Return how to read a baseline: every judge, and prompts under their old names.

    Each judge is found by its name, or is the only one.

    Args:
        reading: of the calls that are held against it.
        match: new names of its prompts, by old name.
    """
    old = {new: before for before, new in (match or {}).items()}
    prompts = tuple(old.get(name, name) for name in names_of(reading.get("prompts")))
    return {**reading, "judge": None, "prompts": prompts or None}


def names_of(given: Names | None) -> tuple[str, ...]:
    """Return one name, or several, as a tuple."""
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)
