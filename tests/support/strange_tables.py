"""Tables of known roles, written as strangers write them: other names, more columns, other shapes.

A table is drawn from a seed. Its calls are known; what is published of them has columns under names
that say what they are, that hint at it, or that say nothing, with times, ids, replies and further
conditions beside them. So every reading of it is right, or wrong, or a question.
"""

import csv
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

SAYING = {
    "judge": ("judge", "judge_id", "judge_name", "Judge Model"),
    "item": ("item", "item_id", "question_id", "example_id", "Sample ID"),
    "prompt": ("prompt", "prompt_id", "template", "wrapper", "prompt_template"),
    "order": ("order", "answer_order", "display_order", "prompt_order"),
    "repeat": ("repeat", "repetition", "trial", "run", "run_index", "Iteration"),
    "verdict": ("verdict", "winner", "decision", "parsed_verdict", "judgment", "Outcome"),
    "gold": ("gold", "gold_label", "ground_truth_label"),
}
HINTING = {
    "judge": ("by", "who_said", "engine"),
    "item": ("case", "entry", "pairing"),
    "prompt": ("wording", "setting", "how_asked"),
    "order": ("shown_as", "arrangement", "way"),
    "repeat": ("k", "nth", "copy_no"),
    "verdict": ("says", "out", "v"),
    "gold": ("truth_value", "right_one", "key"),
}
CONDITIONS = (
    *("condition", "temperature", "persona", "mode", "note", "batch", "version", "lang", "tag"),
    *("group", "category", "subset", "source", "system", "model_under_test", "turn", "phase"),
    *("seed", "split", "variantX", "padding", "status", "reasoning_effort", "host", "style"),
    *("p_mode", "max_tokens", "cost_tier", "date_group", "text", "label", "rubric", "round"),
)
"""Names of conditions: the calls of each value are others, whatever the name suggests."""
ASIDE = ("timestamp", "latency_ms", "response_id", "reason", "cost_usd", "Unnamed: 0")
ORDER_WORDS = (("AB", "BA"), ("original", "reversed"), ("original", "swapped"))
_SIDES = ("candidate_1", "candidate_2")
_FLIP = {"candidate_1": "candidate_2", "candidate_2": "candidate_1"}
_LETTERS = {"candidate_1": "A", "candidate_2": "B", "tie": "tie"}
_NAMES = {"candidate_1": "model_1", "candidate_2": "model_2", "tie": "tie"}
_WORDS = {"labels": ("pass", "fail"), "scores": ("1", "2", "3", "4", "5")}

Key = tuple[str, str | None, tuple[str, ...], str, str]
"""Judge, criterion, item with its conditions, prompt, order."""


@dataclass
class StrangeTable:
    """A published table, and what is true of it.

    Attributes:
        rows: as published.
        truth: verdicts by cell.
        said: what a person who knows the table would say of it.
        certain: whether names and values tell everything, so that a question is needless.
        made: what was done to it, for whoever looks at a failure.
    """

    rows: list[dict]
    truth: dict[Key, Counter]
    said: dict
    certain: bool
    made: dict = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Write it as its ending says."""
        if path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        elif path.suffix == ".json":
            path.write_text(json.dumps(self.rows, indent=1))
        else:
            mark = {".tsv": "\t", ".txt.csv": ";"}.get(path.suffix, ",")
            names = list(dict.fromkeys(name for row in self.rows for name in row))
            with path.open("w", newline="", encoding="utf-8-sig") as file:
                writer = csv.DictWriter(file, names, delimiter=mark)
                writer.writeheader()
                writer.writerows(self.rows)
        return path


def draw_table(seed: int) -> StrangeTable:
    """Draw a table."""
    r = random.Random(seed)
    kind = r.choice(("pairs", "pairs", "pairs", "labels", "scores", "wide"))
    return _wide(r) if kind == "wide" else _Long(r, kind).table()


class _Long:
    """A table with a row for each call."""

    def __init__(self, r: random.Random, kind: str) -> None:
        self.r, self.kind = r, kind
        self.judges = [f"judge-{n}" for n in range(r.choice((1, 1, 1, 2)))]
        self.items = [f"q{n:03d}" for n in range(r.randrange(12, 40))]
        self.prompts = [f"p{n}" for n in range(r.choice((1, 1, 2, 3)))]
        both = kind == "pairs" and r.random() < 0.7
        self.orders = ("AB", "BA") if both else ("AB",)
        self.repeats = r.choice((1, 2, 2, 3, 4))
        names = r.sample(CONDITIONS, r.choice((0, 0, 0, 1, 1, 2)))
        self.conditions = {name: _values(r, name) for name in names}
        self.style = r.choice(("saying", "saying", "hinting", "scrambled"))
        self.numbered = r.choice(("in cells", "in cells", "across", "not", "not"))
        self.gold = {item: r.choice(_SIDES) for item in self.items} if kind == "pairs" else {}
        self.with_gold = kind == "pairs" and r.random() < 0.6
        self.spell = r.choice(("usual", "letters", "letters", "names"))
        self.letters = kind == "pairs" and self.spell == "letters"
        self.shown = self.letters and both and r.random() < 0.5
        self.clue = r.choice(("reply", "flag", "none")) if self.letters and both else "none"
        if self.clue == "flag" and not self.with_gold:
            self.clue = "reply"
        self.order_words = r.choice(ORDER_WORDS)
        self.aside = r.sample(ASIDE, r.randrange(4))
        self.lean = {(j, i): r.random() for j in self.judges for i in self.items}
        self.name = self._names()

    def _names(self) -> dict[str, str]:
        r = self.r
        parts = ["item", "verdict"]
        parts += ["judge"] if len(self.judges) > 1 or r.random() < 0.6 else []
        parts += ["prompt"] if len(self.prompts) > 1 or r.random() < 0.4 else []
        parts += ["order"] if len(self.orders) > 1 else []
        parts += ["repeat"] if self.numbered != "not" and self.repeats > 1 else []
        parts += ["gold"] if self.with_gold else []
        if self.style == "scrambled":
            letters = r.sample("abcdefghijklmnoqrstuvwxyz", len(parts))
            return {part: f"{a}{r.randrange(10)}" for part, a in zip(parts, letters, strict=True)}
        also = HINTING if self.style == "hinting" else {}
        return {part: r.choice((*SAYING[part], *also.get(part, ()))) for part in parts}

    def table(self) -> StrangeTable:
        """Publish it."""
        rows, truth = [], defaultdict(Counter)
        for row, key, meant in self._calls():
            rows.append(row)
            truth[key][self._kept(meant)] += 1
        self.r.shuffle(rows)
        told = not self.letters or len(self.orders) == 1 or self.clue != "none"
        made = {k: v for k, v in vars(self).items() if k not in ("r", "items", "lean", "gold")}
        return StrangeTable(
            rows=rows,
            truth=dict(truth),
            said=self._said(),
            certain=self.style == "saying" and not self.conditions and told,
            made=made,
        )

    def _calls(self) -> Iterator[tuple[dict, Key, str]]:
        cells = product(self.judges, self.items, self.prompts, self.orders)
        for count, (cell, combo, repeat) in enumerate(
            (cell, (n, combo), repeat)
            for cell in cells
            for n, combo in enumerate(product(*self.conditions.values()))
            for repeat in range(self.repeats)
        ):
            judge, item, prompt, order = cell
            meant = self._meant(judge, item)
            rank = repeat + self.repeats * combo[0] if self.numbered == "across" else repeat
            row = self._row(cell, combo[1], rank, meant)
            row |= {name: _beside(self.r, name, count) for name in self.aside}
            yield row, (judge, None, (item, *combo[1]), prompt, order), meant

    def _meant(self, judge: str, item: str) -> str:
        if self.kind != "pairs":
            return self.r.choice(_WORDS[self.kind])
        # Verdicts lean to the right side, so that gold can tell what letters are.
        side = self.gold[item]
        right = self.r.random() < 0.6 + 0.35 * self.lean[judge, item]
        return side if right else self.r.choice((_FLIP[side], "tie"))

    def _row(self, cell: tuple, combo: tuple, rank: int, meant: str) -> dict:
        judge, item, prompt, order = cell
        displayed = _FLIP.get(meant, meant) if order == "BA" else meant
        values = {
            "item": item,
            "judge": judge,
            "prompt": prompt,
            "order": self.order_words[order == "BA"],
            "repeat": rank,
            "verdict": self._spelled(displayed if self.shown else meant),
            "gold": self._spelled(self.gold.get(item, "")),
        }
        row = {self.name[part]: value for part, value in values.items() if part in self.name}
        row |= dict(zip(self.conditions, combo, strict=True))
        if self.clue == "reply":
            row["raw_response"] = f"Some words. Final verdict: {_LETTERS[displayed]}"
        if self.clue == "flag":
            row["correct"] = meant == self.gold[item]
        return row

    def _spelled(self, meant: str) -> str:
        if self.kind != "pairs" or self.spell == "usual":
            return meant
        return (_LETTERS if self.letters else _NAMES).get(meant, meant)

    def _kept(self, meant: str) -> str:
        """Return a verdict as a reading has it: letters stay letters where there is one order."""
        one = self.letters and len(self.orders) == 1
        return _LETTERS[meant] if one else meant

    def _said(self) -> dict:
        said: dict = {"columns": dict(self.name)}
        if self.conditions:
            said["columns"]["item"] = [self.name["item"], *self.conditions]
        if self.letters and len(self.orders) > 1:
            names = {"A": "candidate_1", "B": "candidate_2"}
            said |= {"positions": ("A", "B")} if self.shown else {"label": names}
        return said


def _values(r: random.Random, name: str) -> list:
    """Draw the values of a condition: words, numbers, truth values."""
    count = r.choice((2, 2, 3))
    kind = r.choice(("words", "words", "numbers", "truth"))
    if kind == "words":
        short = r.random() < 0.5
        return [f"{name[:3]}{n}" if short else f"{'xyz'[n]} {name}" for n in range(count)]
    if kind == "numbers":
        start = r.choice((0, 1, 100))
        return [str(start + n * r.choice((1, 1, 256))) for n in range(count)][: max(count, 2)]
    return ["true", "false"]


def _beside(r: random.Random, name: str, count: int) -> object:
    """Return what differs between repeats of one call."""
    clock = f"{count % 24:02d}:{count % 60:02d}:{count % 59:02d}"
    return {
        "timestamp": lambda: f"2026-05-{1 + count % 28:02d}T{clock}Z",
        "latency_ms": lambda: r.randrange(300, 90_000),
        "response_id": lambda: f"resp_{count:06d}",
        "reason": lambda: f"The answer number {r.randrange(10**6)} is better by {r.random():.3f}.",
        "cost_usd": lambda: round(r.random() / 100, 6),
        "Unnamed: 0": lambda: count,
    }[name]()


def _wide(r: random.Random) -> StrangeTable:
    """Draw a table with a column for each judge, or for each criterion."""
    criteria, count = r.random() < 0.5, r.choice((2, 3, 5))
    if criteria:
        short = ["tone", "truth", "brevity", "depth", "care"][:count]
        columns, words = [f"score_{name}" for name in short], ("1", "2", "3", "4")
    else:
        columns = ["gpt-4o", "claude-3-haiku", "llama-3-8b", "mistral-7b", "qwen2-7b"][:count]
        short, words = columns, ("yes", "no")
    condition = {"style": ["s0", "s1"]} if r.random() < 0.4 else {}
    truth, rows = defaultdict(Counter), []
    for n, value in product(range(r.randrange(10, 40)), next(iter(condition.values()), [None])):
        row = {"question_id": f"q{n:03d}"} | ({"style": value} if condition else {})
        for column, label in zip(columns, short, strict=True):
            row[column] = r.choice(words)
            who = ("judge", label) if criteria else (label, None)
            item = (f"q{n:03d}", *([value] if condition else []))
            truth[(*who, item, "as given", "AB")][row[column]] += 1
        row["reason"] = f"words {r.random()}"
        rows.append(row)
    said = {
        "criteria" if criteria else "judges": columns,
        "columns": {"item": ["question_id", *condition]},
    }
    made = {"kind": "wide", **said}
    return StrangeTable(rows=rows, truth=dict(truth), said=said, certain=False, made=made)


_ORDERS = {"original": "AB", "reversed": "BA", "swapped": "BA", "only": "AB"}


def found_in(tensors: dict, truth: dict[Key, Counter]) -> dict[Key, Counter]:
    """Return the verdicts of what was read, under the labels that the truth has."""
    judges, prompts = ({key[at] for key in truth} for at in (0, 3))
    found = {}
    for (_, name), t in tensors.items():
        judge = name if t.criterion is None else name.judge
        judge = next(iter(judges)) if judge == "judge" and len(judges) == 1 else judge
        for (i, item), (k, prompt), (o, order) in product(
            enumerate(t.items), enumerate(t.prompts), enumerate(t.orders)
        ):
            counts = zip(t.verdicts, t.counts[i, k, o], strict=True)
            verdicts = Counter({verdict: int(n) for verdict, n in counts if n})
            if prompt == "as given" and len(prompts) == 1:
                prompt = next(iter(prompts))  # noqa: PLW2901 - under the label of the truth
            if verdicts:
                pieces = tuple(item.replace(" / ", "/").replace(" | ", "/").split("/"))
                found[judge, t.criterion, pieces, prompt, _ORDERS.get(order, order)] = verdicts
    return found
