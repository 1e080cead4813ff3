"""From a complete analysis to one self-contained HTML page."""

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

import judgelaw
from judgelaw.analysis import (
    Analysis,
    Key,
    Settings,
    Table,
    screen_of_analysis,
)
from judgelaw.decide import Advice
from judgelaw.errors import InputError
from judgelaw.page import drawing
from judgelaw.page.appendix import configuration, glossary, integrity, tables
from judgelaw.page.depth import depth
from judgelaw.page.disagreement import About, Judge, answer, comparison, negative
from judgelaw.page.document import (
    Block,
    Document,
    FigureView,
    Inline,
    Lede,
    Part,
    Prose,
    Section,
    plain,
)
from judgelaw.page.drawing import Spec, draw
from judgelaw.page.explorer import Completions, Questions, items_section, openings, pack
from judgelaw.page.first_screen import number_of
from judgelaw.page.laws import laws
from judgelaw.page.layers import layers, metrics, strata
from judgelaw.page.probed import probes
from judgelaw.page.prompts_and_orders import order, prompts
from judgelaw.page.score_section import score_section
from judgelaw.page.soft_section import soft_section
from judgelaw.page.table_forms import is_number, table_view
from judgelaw.page.trust import alarms, diagnostics, drift
from judgelaw.page.verdicts import invalid_section, outcomes
from judgelaw.page.what_to_do import ADVICE, what_to_do
from judgelaw.steps import Progress, unseen
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.words import unbroken, visible

_UNBROKEN = 18
"""A row heading up to so many characters is never broken over lines."""
_ASSETS = files("judgelaw.page") / "assets"


def render(document: Document) -> str:
    """Turn a document into HTML."""
    scripts = [asset("charts.js")]
    if document.explorer is not None:
        scripts.append(asset("explorer.js"))
    style = drawing.stylesheet() + asset("page.css") + asset("answer.css")
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            document=document,
            style=Markup(style),  # noqa: S704 - our own file
            scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own files
            policy=policy(style, scripts),
        )
    )


def policy(style: str, scripts: list[str]) -> str:
    """Allow exactly these inline scripts and styles, and nothing from anywhere else."""
    allowed = " ".join(_digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def asset(name: str) -> str:
    """Read one of the files that ship with the package."""
    return (_ASSETS / name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["figure_cell"] = is_number
    environment.tests["short_cell"] = lambda cell: len(plain(cell)) <= _UNBROKEN
    environment.filters["number_of"] = number_of
    environment.filters["unbroken"] = unbroken
    environment.filters["drawing"] = Markup  # an Svg's markup has been cleaned by svg.clean
    return environment


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


SectionMaker = Callable[[], Section | None]
"""A section that is made when its turn comes; None where it does not apply."""

_SHOWN_ABOVE = frozenset({"invalid_sensitivity", "complete_case", "time_drift", "integrity"})
_KICKER = "How much of the judge is chance"


def build(
    analysis: Analysis,
    *,
    title: str,
    tensors: Mapping[Key, VerdictTensor],
    advice: Advice | None = None,
    completions: Completions | None = None,
    questions: Questions | None = None,
    configuration: Mapping[str, Any] | None = None,
    integrity: Mapping[str, Any] | None = None,
    more: Sequence[SectionMaker] = (),
    progress: Progress = unseen,
) -> str:
    """Return the report as one HTML file that needs no network, no server and no JavaScript.

    Args:
        analysis: what is reported.
        title: what was audited.
        tensors: the calls behind the analysis, by (layer or None, judge).
        advice: what to do about the judges; without it the page says nothing about that.
        completions: raw replies of the main layer, by judge and (item, prompt, order, repeat).
        questions: what was asked and answered, by item.
        configuration: what was frozen, by part (a judge, the study) and nested key.
        integrity: what was verified, in words, by check.
        more: sections about other questions, behind those of the judges.
        progress: opens what shows how far the drawing is.
    """
    document = compose(
        analysis,
        title=title,
        tensors=tensors,
        advice=advice,
        completions=completions,
        questions=questions,
        frozen=configuration,
        verified=integrity,
        more=more,
        progress=progress,
    )
    return render(document)


def compose(
    analysis: Analysis,
    *,
    title: str,
    tensors: Mapping[Key, VerdictTensor],
    advice: Advice | None = None,
    completions: Completions | None = None,
    questions: Questions | None = None,
    frozen: Mapping[str, Any] | None = None,
    verified: Mapping[str, Any] | None = None,
    more: Sequence[SectionMaker] = (),
    progress: Progress = unseen,
) -> Document:
    """Return everything that the report shows, as a value."""
    source = Part(analysis)
    judges = dict(source.at(lambda a: a.judges).items())
    main = {name: _tensor(tensors, analysis.main_layer, name) for name in judges}
    settings = source.at(lambda a: a.settings)
    parts: list[SectionMaker] = [
        *([partial(comparison, judges, settings)] if len(judges) > 1 else []),
        *_of_judges(judges, main, settings, frozen),
        partial(what_to_do, judges, advice),
        partial(diagnostics, source),
        partial(items_section, judges, main, completions, questions or {}),
    ]
    closed: list[SectionMaker] = [
        *([] if len(judges) > 1 else _more_of_judge(judges, main)),
        *more,
        partial(layers, source),
        partial(invalid_section, source, unread=_unread(main, completions)),
        partial(drift, source),
        partial(integrity, verified, source),
        partial(configuration, frozen, source),
        partial(tables, source, shown=_SHOWN_ABOVE),
        partial(glossary, single=all(judge.value.single for judge in judges.values())),
    ]
    parts += [_folded(part) for part in closed]
    return Document(
        title=visible(title),
        kicker=_KICKER,
        ledes=(),
        facts=(),
        sections=tuple(_made(parts, progress)),
        payload=pack(_payload(analysis, advice)),
        version=analysis.settings.version,
        alarms=tuple(view for view in alarms(source) if view.headline not in _told(analysis)),
        first=screen_of_analysis(analysis, visible(title)),
    )


def _told(analysis: Analysis) -> set[str]:
    """Return the findings that the first screen tells already."""
    several = len(analysis.judges) > 1
    return set() if several else {visible(j.answer.problem) for j in analysis.judges.values()}


def _payload(analysis: Analysis, advice: Advice | None) -> dict[str, Any]:
    """Return the figures of the page as they can be read again: the analysis, with the advice."""
    found = analysis.to_json()
    return found if advice is None else {**found, ADVICE: advice.to_json()}


def _made(parts: Sequence[SectionMaker], progress: Progress) -> Iterator[Section]:
    """Make the sections one by one; what does not apply to these calls is left out."""
    with progress("drawing", len(parts)) as advance:
        for part in parts:
            section = part()
            advance(1)
            if section is not None:
                yield _with_one_note(section)


def _with_one_note(section: Section) -> Section:
    """Gather the notes of a section: they stand together in the margin, beside all the rest."""
    said: list[Inline] = []
    others: list[Block] = []
    for block in section.blocks:
        if isinstance(block, Prose) and block.note:
            said += block.paragraphs
        else:
            others.append(block)
    if said:
        others.append(Prose(paragraphs=tuple(said), note=True))
    return replace(section, blocks=tuple(others))


def page(
    title: str,
    sentence: str,
    tables: Sequence[Table] = (),
    figures: Sequence[Block] = (),
    *,
    version: str = judgelaw.__version__,
) -> str:
    """Return a page of the same look for any tables and figures, one section each table."""
    sections = [
        Section(
            id=f"table-{table.name}",
            title=visible(table.title),
            blocks=(table_view(Part(table, ("tables", table.name)), name=table.name),),
        )
        for table in tables
    ]
    if figures:
        sections.insert(0, Section(id="figures", title="Figures", blocks=tuple(figures)))
    return render(
        Document(
            title=visible(title),
            kicker="judgelaw",
            ledes=(Lede(who="", sentence=visible(sentence)),) if sentence else (),
            facts=(),
            sections=tuple(sections),
            payload=None,
            version=version,
        )
    )


def figure_view(name: str, chart: Spec, *, label: str, caption: str = "") -> FigureView:
    """Return a chart as `page` shows it; `label` says what it shows to who cannot see it.

    A chart is a Vega-Lite specification.
    """
    return FigureView(
        name=name, caption=(caption,) if caption else (), wide=draw(chart, label=label)
    )


def _unread(
    tensors: Mapping[str, VerdictTensor], completions: Completions | None
) -> list[tuple[str, int]]:
    """Return the replies that gave no verdict, the most frequent first, with how often each came.

    Replies count as the same where they differ in blanks alone.
    """
    found: Counter[str] = Counter()
    for name, tensor in tensors.items():
        replies = (completions or {}).get(name)
        if replies and tensor.ranked is not None and INVALID in tensor.verdicts:
            code = tensor.verdicts.index(INVALID)
            for i, k, o, repeat in np.argwhere(tensor.ranked == code).tolist():
                place = (tensor.items[i], tensor.prompts[k], tensor.orders[o], repeat)
                if (text := replies.get(place)) is not None:
                    found[" ".join(text.split())] += 1
    return found.most_common()


def _tensor(tensors: Mapping[Key, VerdictTensor], layer: str | None, judge: str) -> VerdictTensor:
    try:
        return tensors[layer, judge]
    except KeyError:
        known = sorted(f"{key[1]} in {key[0]}" for key in tensors)
        raise InputError(
            f"no calls of judge {judge!r} in layer {layer!r}: the report needs the tensors that "
            f"were analysed; there are {known}"
        ) from None


def _of_judges(
    judges: Mapping[str, Judge],
    tensors: Mapping[str, VerdictTensor],
    settings: Part[Settings],
    frozen: Mapping[str, Any] | None,
) -> list[SectionMaker]:
    several = len(judges) > 1
    first_negative = next((name for name, judge in judges.items() if negative(judge.value)), None)
    parts: list[SectionMaker] = []
    for j, (name, judge) in enumerate(judges.items()):
        prefix = f"judge-{j + 1}-" if several else ""
        about = About(
            settings=settings,
            frozen=frozen is not None,
            explain_negative=name == first_negative,
            openings=openings(frozen),
        )
        own = _of_judge(judge, about, tensors[name], prefix)
        if several:
            own += _more_of_judge({name: judge}, tensors, prefix)
            parts += [partial(_nested, part, name) for part in own]
        else:
            parts += own
    return parts


def _nested(part: SectionMaker, name: str) -> Section | None:
    """Close a section of one judge of several, under the judge's name."""
    section = part()
    if section is None:
        return None
    title = f"{visible(name)}: {section.title[:1].lower()}{section.title[1:]}"
    return replace(section, title=title, folded=True)


def _folded(part: SectionMaker) -> SectionMaker:
    """Close a section until somebody asks for it."""

    def made() -> Section | None:
        section = part()
        return None if section is None else replace(section, folded=True)

    return made


def _of_judge(judge: Judge, about: About, tensor: VerdictTensor, prefix: str) -> list[SectionMaker]:
    """Return what is open from the start: parts, prompts, orders, scores, probes."""
    return [
        partial(answer, judge, about, prefix=prefix),
        partial(prompts, judge, about.openings, prefix=prefix),
        partial(order, judge, tensor, prefix=prefix),
        partial(score_section, judge, tensor, prefix=prefix),
        partial(probes, judge, prefix=prefix),
        partial(soft_section, judge, prefix=prefix),
    ]


def _more_of_judge(
    judges: Mapping[str, Judge], tensors: Mapping[str, VerdictTensor], prefix: str = ""
) -> list[SectionMaker]:
    """Return what is closed: depth, laws, verdicts, strata, other metrics of the only judge."""
    ((name, judge),) = judges.items()
    return [
        partial(depth, judge, prefix=prefix),
        partial(laws, judge, tensors[name], prefix=prefix),
        partial(outcomes, judge, tensors[name], prefix=prefix),
        partial(strata, judge, prefix=prefix),
        partial(metrics, judge, prefix=prefix),
    ]
