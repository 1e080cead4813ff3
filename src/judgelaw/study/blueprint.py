"""A study with its files read: the items of every layer and the templates of its policy."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from judgelaw.errors import InputError
from judgelaw.study.items import SAMPLE, Item, read_items, select
from judgelaw.study.loading import LoadedStudy
from judgelaw.study.models import Layer, Selection, Study
from judgelaw.study.orders import with_orders
from judgelaw.study.prompt_models import Reworded, drawn_count
from judgelaw.study.prompts import Template, templates_of
from judgelaw.study.reworded import Rewordings, reworded_prompts
from judgelaw.wire import PROVIDERS, JudgeSpec
from judgelaw.words import LETTERS, candidate_number, counted, probed_by

AS_GIVEN = "as given"
"""The one prompt of a judge that writes its own."""
_NAMED = 3
_OWN_CODE = frozenset(name for name, provider in PROVIDERS.items() if provider.own_code)


@dataclass(frozen=True, kw_only=True)
class Blueprint:
    """Everything that freezing needs.

    Attributes:
        study: the study.
        items: every item that a layer judges, in the sequence of the file.
        templates: the prompts.
        members: the ids of the items of each layer, in the sequence of the file.
        changed: the items of probe layers as they are shown there, by layer and id.
        reached: the depth that each judge has come to by looks; where there are none, the first.
        repeats: repeats by judge and item, where an earlier run chose them.
        repeats_reason: why they were chosen so.
        rewordings: what the prompts were taken from, where they are rewordings.
    """

    study: Study
    items: tuple[Item, ...]
    templates: tuple[Template, ...]
    members: Mapping[str, tuple[str, ...]]
    changed: Mapping[tuple[str, str], Item] = field(default_factory=dict)
    reached: Mapping[str, int] = field(default_factory=dict)
    repeats: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    repeats_reason: str = ""
    rewordings: Rewordings | None = None

    def without_fields(self) -> "Blueprint":
        """Return the study as it was read before items carried any field."""
        bare = {key: replace(item, fields=()) for key, item in self.changed.items()}
        items = tuple(replace(item, fields=()) for item in self.items)
        return replace(self, items=items, changed=bare)

    def item(self, layer: str, name: str) -> Item:
        """Return an item as it is shown in a layer."""
        return self.changed.get((layer, name)) or self._by_id[name]

    @cached_property
    def _by_id(self) -> dict[str, Item]:
        return {item.id: item for item in self.items}


@dataclass(frozen=True, kw_only=True)
class Block:
    """The calls of one judge in one layer: items x prompts x orders x repeats.

    Attributes:
        prompts: what the manifest calls the prompts: template ids, or slots in a control layer.
        templates: what is rendered for each of them.
        repeats: the repeat ranks.
        date: of the wave, None where the study is asked once.
    """

    judge: JudgeSpec
    layer: Layer
    items: tuple[Item, ...]
    prompts: tuple[str, ...]
    templates: tuple[Template, ...]
    orders: tuple[str, ...]
    repeats: range
    date: str | None = None

    @property
    def cells(self) -> int:
        """Item x prompt x order."""
        return len(self.items) * len(self.prompts) * len(self.orders)

    @property
    def count(self) -> int:
        """Logical calls."""
        return self.cells * len(self.repeats)

    @property
    def hides_labels(self) -> bool:
        """Whether the prompts are label-free slots."""
        return self.layer.role == "control"


def survey(loaded: LoadedStudy) -> Blueprint:
    """Read the files that a study names and select the items of every layer."""
    everything = _read_items(loaded)
    loaded = _with_orders(loaded, len(everything[0].candidates))
    names = dict.fromkeys(name for item in everything for name, _ in item.fields)
    loaded = replace(loaded, item_fields=tuple(names))
    study = loaded.study
    rewordings = _rewordings(loaded)
    templates = templates_of(loaded) if rewordings is None else rewordings.templates
    selections = {SAMPLE: study.items.sample or Selection(), **study.items.selections}
    members: dict[str, tuple[str, ...]] = {}
    changed: dict[tuple[str, str], Item] = {}
    for place, layer in enumerate(study.streams):
        name = layer.items or SAMPLE
        try:
            chosen = select(everything, name, selections, study.seed)
        except InputError as error:
            where = ("items", "selections", name) if layer.items else ("items", SAMPLE)
            raise loaded.error(where, str(error)) from None
        if (probed := probed_by(layer.name)) is not None:
            changed |= _probed(loaded, layer.name, *probed, chosen)
            chosen = tuple(item for item in chosen if (layer.name, item.id) in changed)
        members[layer.name] = tuple(item.id for item in chosen)
        _check_control(loaded, layer, place, templates)
    for place, layer in enumerate(study.streams):
        _check_reuse(loaded, layer, place, members)
    for judge in study.judges:
        _check_letters(loaded, judge)
        _check_world(loaded, judge, members, len(templates))
    _check_component(loaded, len(templates))
    used = {item for ids in members.values() for item in ids}
    items = tuple(item for item in everything if item.id in used)
    _check_fields(loaded, templates, items)
    return Blueprint(
        study=study,
        items=items,
        templates=templates,
        members=members,
        changed=changed,
        rewordings=rewordings,
    )


def _check_fields(
    loaded: LoadedStudy, templates: tuple[Template, ...], items: tuple[Item, ...]
) -> None:
    """Refuse a template that names a field which an item does not have."""
    for template in templates:
        for name in dict.fromkeys(template.parts[1::2]):
            if name not in loaded.item_fields:
                continue
            lacks = [item.id for item in items if name not in item.others]
            if lacks:
                text = (
                    f"{template.id!r} names {{{name}}}, which {counted(len(lacks), 'item')} of "
                    f"{len(items)} do not have ({', '.join(lacks[:_NAMED])}); give it to every "
                    "item, or leave it out of the prompts"
                )
                raise loaded.error(("prompts",), text)


def unused_fields(blueprint: Blueprint) -> list[str]:
    """Return the fields of items that no prompt shows."""
    shown = {name for template in blueprint.templates for name in template.parts[1::2]}
    names = dict.fromkeys(
        name
        for item in blueprint.items
        for name, text in item.texts.items()
        if text not in (item.instruction, *item.candidates, item.gold)
    )
    return [name for name in names if name not in shown]


def _rewordings(loaded: LoadedStudy) -> Rewordings | None:
    """Return the rewordings that a study asks with; None where its prompts are others."""
    if not isinstance(loaded.study.prompts, Reworded):
        return None
    try:
        return reworded_prompts(loaded.study, loaded.folder)
    except InputError as error:
        raise loaded.error(("prompts",), str(error)) from None


def _with_orders(loaded: LoadedStudy, candidates: int) -> LoadedStudy:
    """Turn a rule of orders into orders, now that the number of candidates is known."""
    try:
        return replace(loaded, study=with_orders(loaded.study, candidates))
    except InputError as error:
        raise loaded.error(("orders",), str(error)) from None


def _probed(
    loaded: LoadedStudy, layer: str, probe: str, side: str, items: tuple[Item, ...]
) -> dict[tuple[str, str], Item]:
    """Return the items that a probe changes, changed; gold is about the answer as it was."""
    place = next(i for i, each in enumerate(loaded.study.probes) if each.name == probe)
    change = loaded.study.probes[place]
    found = {}
    at = (candidate_number(side) or 1) - 1
    for number, item in enumerate(items):
        before = item.candidates[at]
        try:
            after = change.apply(before, number)
            again = after if change.python is None else change.apply(before, number)
        except InputError as error:
            raise loaded.error(("probes", place), str(error)) from None
        if again != after:
            text = f"{probe!r}, changes {side} of item {item.id!r} in another way each time"
            raise loaded.error(("probes", place), f"{text}; leave out what is random or a clock")
        if before.strip() and not after.strip():
            text = f"{probe!r}, leaves nothing of {side} of item {item.id!r}; change it less"
            raise loaded.error(("probes", place), text)
        if after != before or change.is_control:
            found[layer, item.id] = item.changed(at, after)
    return found


_WORD_IN_BRACES = re.compile(r"\{([A-Za-z_][A-Za-z_0-9]{1,39})\}")


def field_notes(blueprint: Blueprint) -> list[str]:
    """Say, before anything is asked, what prompts and items do not have in common."""
    found = []
    as_given = [template.id for template in blueprint.templates] == [AS_GIVEN]
    if not as_given and (unused := unused_fields(blueprint)):
        own = any(judge.provider in _OWN_CODE for judge in blueprint.study.judges)
        reach = "; a function or a command finds them under item" if own else ""
        found.append(
            f"items: no prompt shows {', '.join(unused)}: write {{{unused[0]}}} into the prompts "
            f"if the judge needs it{reach}"
        )
    for template in blueprint.templates:
        words = [word for part in template.parts[::2] for word in _WORD_IN_BRACES.findall(part)]
        if words:
            found.append(
                f"prompt {template.id}: {{{words[0]}}} is no field of the items and is sent as it "
                "stands"
            )
    return found


def probe_notes(blueprint: Blueprint) -> list[str]:
    """Say, before anything is asked, which answers probes leave out, and what gold is not about."""
    found = [
        f"probe {probe}: changes nothing in {counted(answers, 'answer')}, not asked about"
        for probe, answers in left_out(blueprint).items()
    ]
    main, alike = blueprint.study.main.name, dict[str, list[str]]()
    for (layer, _), item in blueprint.changed.items():
        probe, side = probed_by(layer) or ("", "")
        before = blueprint.item(main, item.id).candidates
        if len({*item.candidates}) < len({*before}):
            alike.setdefault(probe, []).append(f"{side} of item {item.id!r}")
    found += [
        f"probe {probe}: makes {counted(len(answers), 'answer')} the same as another one "
        f"({answers[0]}), so that gold no longer says which is better"
        for probe, answers in alike.items()
    ]
    rewriting = [p.name for p in blueprint.study.probes if p.replace or p.python]
    if rewriting and any(item.gold is not None for item in blueprint.items):
        found.append(
            f"gold is about answers as they are: changed ones ({', '.join(rewriting)}) are not "
            "held against it"
        )
    return found


def left_out(blueprint: Blueprint) -> dict[str, int]:
    """Count the answers that each probe leaves as they are, and that are not asked about."""
    streams = blueprint.study.streams
    asked = len(blueprint.members[blueprint.study.main.name])
    found: dict[str, int] = {}
    for layer in streams:
        if (probed := probed_by(layer.name)) is not None:
            missing = asked - len(blueprint.members[layer.name])
            found[probed[0]] = found.get(probed[0], 0) + missing
    return {probe: number for probe, number in found.items() if number}


def _read_items(loaded: LoadedStudy) -> tuple[Item, ...]:
    """Read the items; a path that leads nowhere is a problem of the study's line."""
    items = loaded.study.items
    path = loaded.folder / items.path
    if loaded.records is None and not path.exists():
        text = f"{path}, no such file or folder; paths are relative to the study file"
        raise loaded.error(("items", "path"), text)
    if path.is_dir() and items.source != "llmbar":
        text = f"{path}, cannot be read (Is a directory); check path and source"
        raise loaded.error(("items", "path"), text)
    try:
        split = items.strata == "split"
        study = loaded.study
        return read_items(
            items.source,
            path,
            items.fields,
            study.task,
            split=split,
            given=loaded.records,
            verdicts=study.verdicts,
            ends=study.ends,
            criteria=study.criteria,
        )
    except OSError as error:
        text = f"{path}, cannot be read ({error.strerror}); check path and source"
        raise loaded.error(("items", "path"), text) from None


def _check_control(
    loaded: LoadedStudy, layer: Layer, place: int, templates: tuple[Template, ...]
) -> None:
    if layer.role != "control":
        return
    known = [template.id for template in templates]
    if layer.prompt is not None and layer.prompt not in known:
        text = f"{layer.prompt!r}, must be one of {', '.join(known)}; choose one"
        raise loaded.error(("layers", place, "prompt"), text)
    sampled = drawn_count(loaded.study.prompts) is not None
    if layer.labels is None and (len(templates) == 1 or sampled):
        text = "missing, hidden labels take the place of a census of prompts; add labels: 6"
        raise loaded.error(("layers", place, "labels"), text)


def _check_letters(loaded: LoadedStudy, judge: JudgeSpec) -> None:
    """Refuse a judge that could name a candidate which no item has."""
    study = loaded.study
    if study.task != "choose":
        return
    place, n, letters = _written_at(loaded, judge), study.candidates, LETTERS[: study.candidates]
    for label in (getattr(judge.parser, "labels", None) or {}).values():
        if label in LETTERS and label not in letters:
            text = f"{label!r}, the {n} candidates are shown as {', '.join(letters)}; correct it"
            raise loaded.error(("judges", place, "parser", "labels"), text)
    law = judge.law
    tables = [] if law is None else [law.verdicts or {}, *(cell.verdicts for cell in law.cells)]
    if law is not None and law.world is not None:
        tables.append(dict.fromkeys(law.world.get("verdicts") or (), 1.0))
    for verdict in (name for table in tables for name in table):
        if (candidate_number(verdict) or 0) > n:
            text = f"{verdict!r}, the items have {n} candidates; name one of them"
            raise loaded.error(("judges", place, "law"), text)


def _written_at(loaded: LoadedStudy, judge: JudgeSpec) -> int:
    """Return the place in the file of a judge, or of the family that a grid expanded."""
    written = loaded.document.data["judges"]
    name = judge.family or judge.name
    return next(i for i, entry in enumerate(written) if entry.get("name") == name)


def _check_world(
    loaded: LoadedStudy, judge: JudgeSpec, members: Mapping[str, tuple[str, ...]], prompts: int
) -> None:
    """Refuse a simulated judge whose world has no law for a cell that it will be asked."""
    laws = [judge.law, *judge.law.criteria.values()] if judge.law else []
    worlds = [law.world for law in laws if law.world is not None]
    if not worlds:
        return
    from judgelaw.worlds import World  # noqa: PLC0415 - numpy loads for a simulated judge only

    study = loaded.study
    layers = [layer.name for layer in study.streams if judge in study.judges_of(layer)]
    items = dict.fromkeys(item for layer in layers for item in members[layer])
    if not items:
        return
    try:
        for world in map(World.from_spec, worlds):
            world.laws(items=list(items), prompts=prompts, orders=len(study.order_labels))
    except InputError as error:
        place = _written_at(loaded, judge)
        raise loaded.error(("judges", place, "law", "world"), str(error)) from None


def _check_component(loaded: LoadedStudy, prompts: int) -> None:
    """Refuse a rule about a component that the design does not have."""
    study = loaded.study
    levels = {"prompt": prompts, "order": len(study.order_labels)}
    for key, rule in (("stop", study.stop), ("repeats", study.repeats)):
        component = str(getattr(rule, "component", None))
        needs = ("prompt", "order") if component == "interaction" else (component,)
        for facet in needs:
            if levels.get(facet) == 1:
                text = (
                    f"{component!r}, cannot be known with one {facet}; choose call or total, or "
                    f"declare more {facet}s"
                )
                raise loaded.error((key, "component"), text)


def _check_reuse(
    loaded: LoadedStudy, layer: Layer, place: int, members: Mapping[str, tuple[str, ...]]
) -> None:
    """Refuse a layer with items that the layer whose calls it reuses does not ask about."""
    if layer.reuse is None:
        return
    there = set(members[layer.reuse.layer])
    lacks = [item for item in members[layer.name] if item not in there]
    if lacks:
        named = ", ".join(lacks[:_NAMED]) + (", ..." if len(lacks) > _NAMED else "")
        text = (
            f"{layer.reuse.layer!r}, lacks {len(lacks)} of the {len(members[layer.name])} items "
            f"of this layer ({named}); choose its items: or a part of them"
        )
        raise loaded.error(("layers", place, "reuse", "layer"), text)


def blocks(blueprint: Blueprint, date: str | None = None) -> tuple[Block, ...]:
    """Return the blocks of calls of one wave, layer by layer, judge by judge.

    Items that differ in repeats stand in blocks of their own.
    """
    study = blueprint.study
    shown = {
        layer.name: tuple(blueprint.item(layer.name, i) for i in blueprint.members[layer.name])
        for layer in study.streams
    }
    return tuple(
        replace(_block(blueprint, layer, judge, items), date=date, repeats=range(repeats))
        for layer in study.streams
        for judge in study.judges_of(layer)
        for repeats, items in _by_repeats(blueprint, layer, judge, shown[layer.name]).items()
    )


def _by_repeats(
    blueprint: Blueprint, layer: Layer, judge: JudgeSpec, items: tuple[Item, ...]
) -> dict[int, tuple[Item, ...]]:
    """Return the items of a judge in a layer by their repeats, the fewest first."""
    study, equal = blueprint.study, layer.repeats or 0
    chosen: Mapping[str, int] = {}
    if layer.name == study.main.name:
        chosen = blueprint.repeats.get(judge.name, {})
    if study.stop is not None and layer.name in study.looked_at:
        equal = blueprint.reached.get(judge.name, equal)
    found: dict[int, list[Item]] = {}
    for item in items:
        found.setdefault(chosen.get(item.id, equal), []).append(item)
    return {repeats: tuple(found[repeats]) for repeats in sorted(found)}


def _block(blueprint: Blueprint, layer: Layer, judge: JudgeSpec, items: tuple[Item, ...]) -> Block:
    templates = blueprint.templates
    prompts = tuple(template.id for template in templates)
    if layer.role == "control":
        labels = layer.labels or len(templates)
        one = next((t for t in templates if t.id == layer.prompt), templates[0])
        prompts = tuple(f"slot-{place}" for place in range(1, labels + 1))
        templates = (one,) * labels
    return Block(
        judge=judge,
        layer=layer,
        items=items,
        prompts=prompts,
        templates=tuple(template.asking(judge.asks) for template in templates),
        orders=blueprint.study.order_labels,
        repeats=range(layer.repeats or 0),
    )
