"""What the sections of a report are about, one judge or all of them, and of what kind they are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from judgelaw.analysis import Analysis, JudgeAnalysis, Key
from judgelaw.blocks import Block, Details, Place, Section
from judgelaw.doors import offered
from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS
from judgelaw.vocabulary import components_of
from judgelaw.words import shortened, visible

if TYPE_CHECKING:
    from judgelaw.decide import Advice
    from judgelaw.labels import Validation
    from judgelaw.page.sections.item_list import Completions, Questions
    from judgelaw.tensor import VerdictTensor

ADVICE: Final = "advice"
"""Where the JSON in the page holds the advice, beside the analysis."""
PROMPTS_PART: Final = "Prompts"
"""The part of a frozen configuration that names the prompts."""
OPENS_WITH: Final = "opens with"
TEXT: Final = "text"
_NAME_LENGTH = 26


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """Everything that a report is made from.

    Attributes:
        analysis: what is reported.
        tensors: the calls behind it, by (layer or None, judge).
        advice: ways to ask, with what each comes to; None where that was not worked out.
        completions: raw replies of the main layer, by judge and (item, prompt, order, repeat).
        questions: what was asked and answered, by item.
        frozen: what was frozen, by part (a judge, the study) and nested key.
        verified: what was verified, in words, by check.
        people: returns judges held against the labels of their items.
        looks: words, columns and rows of the looks that were taken.
        wordings: words, columns and rows of the rewordings that were asked with.
    """

    analysis: Analysis
    tensors: "Mapping[Key, VerdictTensor]"
    advice: "Advice | None" = None
    completions: "Completions | None" = None
    questions: "Questions" = field(default_factory=dict)
    frozen: Mapping[str, Any] | None = None
    verified: Mapping[str, Any] | None = None
    people: "Callable[[], Sequence[Validation]]" = tuple
    looks: tuple[str, Sequence[str], Sequence[Sequence[str]]] | None = None
    wordings: tuple[Sequence[str], Sequence[str], Sequence[Sequence[str]]] | None = None

    @cached_property
    def document(self) -> Place:
        """The JSON of the analysis, with the advice beside it."""
        found = self.analysis.to_json()
        return Place(found if self.advice is None else {**found, ADVICE: self.advice.to_json()})

    @cached_property
    def judges(self) -> "tuple[Judge, ...]":
        """The judges of the main layer."""
        return tuple(
            Judge(report=self, name=name, number=number)
            for number, name in enumerate(self.analysis.judges)
        )

    suffix = ""
    """What tells its figures apart."""

    @property
    def single(self) -> bool:
        """Whether all judges read single answers."""
        return all(judge.found.single for judge in self.judges)

    @property
    def level(self) -> float:
        """Coverage of the intervals."""
        return self.analysis.settings.level

    @cached_property
    def openings(self) -> dict[str, str]:
        """The first words of every prompt that the configuration knows, by id."""
        return self._of_prompts(OPENS_WITH)

    @cached_property
    def prompt_texts(self) -> dict[str, str]:
        """The text of every prompt that the configuration knows, by id."""
        return self._of_prompts(TEXT)

    def _of_prompts(self, key: str) -> dict[str, str]:
        found = (self.frozen or {}).get(PROMPTS_PART)
        prompts = found.items() if isinstance(found, Mapping) else ()
        return {n: str(v[key]) for n, v in prompts if isinstance(v, Mapping) and key in v}


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """One judge of the main layer."""

    report: Report
    name: str
    number: int

    @property
    def suffix(self) -> str:
        """What tells its figures from those of other judges."""
        return f"-{self.number + 1}" if len(self.report.judges) > 1 else ""

    @property
    def found(self) -> JudgeAnalysis:
        """What is known of it."""
        return self.report.analysis.judges[self.name]

    @property
    def place(self) -> Place:
        """Where the document holds that."""
        return self.report.document.at("judges", self.name)

    @property
    def tensor(self) -> "VerdictTensor":
        """Its calls."""
        layer, tensors = self.report.analysis.main_layer, self.report.tensors
        try:
            return tensors[layer, self.name]
        except KeyError:
            known = sorted(f"{key[1]} in {key[0]}" for key in tensors)
            raise InputError(
                f"no calls of judge {self.name!r} in layer {layer!r}: the report needs the tensors "
                f"that were analysed; there are {known}"
            ) from None

    @property
    def components(self) -> list[str]:
        """The components that it can have."""
        return components_of(COMPONENTS, single=self.found.single)

    @property
    def present(self) -> list[str]:
        """The components that its design can speak of."""
        return present(self.found.components)


def present(components: Mapping[str, Any], names: Sequence[str] = COMPONENTS) -> list[str]:
    """Return the components that a design can speak of."""
    return [name for name in names if name in components and not components[name].absent]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A section of the report: a file that offers it under `SECTIONS` is all that it takes.

    Attributes:
        id: anchor of the section.
        title: of one judge, or of the report.
        order: by which sections are sorted.
        make: returns its blocks; None where it does not apply to these calls.
        of: whether there is one for each judge, or one for the report.
        open: whether it stands open, above the statistics.
        brief: whether a terminal shows it too.
    """

    id: str
    title: "str | Callable[[Any], str]"
    order: int
    make: Callable[[Any], Sequence[Block] | None]
    of: Literal["judge", "report"] = "judge"
    open: bool = False
    brief: bool = True

    def made(self, report: Report) -> "list[tuple[Report | Judge, Sequence[Block]]]":
        """Return the blocks of every subject that it applies to."""
        subjects: Sequence[Report | Judge] = (report,) if self.of == "report" else report.judges
        found = [(subject, self.make(subject)) for subject in subjects]
        return [(subject, blocks) for subject, blocks in found if blocks]

    def section(self, report: Report) -> Section | None:
        """Return the section; several judges stand in it one below the other, each closed."""
        made = self.made(report)
        if not made:
            return None
        subject, blocks = made[0]
        if self.of == "judge" and len(report.judges) > 1:
            blocks = [
                Details(summary=visible(judge.name), blocks=tuple(own), brief=True)
                for judge, own in made
                if isinstance(judge, Judge)
            ]
        return Section(
            id=self.id,
            title=self.title if isinstance(self.title, str) else self.title(subject),
            blocks=tuple(blocks),
            folded=not self.open,
            brief=self.brief,
        )


def kinds() -> list[Kind]:
    """Return every kind of section that a file offers, in order."""
    found: list[Kind] = offered("judgelaw.page.sections", "SECTIONS")
    return sorted(found, key=lambda kind: kind.order)


def short_label(name: str) -> str:
    """Return a name as a chart can hold it."""
    return shortened(visible(name).replace("\n", " "), _NAME_LENGTH)


def unique_labels(names: Sequence[str]) -> list[str]:
    """Shorten names for a chart and keep them apart: a cut that makes two equal is numbered."""
    cut = [short_label(name) for name in names]
    return [
        text if cut.count(text) == 1 else f"{shortened(text, _NAME_LENGTH - 5)} ({i + 1})"
        for i, text in enumerate(cut)
    ]
