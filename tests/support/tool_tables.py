"""Tables of known roles with the habits of tools: other words, other shapes than `strange_tables`.

Names are those that evaluation tools and people of several languages write; verdicts are words,
letters, numbers, truth values, or stand at the end of a reply; calls lie in rows, in columns, in
lists, under keys of an object, or in several files. A design may be confounded, so that only a
question is right.
"""

import csv
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

NAMES = {
    "item": (
        *("sample_no", "sample_id", "task_id", "pair", "prompt_idx", "uid", "row_key", "Question"),
        *(
            "instance",
            "qid",
            "frage",
            "pregunta_id",
            "doc_id",
            "case number",
            "entry.id",
            "exampleId",
        ),
        *("data_id", "problem", "scenario_id", "input_id", "testcase"),
    ),
    "judge": (
        *("eval_model", "grader", "evaluator", "judge", "judgeModel", "scorer", "critic", "juge"),
        *("Bewerter", "llm", "assessor", "reviewer_model", "grader.model"),
    ),
    "prompt": (
        *("variant", "template", "promptVariant", "rubric_version", "wording", "template_no"),
        *("instruction_style", "system_prompt", "vorlage", "persona", "few_shot"),
    ),
    "order": (
        *("position", "swap", "flipped", "is_swapped", "answer_order", "presentation", "reversed"),
        *("Reihenfolge", "shown", "swap_order", "orden"),
    ),
    "repeat": (
        *("epoch", "trial", "attempt", "run", "run_id", "seed", "sample", "iteration", "draw", "n"),
        *("Durchlauf", "essai", "rerun", "vote_no", "pass_index", "generation"),
    ),
    "verdict": (
        *("verdict", "decision", "winner", "label", "score", "rating", "grade", "preference"),
        *(
            "judgement",
            "outcome",
            "choice",
            "final_score",
            "Urteil",
            "puntuacion",
            "result",
            "value",
        ),
        *("judge_score", "llm_grade", "assessment", "eval"),
    ),
    "gold": ("gold", "ground_truth", "reference_label", "expected", "true_winner", "answer_key"),
}
SURE = frozenset(
    {
        *("sample_no", "sample_id", "task_id", "uid", "instance", "qid", "doc_id", "exampleId"),
        *("data_id", "scenario_id", "grader", "evaluator", "judge", "judgeModel", "eval_model"),
        *("variant", "template", "promptVariant", "template_no", "answer_order", "is_swapped"),
        *("flipped", "swap", "reversed", "position", "trial", "attempt", "run", "run_id"),
        *("iteration", "rerun", "verdict", "decision", "winner", "score", "rating", "grade"),
        *("preference", "judgement", "outcome", "choice", "judge_score", "gold", "ground_truth"),
        *("llm_grade", "final_score", "value"),
    }
)
"""Names that say what they are."""
LEVELS = ("arm", "lang", "cot", "length_bias", "system", "max_len", "dataset", "level",
          "confidence", "cost", "notes", "retries", "n_shots", "index", "provider", "phase",
          "valid", "format", "checkpoint", "tokens", "explanation", "stage")  # fmt: skip
"""Names of conditions; several are names of what usually stands beside a call."""
ORDERS = (("AB", "BA"), ("normal", "flipped"), ("false", "true"), ("original", "swapped"),
          ("forward", "reverse"), ("first", "second"), ("0", "1"),
          ("A_first", "B_first"))  # fmt: skip
ALPHABETS = (
    *(("pass", "fail"), ("yes", "no"), ("C", "I"), ("good", "bad"), ("True", "False"), ("0", "1")),
    *(("1", "2", "3", "4", "5"), ("1.0", "2.0", "3.0"), ("correct", "partial", "incorrect")),
    *(("gut", "mittel", "schlecht"), ("safe", "unsafe"), ("-1", "0", "1")),
)
PAIRS = (("A", "B", "tie"), ("model_a", "model_b", "tie"), ("[[A]]", "[[B]]", "[[C]]"),
         ("1", "2"), ("candidate_1", "candidate_2", "tie"), ("first", "second"),
         ("A>B", "B>A", "A=B"))  # fmt: skip
SIDES = ("candidate_1", "candidate_2")
FLIP = {"candidate_1": "candidate_2", "candidate_2": "candidate_1"}
NAMED = frozenset({"model_a", "candidate_1"})
"""First words of pairs that name answers, whatever was shown first."""

Key = tuple[str, tuple[str, ...], str, str]
"""Judge, item with its conditions, prompt, whether the second answer was shown first."""


@dataclass
class ToolTable:
    """A published table, and what is true of it.

    Attributes:
        files: what is published, by name.
        truth: how often each verdict was given, by cell.
        said: what a person who knows the table would say of it; None where its shape needs more.
        words: what each word of a verdict means.
        certain: whether names and values tell everything, so that a question is needless.
        made: what was done to it, for whoever looks at a failure.
    """

    files: dict[str, Any]
    truth: dict[Key, Counter]
    said: dict | None
    words: dict[str, str]
    certain: bool
    made: dict = field(default_factory=dict)

    def write(self, folder: Path) -> list[str]:
        """Write every file as its ending says."""
        paths = []
        for name, content in self.files.items():
            path = folder / name
            opened: Callable = gzip.open if name.endswith(".gz") else open
            with opened(path, "wt", newline="", encoding="utf-8") as file:
                _write(file, content, name.removesuffix(".gz"))
            paths.append(str(path))
        return paths


def _write(file: Any, content: Any, name: str) -> None:
    if name.endswith(".jsonl"):
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in content)
    elif name.endswith(".json"):
        json.dump(content, file, ensure_ascii=False)
    else:
        mark = {"tsv": "\t", "txt": "|"}.get(name.rpartition(".")[2], ",")
        flat = [dict(_leaves(row)) for row in content]
        names = list(dict.fromkeys(column for row in flat for column in row))
        writer = csv.DictWriter(file, names, delimiter=mark)
        writer.writeheader()
        writer.writerows(flat)


def _leaves(record: dict, above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", json.dumps(value) if isinstance(value, list) else value


def draw_tool_table(seed: int) -> ToolTable:
    """Draw a table."""
    return _Drawn(random.Random(f"tools {seed}")).table()


class _Drawn:
    """One design, its calls, and a shape in which they are published."""

    def __init__(self, r: random.Random) -> None:
        self.r = r
        plain = r.random() < 0.35  # nothing is left to ask
        self.pairs = r.random() < 0.5
        self.words = r.choice(PAIRS if self.pairs else ALPHABETS)
        self.items = [r.choice(("t{}", "{}", "item {}", "f3{:04d}")).format(n)
                      for n in range(r.randrange(12, 36))]  # fmt: skip
        self.items = list(dict.fromkeys(self.items))
        self.judges = r.sample(
            ["gpt-4o", "claude-3-haiku", "my judge", "llama-3-8b"], r.choice((1, 1, 2))
        )
        self.prompts = r.choice((["base"], ["v1", "v2"], ["plain", "cot", "rubric"], ["0", "1"]))
        self.both = self.pairs and r.random() < 0.6
        self.words = PAIRS[1] if plain and self.both else self.words
        self.repeats = r.choice((1, 1, 2, 3, 5))
        names = [] if plain else r.sample(LEVELS, r.choice((0, 1, 1, 2, 4)))
        kinds = r.sample([*_LEVELS], len(names))
        self.levels = {n: _levels(r, kind) for n, kind in zip(names, kinds, strict=True)}
        if len(self.levels) > 2:
            self.levels = {name: values[:2] for name, values in self.levels.items()}
            self.items, self.repeats = self.items[:12], min(self.repeats, 2)
        self.by_name = self.words[0] in NAMED
        self.shown = self.both and not self.by_name and r.random() < 0.5
        self.order_words = r.choice(ORDERS[:5] if plain else ORDERS)
        self.sure = plain or r.random() < 0.3
        self.names = self._names()
        self.gold = {item: r.choice(SIDES) for item in self.items} if self.pairs else {}
        self.shape = r.choice(
            ("rows", "rows", "rows", "columns", "lists", "keys", "files", "nested")
        )
        self.ending = r.choice((".csv", ".tsv", ".jsonl", ".json", ".csv.gz", ".jsonl.gz"))
        self.beside = r.sample(("created", "usage", "reply_id", "why"), r.randrange(3))

    def _names(self) -> dict[str, str]:
        r = self.r
        parts = ["item", "verdict"]
        parts += ["judge"] if len(self.judges) > 1 or r.random() < 0.5 else []
        parts += ["prompt"] if len(self.prompts) > 1 or r.random() < 0.3 else []
        parts += ["order"] if self.both else []
        parts += ["repeat"] if self.repeats > 1 and (self.sure or r.random() < 0.7) else []
        parts += ["gold"] if self.pairs and r.random() < 0.4 else []
        found: dict[str, str] = {}
        for part in parts:
            free = [n for n in NAMES[part] if n not in {*found.values(), *self.levels}]
            free = [n for n in free if n in SURE] if self.sure else free
            found[part] = r.choice(free)
        return found

    def table(self) -> ToolTable:
        rows, truth = [], defaultdict(Counter)
        for row, key, meant in self._calls():
            rows.append(row)
            truth[key][meant] += 1
        files, said = getattr(self, f"_as_{self.shape}")(rows)
        made = {k: v for k, v in vars(self).items() if k not in ("r", "items", "gold")}
        usual = dict(zip(self.words, (*SIDES, "tie"), strict=False)) if self.pairs else {}
        return ToolTable(
            files=files,
            truth=dict(truth),
            said=said,
            words=usual,
            certain=self._is_certain(),
            made=made,
        )

    def _is_certain(self) -> bool:
        """Whether a person who sees the table for the first time has no doubt."""
        named = all(name in SURE for name in self.names.values())
        orders = not self.both or (self.by_name and self.order_words in ORDERS[:5])
        told = self.repeats == 1 or "repeat" in self.names
        return self.shape in ("rows", "nested") and named and orders and told and not self.levels

    def _calls(self) -> Iterator[tuple[dict, Key, str]]:
        orders = (False, True) if self.both else (False,)
        cells = list(
            product(self.judges, self.items, self.prompts, orders, product(*self.levels.values()))
        )
        for number, (judge, item, prompt, swapped, combo) in enumerate(cells):
            for repeat in range(self.repeats):
                meant, word = self._verdict(swapped=swapped)
                row = self._row((judge, item, prompt, swapped, combo), repeat, word)
                row |= {n: _beside(self.r, n, number * self.repeats + repeat) for n in self.beside}
                yield row, (judge, (item, *combo), prompt, str(swapped)), meant

    def _verdict(self, *, swapped: bool) -> tuple[str, str]:
        """Draw a verdict: what it means, and the word that is published."""
        if not self.pairs:
            word = self.r.choice(self.words)
            return _number(word), word
        usual = (*SIDES, "tie")[: len(self.words)]
        meant = self.r.choices(usual, [3, 2, 1][: len(usual)])[0]
        displayed = FLIP.get(meant, meant) if swapped and self.shown else meant
        return meant, self.words[usual.index(displayed)]

    def _row(self, cell: tuple, repeat: int, word: str) -> dict:
        judge, item, prompt, swapped, combo = cell
        values = {"item": item, "judge": judge, "prompt": prompt, "repeat": repeat, "verdict": word}
        values["order"] = self.order_words[swapped]
        if self.gold:
            values["gold"] = self.words[SIDES.index(self.gold[item])]
        row = {self.names[part]: values[part] for part in self.names}
        return row | dict(zip(self.levels, combo, strict=True))

    # Shapes

    def _said(self, **more: Any) -> dict:
        columns: dict[str, Any] = {**self.names}
        if self.levels:
            columns["item"] = [self.names["item"], *self.levels]
        said: dict[str, Any] = {"columns": columns, **more}
        if self.both:
            shown = dict(zip(self.order_words, ("AB", "BA"), strict=True))
            said["map_order"] = {w: o for w, o in shown.items() if w != o}
        if self.both and not self.by_name:
            a, b, *tie = self.words
            names = dict(zip(self.words, (*SIDES, "tie"), strict=False))
            said |= {"positions": (a, b, *tie)} if self.shown else {"label": names}
        return said

    def _as_rows(self, rows: list[dict]) -> tuple[dict, dict]:
        self.r.shuffle(rows)
        return {f"calls{self.ending}": rows}, self._said()

    def _as_files(self, rows: list[dict]) -> tuple[dict, dict | None]:
        """One file for each level of a part: its column is left out."""
        part = self._part_in(rows, ("judge", "prompt"))
        if part is None:
            return self._as_rows(rows)
        column = self.names[part]
        files: dict[str, list[dict]] = defaultdict(list)
        for row in rows:
            kept = {k: v for k, v in row.items() if k != column}
            files[f"{str(row[column]).replace(' ', '_')}{self.ending}"].append(kept)
        return dict(files), None

    def _as_keys(self, rows: list[dict]) -> tuple[dict, dict | None]:
        """One JSON object: lists of calls by judge, or all of them under a name."""
        if len(self.judges) == 1 or "judge" not in self.names:
            return {
                "run.json": {"meta": {"tool": "evals", "version": 2}, "results": rows}
            }, self._said()
        column = self.names["judge"]
        found: dict[str, list[dict]] = defaultdict(list)
        for row in rows:
            found[row[column]].append({k: v for k, v in row.items() if k != column})
        return {"run.json": {"created": "2026-01-01", "by_model": found}}, None

    def _as_nested(self, rows: list[dict]) -> tuple[dict, dict | None]:
        """Records with the design in one object and the outcome in another."""
        item, verdict = self.names["item"], self.names["verdict"]
        nested = [
            {item: row[item], "config": {k: v for k, v in row.items() if k not in (item, verdict)},
             "output": {verdict: row[verdict]}}
            for row in rows
        ]  # fmt: skip
        return {"calls.jsonl": nested}, None

    def _as_columns(self, rows: list[dict]) -> tuple[dict, dict | None]:
        """A column for each judge, prompt or repeat, a row for all the rest."""
        part = self._part_in(rows, ("repeat", "judge", "prompt"))
        if part is None:
            return self._as_rows(rows)
        return {f"wide{self.ending}": self._gathered(rows, part, wide=True)}, None

    def _as_lists(self, rows: list[dict]) -> tuple[dict, dict | None]:
        """A list of verdicts for the repeats of each call."""
        if "repeat" not in self.names:
            return self._as_rows(rows)
        return {"lists.jsonl": self._gathered(rows, "repeat", wide=False)}, None

    def _part_in(self, rows: list[dict], parts: tuple[str, ...]) -> str | None:
        """Return the first part that has a column of several values."""
        named = [part for part in parts if part in self.names]
        return next((p for p in named if len({row[self.names[p]] for row in rows}) > 1), None)

    def _gathered(self, rows: list[dict], part: str, *, wide: bool) -> list[dict]:
        column, verdict = self.names[part], self.names["verdict"]
        found: dict[tuple, dict] = {}
        for row in rows:
            rest = {k: v for k, v in row.items() if k not in (column, verdict, *self.beside)}
            kept = found.setdefault(tuple(rest.values()), rest)
            if wide:
                label = str(row[column]).replace(" ", "_")
                kept[f"{column}_{label}" if part == "repeat" else label] = row[verdict]
            else:
                kept.setdefault(f"{verdict}s", []).append(row[verdict])
        return list(found.values())


_LEVELS = {
    "words": ["low", "mid", "high"],
    "numbers": ["0", "256", "4096"],
    "truth": ["false", "true"],
    "dates": ["2026-01-05", "2026-02-05", "2026-03-05"],
    "models": ["gpt-4", "claude-2", "llama-2"],
    "texts": ["the first setting of two", "the other setting", "no setting"],
}


def _levels(r: random.Random, kind: str) -> list[str]:
    return _LEVELS[kind][: r.choice((2, 2, 3))]


def _beside(r: random.Random, name: str, count: int) -> object:
    clock = f"{count // 3600 % 24:02d}:{count // 60 % 60:02d}:{count % 60:02d}"
    return {
        "created": f"2026-03-01T{clock}.{r.randrange(1000):03d}",
        "usage": r.randrange(200, 3000) + count / 1e6,
        "reply_id": f"chatcmpl-{r.randrange(10**12):012d}",
        "why": f"I weighed {r.randrange(10**6)} points, and {r.random():.4f} of them decide it.",
    }[name]


def _number(word: str) -> str:
    return word.removesuffix(".0")


def found_in(tensors: dict, table: ToolTable) -> dict[Key, Counter]:
    """Return the verdicts of what was read, under the labels that the truth has."""
    judges, prompts = ({key[at] for key in table.truth} for at in (0, 2))
    found: dict[Key, Counter] = {}
    for (_, name), t in tensors.items():
        judge = next(iter(judges)) if len(tensors) == 1 == len(judges) else _among(name, judges)
        places = product(enumerate(t.items), enumerate(t.prompts), enumerate(t.orders))
        for (i, item), (k, prompt), (o, order) in places:
            counts = zip(t.verdicts, t.counts[i, k, o], strict=True)
            verdicts = Counter({_meant(v, table): int(n) for v, n in counts if n})
            one = len(t.prompts) == 1 == len(prompts)
            told = next(iter(prompts)) if one else _among(prompt, prompts)
            pieces = tuple(sorted(re.split(" ?[/|]+ ?", item)))
            if verdicts:
                swapped = len(t.orders) > 1 and _swapped(order, t.orders)
                found[judge, pieces, told, str(swapped)] = verdicts
    return found


def truth_of(table: ToolTable) -> dict[Key, Counter]:
    """Return the truth with the pieces of items sorted: conditions may be added in any order."""
    return {
        (judge, tuple(sorted(pieces)), prompt, swapped): counts
        for (judge, pieces, prompt, swapped), counts in table.truth.items()
    }


def _among(label: str, labels: set[str]) -> str:
    """Find a label of the truth in a name of a file or column."""
    near = [each for each in labels if str(label).startswith(each.replace(" ", "_"))]
    return label if label in labels else (near[0] if len(near) == 1 else label)


def _meant(verdict: str, table: ToolTable) -> str:
    """Return what a verdict means, where the words of the table were kept."""
    plain = {word.strip("[]"): meant for word, meant in table.words.items()}
    return {**plain, **table.words}.get(verdict, verdict)


def _swapped(order: str, orders: Any) -> bool:
    from judgelaw.tables.positions import swapped

    told = swapped(order, flag=True)
    return order == sorted(orders)[1] if told is None else told
