"""Draws of rewordings: what was drawn, what was refused, what people struck, and which are used.

    rewordings/NAME/   draws.jsonl      the generator, then every draw in its sequence
                       approvals.csv    what people said of them (`judgelaw reword STUDY --approve`)
                       asked/           the run that asked a model for them

A draw is used as it comes: the same text twice is two draws. What people strike is left out, draw
by draw in the sequence in which they were drawn, so that what is left is drawn from the same law
given that people approve.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from judgelaw.errors import InputError, IntegrityError
from judgelaw.record_files import json_of
from judgelaw.study.prompts import Template
from judgelaw.study.run_files import durable
from judgelaw.wire import canonical_json, sha256_hex
from judgelaw.words import counted

DRAWS, APPROVALS, ASKED = "draws.jsonl", "approvals.csv", "asked"
SCHEMA = "judgelaw.draws/1"
SAME, STRUCK = "same meaning", "strike"
"""What people say of a rewording."""
_ID_DIGITS = 12
_SHOWN = 8
"""Words of a draw that a table shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A reply that is no rewording.

    Attributes:
        passage: of the template, from 1.
        attempt: from 1.
        why: the check that refused it, and what it found.
        text: the reply; empty where there was none.
    """

    passage: int
    attempt: int
    why: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Draw:
    """One draw.

    Attributes:
        number: its place in the sequence, from 1.
        parts: of the reworded template; None where every attempt was refused.
        made: what was chosen, by rule or among alternatives; empty where a model wrote freely.
        refused: what the checks refused before.
    """

    number: int
    parts: tuple[str, ...] | None
    made: Mapping[str, Any] = field(default_factory=dict)
    refused: tuple[Refused, ...] = ()

    @property
    def template(self) -> Template:
        """The draw as a prompt, under a name that no other draw has."""
        return Template(id=f"r{self.number:03d}", parts=self.parts or ())

    @property
    def wording(self) -> str:
        """The name of its text: two draws of the same text share it."""
        return f"w-{self.template.sha256[:_ID_DIGITS]}"

    def as_dict(self) -> dict[str, Any]:
        """Return what its line in the file holds."""
        said = {"parts": self.parts, "sha256": self.template.sha256} if self.parts else {}
        return {
            "draw": self.number,
            **({"prompt": self.template.id, "wording": self.wording} if self.parts else {}),
            **said,
            **({"made": dict(self.made)} if self.made else {}),
            "refused": [
                {"passage": r.passage, "attempt": r.attempt, "why": r.why, "text": r.text}
                for r in self.refused
            ],
        }


def draws_text(generator: Mapping[str, Any], draws: Iterable[Draw]) -> str:
    """Write the draws of a generator: the same draws are the same bytes."""
    digest = sha256_hex(canonical_json(generator))
    rows = [{"schema": SCHEMA, "sha256": digest, "generator": generator}]
    rows += [draw.as_dict() for draw in draws]
    return "".join(canonical_json(row) + "\n" for row in rows)


def write_draws(folder: Path, generator: Mapping[str, Any], draws: Iterable[Draw]) -> None:
    """Write the draws into their folder, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    durable(folder / DRAWS, draws_text(generator, draws).encode())


def read_draws(folder: Path, generator: Mapping[str, Any]) -> tuple[Draw, ...]:
    """Read the draws of a generator.

    Raises:
        InputError: there are none.
        IntegrityError: they are of another generator, or were changed.
    """
    path = folder / DRAWS
    if not path.is_file():
        raise InputError(f"{folder}: no rewordings were drawn yet; run `judgelaw reword STUDY`")
    lines = path.read_text(encoding="utf-8").split("\n")
    try:
        head, *rows = [json_of(line) for line in lines if line]
        if head["schema"] != SCHEMA:
            raise IntegrityError(f"{path}: not of schema {SCHEMA}; use the judgelaw that wrote it")
        if head["sha256"] != sha256_hex(canonical_json(generator)):
            raise IntegrityError(_other_generator(path, head["generator"], generator))
        found = tuple(map(draw_from, rows))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(
            f"{path}: cannot be read ({type(error).__name__}); restore it, or draw into another "
            "folder (draws:)"
        ) from None
    for draw, row in zip(found, rows, strict=True):
        if draw.parts is not None and row["sha256"] != draw.template.sha256:
            raise IntegrityError(
                f"{path}: draw {draw.number} is not the text that was drawn; restore the file"
            )
    return found


def _other_generator(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return (
        f"{path}: drawn from another generator than the study declares ({', '.join(changed)} "
        "differ): draws of two generators are no sample of either; restore the study, or draw into "
        "another folder (draws:)"
    )


def draw_from(row: Mapping[str, Any]) -> Draw:
    """Return a draw from what `as_dict` gave."""
    parts = tuple(row["parts"]) if "parts" in row else None
    refused = tuple(Refused(**each) for each in row["refused"])
    return Draw(number=row["draw"], parts=parts, made=row.get("made", {}), refused=refused)


def differs_first(template: Template, draw: Draw) -> str:
    """Return the first words of a draw that its template has otherwise."""
    old, new = template.text.split(), draw.template.text.split()
    if old == new:
        return "nothing"
    at = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    return " ".join(new[max(0, at - 1) : at + _SHOWN])


@dataclass(frozen=True, kw_only=True)
class Approvals:
    """What people said of wordings, by the name of the text."""

    said: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def read(self, draw: Draw) -> bool:
        """Whether anybody looked at a draw."""
        return draw.wording in self.said

    def approved(self, draw: Draw) -> bool:
        """Whether somebody found the same meaning in it, and nobody struck it."""
        said = self.said.get(draw.wording, frozenset())
        return SAME in said and STRUCK not in said


def read_approvals(folder: Path) -> Approvals:
    """Read what people said; nothing where nobody did."""
    path = folder / APPROVALS
    if not path.is_file():
        return Approvals()
    found: dict[str, set[str]] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            if row.get("item"):
                found.setdefault(row["item"], set()).add(row.get("label") or "")
    return Approvals(said={item: frozenset(said) for item, said in found.items()})


def used(
    draws: Iterable[Draw], *, count: int, approved: bool, approvals: Approvals
) -> Iterator[Draw]:
    """Yield the first draws that passed the checks, and were approved where that is asked for.

    Raises:
        InputError: there are fewer, or one of them was read by nobody: what is used must not hang
            on how far people came.
    """
    found = struck = 0
    for draw in draws:
        if found == count:
            return
        if draw.parts is None:
            continue
        if approved and not approvals.read(draw):
            raise InputError(
                f"count {count}: {found} of the rewordings that people read are approved, and "
                f"{draw.template.id} was read by nobody; read on with `judgelaw reword STUDY "
                f"--approve`, or write count: {found}"
            )
        if approved and not approvals.approved(draw):
            struck += 1
            continue
        found += 1
        yield draw
    if found < count:
        less = f", {struck} more were struck by people" if struck else ""
        raise InputError(
            f"count {count}: {found} rewordings can be used{less}; draw more with `judgelaw reword "
            f"STUDY --count {count + struck + count - found}`, or write count: {found}"
        )


def varied(draws: Sequence[Draw], count: int) -> tuple[Draw, ...]:
    """Choose draws that differ as much as can be, each text once, in the sequence of the draws.

    The first draw, then always the one that is farthest from all that are chosen, by words.

    Raises:
        InputError: fewer texts than asked for.
    """
    texts: dict[str, Draw] = {}
    for draw in draws:
        texts.setdefault(draw.wording, draw)
    if len(texts) < count:
        raise InputError(
            f"count {count}: {len(draws)} draws hold {counted(len(texts), 'different text')}; "
            "raise among:, or ask for fewer"
        )
    words = {name: draw.template.text.split() for name, draw in texts.items()}
    first, *rest = texts
    chosen = [first]
    near = {name: _distance(words[first], words[name]) for name in rest}
    while len(chosen) < count:
        farthest = max(near, key=lambda name: near[name])
        del near[farthest]
        chosen.append(farthest)
        near = {n: min(d, _distance(words[farthest], words[n])) for n, d in near.items()}
    return tuple(sorted((texts[name] for name in chosen), key=lambda draw: draw.number))


def _distance(one: Sequence[str], other: Sequence[str]) -> float:
    return 1 - SequenceMatcher(None, one, other, autojunk=False).ratio()
