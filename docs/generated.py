"""Reference pages that are read off the program itself, so that they cannot go stale."""

import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import click
import numpy as np
from click.testing import CliRunner

from judgelaw import vocabulary, worlds
from judgelaw.acquire import CALLS, CALLS_COLUMNS
from judgelaw.acquire.outputs import TIMING, TIMING_COLUMNS
from judgelaw.analysis import SoftEvidence, analyze, answer, catalogued, facet_values, values
from judgelaw.analysis.encode import SCHEMA
from judgelaw.cli.program import COMMANDS, cli
from judgelaw.diagnose import Finding
from judgelaw.estimate import Estimand
from judgelaw.option_types import option_in
from judgelaw.page.subject import Kind, kinds
from judgelaw.quantities import Quantity
from judgelaw.runs import Reading
from judgelaw.tables import ALIASES
from judgelaw.tables.columns import CONTRACT, REQUIRED
from judgelaw.tensor import DEFAULT_VERDICTS, VerdictTensor
from judgelaw.uncertainty import ErrorSplit, Interval, PermutationTest
from judgelaw.vocabulary import Term


def write(folder: Path) -> None:
    """Write the generated pages into a folder; unchanged pages keep their time stamps."""
    for name, text in pages().items():
        page = folder / name
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def pages() -> dict[str, str]:
    """Return every generated page by its file name."""
    return {
        "cli.md": commands_page(),
        "options.md": options_page(),
        "study.md": study_page(),
        "tables.md": tables_page(),
        "analysis.md": analysis_page(),
        "report.md": report_page(),
    }


def commands_page() -> str:
    """Return the help of every command."""
    parts = ["# Command line\n", "The output of `--help`, command by command.\n"]
    parts.append(_help([]))
    for name in COMMANDS:
        parts += [f"## judgelaw {name}\n", _help([name])]
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            for sub in command.list_commands(click.Context(command)):
                parts += [f"### judgelaw {name} {sub}\n", _help([name, sub])]
    return "\n".join(parts)


def _help(command: list[str]) -> str:
    shown = CliRunner().invoke(cli, [*command, "--help"], prog_name="judgelaw")
    return f"```text\n{shown.output.rstrip()}\n```\n"


def options_page() -> str:
    """Return what can be read and how: each option in Python and on the command line."""
    lines = [
        "# Reading options\n",
        "Every function and command that reads calls takes these, by keyword or flag; `validate`",
        "and `watch` take one judge and one criterion. `pytest.mark.judgelaw` takes keywords.\n",
        "| Python | command line | meaning |",
        "|---|---|---|",
    ]
    for name, hint in Reading.__annotations__.items():
        option = option_in(hint)
        spelled = option.flag if option.flag is not None else f"--{name.replace('_', '-')}"
        flag = f"`{spelled}`" if spelled else ""
        lines.append(f"| `{name}` | {flag} | {option.in_python} |")
    return "\n".join(lines) + "\n"


def study_page() -> str:
    """Return every field of the study file, from its JSON Schema."""
    schema = json.loads(CliRunner().invoke(cli, ["schema"], prog_name="judgelaw").output)
    parts = [
        "# Study file\n",
        "Every field, read off `judgelaw schema`.\n",
        _fields("study", schema),
    ]
    for name, model in schema.get("$defs", {}).items():
        if model.get("properties"):
            parts.append(_fields(name, model))
    return "\n".join(parts)


def _fields(name: str, model: dict[str, Any]) -> str:
    required = set(model.get("required", ()))
    about = str(model.get("description", "")).split("\n\n")[0].replace("\n", " ")
    rows = [
        f"| `{field}` | {_type(spec)} | {_default(field, spec, required)} | {_meaning(spec)} |"
        for field, spec in model["properties"].items()
    ]
    head = [
        f"## {name}\n",
        f"{about}\n",
        "| field | type | default | meaning |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def _meaning(spec: dict[str, Any]) -> str:
    return str(spec.get("description", "")).replace("|", "\\|")


def _type(spec: dict[str, Any]) -> str:
    if "$ref" in spec:
        return f"`{spec['$ref'].rsplit('/', 1)[-1]}`"
    for many in ("anyOf", "oneOf"):
        if many in spec:
            return " or ".join(_type(each) for each in spec[many] if each.get("type") != "null")
    if "const" in spec:
        return f"`{spec['const']}`"
    if "enum" in spec:
        return ", ".join(f"`{value}`" for value in spec["enum"])
    if spec.get("type") == "array":
        return f"list of {_type(spec.get('items', {}))}"
    return str(spec.get("type", "any"))


def _default(field: str, spec: dict[str, Any], required: set[str]) -> str:
    if field in required:
        return "required"
    default = spec.get("default")
    return "" if default in (None, [], {}) else f"`{json.dumps(default)}`"


MEANING = {
    "judge": "who was asked; with one judge any word will do",
    "criterion": "what was judged of the item, where a rubric has several; each is read by itself",
    "layer": "which stream of calls, where there are several",
    "date": "when it was asked, YYYY-MM-DD, where items are asked again; the latest is read",
    "item": "what was judged",
    "stratum": "the group of the item: bands resample items within it",
    "prompt": "under which prompt",
    "order": "in which order the answers were shown, `AB` or `BA`; absent: one order",
    "repeat": "which of the calls of this cell, counted from 0",
    "verdict": "what came out, candidates restored to their names",
    "gold": "the right verdict of the item, where it is known",
}


TABLES = """\
# Calls tables

One row for each call, as CSV, TSV, JSON lines, a JSON array or Parquet, `.gz` of each, a folder or
a glob of files, an `s3://` address, or a frame of pandas, polars, pyarrow or Spark. Where a column
has another name, those in the last column are found without a word; any other is mapped,
`VerdictTensor.from_table(path, columns={{"verdict": "won"}})`. Other columns are not read, and one
that tells the rows of a cell apart is asked about: {{doc}}`../howto/import` says how tables are
read.

| column | | what it holds | also found as |
|---|---|---|---|
{rows}

Verdicts are words. Those of a pairwise judge are {verdicts}; any other alphabet is taken from the
table, sorted, or given. An empty verdict is an error, not an invalid one, and so are two rows for
the same judge, criterion, layer, date, item, prompt, order and repeat.

## Tables that a run writes

`{calls}` holds the verdicts, and nothing that tells who asked when: {calls_columns}.
A run with criteria has the column `criterion` too, and a row for each verdict.

`{timing}` holds what the diagnostics of drift need: {timing_columns}.
"""


def tables_page() -> str:
    """Return the columns of every table that is read or written."""
    rows = [
        f"| `{name}` | {'needed' if name in REQUIRED else ''} | {MEANING[name]} "
        f"| {_listed(ALIASES[name])} |"
        for name in CONTRACT
    ]
    return TABLES.format(
        rows="\n".join(rows),
        verdicts=_listed(DEFAULT_VERDICTS),
        calls=CALLS,
        calls_columns=_listed(CALLS_COLUMNS),
        timing=TIMING,
        timing_columns=_listed(TIMING_COLUMNS),
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


REPORT = """\
# Report

What stands below the first screen of `report.html`, in order. `judgelaw analyze --details` prints
the sections marked so, from the same values; `judgelaw report --figures DIR` writes every figure.
What does not apply to the calls at hand is left out.

| section | at first | on a terminal | |
|---|---|---|---|
{rows}
"""


def report_page() -> str:
    """Return every section of the report, read off the files that offer them."""
    rows = [
        f"| `#{kind.id}` {'' if callable(kind.title) else kind.title} | "
        f"{'open' if kind.open else 'closed'} | {'yes' if kind.brief else ''} | {_shows(kind)} |"
        for kind in kinds()
    ]
    return REPORT.format(rows="\n".join(rows))


def _shows(kind: Kind) -> str:
    """Say what a section shows: what its function says that it returns."""
    told = (inspect.getdoc(kind.make) or "").split("\n")[0]
    return told.removeprefix("Return ").replace("|", r"\|")


ANALYSIS = f"""\
# Analysis JSON

What `judgelaw analyze --json FILE` writes, and `judgelaw audit` into `results/analysis.json`: the
document `{SCHEMA}`. A number that cannot be had is `null`, never 0; so is the component of a facet
with one level.

Where calls have criteria, a judge holds `criteria.CRITERION`: each what a judge holds otherwise.
"""


def analysis_page() -> str:
    """Return every key of the analysis JSON, read off an analysis of a simulated judge."""
    return "\n".join([ANALYSIS, *(_keys(*section) for section in sections(example()))])


def sections(document: dict[str, Any]) -> list[tuple[str, dict[str, Any], type]]:
    """Return the parts of a document: where they stand, one of them, and the value it encodes."""
    judge = document["judges"]["a"]
    component = judge["components"]["call"]
    return [
        ("The document", document, values.Analysis),
        ("settings", document["settings"], values.Settings),
        ("judges.NAME, layers.LAYER.NAME", judge, values.JudgeAnalysis),
        ("components.NAME, depths.R.NAME, strata.STRATUM.NAME", component, Quantity),
        ("answer", judge["answer"], answer.Answer),
        ("answer.right", judge["answer"]["right"], answer.Right),
        ("answer.changes.CHANGE", judge["answer"]["changes"]["reword"], answer.Rate),
        ("answer.contested", judge["answer"]["contested"], answer.Contested),
        ("answer.actions[]", judge["answer"]["actions"][0], answer.Action),
        ("changes.CHANGE", judge["changes"]["reword"], Quantity),
        ("errors", judge["errors"], REASONS),
        ("right_by_prompt.PROMPT", next(iter(judge["right_by_prompt"].values())), Quantity),
        ("permutation.FACET", judge["permutation"]["prompt"], PermutationTest),
        ("split.NAME", judge["split"]["call"], ErrorSplit),
        ("lead", judge["lead"], facet_values.LargestComponent),
        ("item_values", judge["item_values"], values.ItemValues),
        ("prompt_distances", judge["prompt_distances"], values.PromptDistances),
        ("order_direction", judge["order_direction"], values.OrderDirection),
        ("prompt_leans[]", judge["prompt_leans"][0], values.PromptLean),
        ("projection", judge["projection"], Interval),
        ("other_metrics.METRIC", judge["other_metrics"]["jss"], facet_values.OtherMetric),
        ("identity[]", judge["identity"][0], values.Identity),
        ("soft, where there are token probabilities", soft_example(), SoftEvidence),
        ("diagnostics[]", document["diagnostics"][0], Finding),
        ("tables.TABLE", document["tables"]["outcomes"], values.Table),
    ]


def example() -> dict[str, Any]:
    """Analyse a judge of known law with everything in it: layers, strata, gold, sampled prompts."""
    world = worlds.World.from_effects(base=[0.4, 0.32, 0.22, 0.06], prompt=0.004, order=0.03)
    tensors = {
        (layer, "a"): _displayed(world.tensor(items=8, prompts=4, orders=2, repeats=4, seed=seed))
        for seed, layer in enumerate(("audit", "control"))
    }
    roles = {"audit": "audit", "control": "control"}
    found = analyze(
        tensors, estimand=Estimand(design="sampled"), draws=200, permutations=9, roles=roles
    )
    return found.to_json()


def soft_example() -> dict[str, Any]:
    """Analyse a judge whose token probabilities are its law, and return what is said of them."""
    world = worlds.World.from_effects(base=[0.4, 0.32, 0.22, 0.06], prompt=0.004, order=0.03)
    calls = _displayed(world.tensor(items=8, prompts=4, orders=2, repeats=4, seed=1))
    laws = world.laws(items=8, prompts=4, orders=2)
    listed = np.repeat(laws[..., None, :], 4, axis=-2)
    found = analyze({(None, "a"): replace(calls, soft=listed)}, draws=200, permutations=0)
    soft: dict[str, Any] = found.to_json()["judges"]["a"]["soft"]
    return soft


def _displayed(tensor: VerdictTensor) -> VerdictTensor:
    """Name the orders, so that positions are known, and give right answers."""
    gold = tuple(DEFAULT_VERDICTS[i % 2] for i in range(len(tensor.items)))
    return replace(tensor, orders=("AB", "BA"), gold=gold)


JSON_KIND = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    dict: "object",
    Mapping: "object",
    list: "list",
    tuple: "list",
}


VIEWS = {
    "sentence": "`answer.headline`",
    "short": "`answer.says`",
    "trust": "the word of earlier releases, with `answer.says` as its reason",
    "to_do": "text and reason of each of `answer.actions`",
    "effects": "what it changes, before and after, in words",
    "outlook": "what the judge is good for then; empty where that is not known",
}
"""Keys that say in other words what stands elsewhere."""


REASONS = {
    "wrong": Term("Wrong", "share of verdicts that are wrong, as the answer weighs items"),
    **vocabulary.REASONS,
}
"""What the parts of wrong verdicts mean."""
ABOUT = {
    Quantity: "A quantity by every statistic that there is of it.",
    dict: "Why verdicts are wrong: each counted once, under the first reason that explains it.",
}


def _keys(title: str, value: dict[str, Any], home: type | dict[str, Term]) -> str:
    if isinstance(home, dict):
        told, declared = {k: term.meaning for k, term in home.items()}, dict.fromkeys(home, FLOAT)
    else:
        told, declared = _attributes(home), _declared(home)
    rows = [
        f"| `{key}` | {_kind(v, declared.get(key))} | {told.get(key, '')} |"
        for key, v in value.items()
    ]
    kind = dict if isinstance(home, dict) else home
    about = ABOUT.get(kind) or (inspect.getdoc(home) or "").split("\n\n")[0].replace("\n", " ")
    return "\n".join(
        [f"## {title}\n", f"{about}\n", "| key | type | |", "|---|---|---|", *rows, ""]
    )


FLOAT = float | None


def _declared(home: type) -> dict[str, Any]:
    """Return the types of fields and properties."""
    found = {field.name: field.type for field in fields(home)}
    for name, value in vars(home).items():
        if isinstance(value, property | cached_property):
            get = value.fget if isinstance(value, property) else value.func
            found[name] = get_type_hints(get).get("return")
    return found | dict.fromkeys(catalogued(), FLOAT)


def _attributes(home: type) -> dict[str, str]:
    """Read the attributes that a docstring explains, and the first line of each property.

    What people read of a quantity stands in the vocabulary and in the catalogue.
    """
    told = {} if home is object else _attributes(home.__mro__[1])
    told |= {
        name: (inspect.getdoc(value) or "").split("\n")[0]
        for name, value in vars(home).items()
        if isinstance(value, property | cached_property)
    }
    if home is Quantity:
        told |= {key: term.meaning for key, term in vocabulary.KEYS.items()}
    told |= {name: entry.meaning for name, entry in catalogued().items()}
    _, _, listed = (inspect.getdoc(home) or "").partition("Attributes:\n")
    for entry in re.split(r"\n(?=    \w)", listed.split("\n\n")[0]):
        names, _, text = entry.strip().partition(": ")
        words = re.sub(r"\b(None|nan)\b", "`null`", " ".join(text.split())).replace("|", r"\|")
        told |= dict.fromkeys(names.split(", "), words)
    return told | VIEWS | {"schema": f"`{SCHEMA}`"}


def _kind(value: Any, declared: Any) -> str:
    """Name the type of a value as JSON has it, and say where `null` may stand in its place."""
    possible = get_args(declared)
    if value is not None:
        kind = JSON_KIND[type(value)]
    else:
        (python, *_) = [get_origin(each) or each for each in possible if each is not NoneType]
        kind = JSON_KIND.get(python, "object")
    return f"{kind} or `null`" if NoneType in possible else kind
