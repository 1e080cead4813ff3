"""The run that asks a model for rewordings: an ordinary run, frozen before its first request.

    item     one passage of one draw, `r007.2`; its text is what is sent
    repeat   the attempt: 0, and up to three more where the checks refused what came back
    seed     of the call's own, from the number of draw, passage and attempt alone: draw 7 asks with
             the same seeds whether 12 or 40 are drawn, and whatever was refused before

Refused passages are added as calls, and asked by the engine that asks everything else.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from judgelaw.errors import InputError, StudyChangedError
from judgelaw.streams import stream
from judgelaw.study.blueprint import Block, Blueprint, blocks
from judgelaw.study.freezing import record_of
from judgelaw.study.items import Item, to_jsonl
from judgelaw.study.loading import LoadedStudy
from judgelaw.study.manifest import ITEMS, STUDY, FrozenRun, open_run
from judgelaw.study.models import Items, Study
from judgelaw.study.problems import written_out
from judgelaw.study.prompt_models import Census, TemplateSpec
from judgelaw.study.prompts import Template, split
from judgelaw.study.record import RECORD, Session, depth, differences, free
from judgelaw.study.reword_checks import chosen, refusal
from judgelaw.study.reworded import TRIES, WordingSource
from judgelaw.study.run_files import exclusive, recover, scratch, staged
from judgelaw.study.schedule import Places, counts, namespaces, write_calls, write_prompts
from judgelaw.study.wording_draws import Draw, Refused
from judgelaw.tensor import INVALID
from judgelaw.wire import Verdict

PROMPT = "reword"
_TEXT = "{candidate}"
_DRAWS_FOR_ONE = 2
"""Draws for each prompt that is wanted, before it is said that too many are refused."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What came back to one attempt.

    Attributes:
        text: the reply, as the ledger has it; empty where there is none.
        verdict: what the parser made of it: the text again, or `invalid` with a reason.
    """

    text: str
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """How far the draws are.

    Attributes:
        draws: those that are decided, in their sequence.
        open: attempts that are still to be planned, by draw and passage, with their number.
    """

    draws: tuple[Draw, ...]
    open: Mapping[tuple[int, int], int]

    @property
    def kept(self) -> int:
        """How many draws passed the checks."""
        return sum(draw.parts is not None for draw in self.draws)


def cell_name(draw: int, unit: int) -> str:
    """Name the passage of a draw, both counted from 1."""
    return f"r{draw:03d}.{unit}"


def asking(study: Study, source: WordingSource) -> Study:
    """Return the study that asks for rewordings."""
    assert source.judge is not None  # noqa: S101 - rules ask nobody
    return Study(
        version=1,
        name=f"{study.name}-rewordings"[:100],
        # No seed of the study's own calls: a model may well be asked by both.
        seed=int(stream(source.seed, "rewordings").integers(2**31)),
        task="pointwise",
        items=Items(source="jsonl", path=ITEMS),
        prompts=Census(policy="census", templates=(_template(source),)),
        repeats=1,
        schedule="cells",
        judges=(source.judge,),
        transport=study.transport,
        budget=study.budget,
        env_file=study.env_file,
    )


def _template(source: WordingSource) -> TemplateSpec:
    return TemplateSpec(id=PROMPT, text=f"{source.instruction}\n\nTEXT:\n{_TEXT}")


def plan_draws(study: Study, source: WordingSource, folder: Path, wanted: int) -> FrozenRun:
    """Freeze the first attempts of so many draws, or add those that are not there yet.

    Raises:
        StudyChangedError: the folder holds draws of another generator.
    """
    asked = asking(study, source)
    with exclusive(folder):
        recover(folder)
        if not (folder / RECORD).exists():
            _freeze_first(asked, source, folder, wanted)
            return open_run(folder)
        _refuse_other(open_run(folder), asked, folder)
        _amend(open_run(folder), asked)
        frozen = open_run(folder)
        there = len(frozen.items) // len(source.units)
        if wanted > there:
            _add(frozen, source, dict.fromkeys(_cells(source, there, wanted), 0))
    return open_run(folder)


def plan_again(
    frozen: FrozenRun, source: WordingSource, refused: Mapping[tuple[int, int], int]
) -> FrozenRun:
    """Add the next attempt of every passage that was refused."""
    with exclusive(frozen.path):
        recover(frozen.path)
        _add(open_run(frozen.path), source, refused)
    return open_run(frozen.path)


def _cells(source: WordingSource, first: int, stop: int) -> Iterator[tuple[int, int]]:
    for draw in range(first + 1, stop + 1):
        for unit in range(1, len(source.units) + 1):
            yield draw, unit


def _item(source: WordingSource, draw: int, unit: int) -> Item:
    return Item(
        id=cell_name(draw, unit),
        stratum=None,
        instruction="",
        candidate_1=source.units[unit - 1],
        candidate_2=None,
        gold=None,
    )


def _refuse_other(frozen: FrozenRun, asked: Study, folder: Path) -> None:
    def told(study: Study) -> dict[str, Any]:
        prompts = study.prompts
        assert isinstance(prompts, Census)  # noqa: S101 - `asking` wrote it
        return {
            "seed": study.seed,
            "model": study.judges[0].identity(),
            "instruction": prompts.templates[0].text,
        }

    old, new = told(frozen.study), told(asked)
    if changed := [key for key in old if old[key] != new[key]]:
        raise StudyChangedError(
            f"{folder} holds draws of another generator: {', '.join(changed)} changed since; "
            "restore the study, or draw into another folder (draws:)"
        )


def _amend(frozen: FrozenRun, asked: Study) -> None:
    """Take over what may change between sessions: address, key, transport, budget."""
    record = frozen.record
    changed = [*differences(free(frozen.study), free(asked))]
    if not changed:
        return
    amended = replace(
        record,
        study=asked.model_dump(mode="json", by_alias=True),
        amendments=(*record.amendments, {"study": None, "changes": changed}),
    )
    with staged(frozen.path) as stage:
        (stage / RECORD).write_bytes(amended.to_json())


def _ordinals(source: WordingSource) -> Callable[[Block], Places]:
    """Return what numbers the calls of a block by draw, passage and attempt."""
    units = len(source.units)

    def of(block: Block) -> Places:
        cells = [_place(item.id) for item in block.items]
        at = np.array([(draw - 1) * units + unit - 1 for draw, unit in cells], dtype=np.int64)
        tries = np.arange(block.repeats.start, block.repeats.stop)
        return np.asarray((at[:, None] * TRIES + tries[None, :]).reshape(-1))

    return of


def _place(name: str) -> tuple[int, int]:
    draw, _, unit = name.removeprefix("r").partition(".")
    return int(draw), int(unit)


def _blueprint(asked: Study, source: WordingSource, items: tuple[Item, ...]) -> Blueprint:
    text = _template(source).text or ""
    template = Template(id=PROMPT, parts=split(text, ("candidate",)))
    return Blueprint(
        study=asked,
        items=items,
        templates=(template,),
        members={asked.main.name: tuple(item.id for item in items)},
    )


def _freeze_first(asked: Study, source: WordingSource, folder: Path, wanted: int) -> None:
    items = tuple(_item(source, d, u) for d, u in _cells(source, 0, wanted))
    plain = asked.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    text, document = written_out({"version": 1, **plain}, Study.model_fields)
    loaded = LoadedStudy(study=asked, path=folder / STUDY, source=text, document=document)
    blueprint = _blueprint(asked, source, items)
    planned = blocks(blueprint)
    repeats = {asked.judges[0].name: dict.fromkeys(blueprint.members[asked.main.name], 1)}
    record = replace(record_of(loaded, blueprint, planned), repeats=repeats)
    with scratch(folder) as spare, staged(folder) as stage:
        (stage / "inputs").mkdir()
        (stage / STUDY).write_text(text, encoding="utf-8", newline="")
        (stage / ITEMS).write_text(to_jsonl(items), encoding="utf-8", newline="")
        write_prompts(blueprint, stage)
        write_calls(planned, blueprint, folder, stage, spare, ordinals=_ordinals(source))
        (stage / RECORD).write_bytes(record.to_json())


def _add(frozen: FrozenRun, source: WordingSource, attempts: Mapping[tuple[int, int], int]) -> None:
    """Add attempts behind those that are there: items, calls and record together or not at all."""
    record, study = frozen.record, frozen.study
    judge, layer = study.judges[0], study.main.name
    items = dict(frozen.items)
    by_attempt: defaultdict[int, list[Item]] = defaultdict(list)
    repeats = dict(record.repeats[judge.name])
    for (draw, unit), attempt in sorted(attempts.items()):
        item = items.setdefault(cell_name(draw, unit), _item(source, draw, unit))
        if repeats.get(item.id, 0) <= attempt:
            by_attempt[attempt].append(item)
            repeats[item.id] = attempt + 1
    target = replace(
        _blueprint(study, source, tuple(items.values())), repeats={judge.name: repeats}
    )
    whole = blocks(target)
    added = tuple(
        replace(whole[0], items=tuple(some), repeats=range(attempt, attempt + 1))
        for attempt, some in by_attempt.items()
    )
    if not added:
        return
    session = Session(
        kind="extend",
        calls=sum(block.count for block in added),
        depth=depth(study),
        seeds=namespaces(added, frozen.count),
    )
    extended = replace(
        record,
        members={layer: list(items)},
        counts=counts(whole, target),
        sessions=(*record.sessions, session),
        repeats={judge.name: repeats},
    )
    with scratch(frozen.path) as spare, staged(frozen.path) as stage:
        (stage / "inputs").mkdir()
        (stage / ITEMS).write_text(to_jsonl(items.values()), encoding="utf-8", newline="")
        write_calls(
            added,
            target,
            frozen.path,
            stage,
            spare,
            first=frozen.count,
            session=len(record.sessions),
            ordinals=_ordinals(source),
        )
        (stage / RECORD).write_bytes(extended.to_json())


def decide(
    source: WordingSource,
    planned: Iterable[tuple[str, int]],
    heard: Mapping[tuple[str, int], Heard],
) -> Drawn:
    """Read what came back: which draws are there, which are given up, what is asked again.

    Args:
        source: the generator.
        planned: attempts that were planned, by cell and attempt.
        heard: what came back to them.
    """
    cells: defaultdict[int, dict[int, list[int]]] = defaultdict(dict)
    for name, attempt in planned:
        draw, unit = _place(name)
        cells[draw].setdefault(unit, []).append(attempt)
    draws, left = list[Draw](), dict[tuple[int, int], int]()
    for number in sorted(cells):
        one, again = _draw(source, number, cells[number], heard)
        draws.append(one)
        left |= {(number, unit): attempt for unit, attempt in again.items()}
    return Drawn(draws=tuple(draws), open=left)


def _draw(
    source: WordingSource,
    number: int,
    attempts: Mapping[int, list[int]],
    heard: Mapping[tuple[str, int], Heard],
) -> tuple[Draw, dict[int, int]]:
    """Return a draw with what was refused, and the next attempts of its passages, if any."""
    refused: list[Refused] = []
    texts: dict[int, tuple[str, ...]] = {}
    places: tuple[int, ...] = ()
    again: dict[int, int] = {}
    for unit in sorted(attempts):
        for attempt in sorted(attempts[unit]):
            reply = heard[cell_name(number, unit), attempt]
            found, why = _read(source, unit, reply)
            if found is not None:
                texts[unit], places = found
                break
            refused.append(Refused(passage=unit, attempt=attempt + 1, why=why, text=reply.text))
        else:
            again[unit] = max(attempts[unit]) + 1
    given_up = any(attempt >= TRIES for attempt in again.values())
    parts = None
    if not again:
        parts = source.outline.filled([text for unit in sorted(texts) for text in texts[unit]])
    made = {"alternatives": list(places)} if places and parts else {}
    draw = Draw(number=number, parts=parts, made=made, refused=tuple(refused))
    return draw, {} if given_up else again


def _read(
    source: WordingSource, unit: int, reply: Heard
) -> tuple[tuple[tuple[str, ...], tuple[int, ...]] | None, str]:
    """Return the passages that a reply gives, with what it chose; or None and what is wrong."""
    if reply.verdict.verdict == INVALID:
        return None, f"no reply: {reply.verdict.reason}"
    text = reply.verdict.verdict
    listed = source.prompts.alternatives
    if listed:
        places, why = chosen(text, listed)
        if places is None:
            return None, why
        return (tuple(t[n] for t, n in zip(listed, places, strict=True)), places), ""
    why = refusal(source.units[unit - 1], text, source.kept) or ""
    return (None, why) if why else (((text,), ()), "")


def more_draws(drawn: Drawn, wanted: int) -> int:
    """Return how many draws there have to be so that enough of them pass; as many as there are.

    Raises:
        InputError: the checks refuse too many.
    """
    there, kept = len(drawn.draws), drawn.kept
    if kept >= wanted:
        return there
    most = _DRAWS_FOR_ONE * wanted
    if there >= most:
        whys = [r.why.partition(":")[0] for draw in drawn.draws for r in draw.refused]
        often = ", ".join(
            f"{why} {whys.count(why)}" for why in sorted(set(whys), key=lambda w: -whys.count(w))
        )
        raise InputError(
            f"{kept} of {there} draws passed the checks, {wanted} are wanted; refused replies: "
            f"{often}. Let another model reword, tell it more (instruction:), or let it choose "
            "among alternatives:"
        )
    return min(most, there + wanted - kept)
