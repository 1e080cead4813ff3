"""What a package says of itself: a page to read first, the meaning of every column, a citation."""

import json
from collections.abc import Iterator, Sequence
from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judgelaw.runs.packaging import Contents
    from judgelaw.study import FrozenRun

_PAPER = "Second-Order Response Laws for LLM Judges: Debiased Estimation of Prompt Instability"


_README = Template("""# $name

Verdicts of LLM judges, $calls calls, frozen before the first request and acquired with
`judgelaw`. Every call is in `calls.parquet` once.

## Judges

$judges

## Layers

$layers

## Check it

```sh
pip install judgelaw
judgelaw verify .     # every hash, every frozen call, every table made again and compared
judgelaw analyze .    # the same calls, analysed anew
```

## What is here

| file | what |
|---|---|
| `calls.parquet` | one row a call: judge, layer, item, prompt, order, repeat, verdict |
| `manifest.parquet`, `manifest.json` | every call as it was frozen, with hashes of what was sent |
| `study.yaml`, `inputs/` | the study, its items and its prompts with their hashes |
| `items.csv` | the SHA-256 of every item |
| `sealed/` | hidden labels of control layers, where there are any |
| `results/analysis.json`, `tables/` | the analysis |
| `paper/` | tables and figures in the layout of the paper |
| `environment.json` | versions that froze the run and that made the tables |
| `SHA256SUMS` | the hash of every file |

Held: $held. Request ids, addresses, keys and headers are left out. Columns are explained in
`DATA_DICTIONARY.md`.
""")


def readme(frozen: "FrozenRun", contents: "Contents") -> str:
    """Return the page that a stranger reads first."""
    held = {
        "texts of the items": contents.texts,
        "times of the calls": contents.times,
        "completions": contents.completions,
    }
    said = "; ".join(f"{name}: {'yes' if there else 'no'}" for name, there in held.items())
    return _README.substitute(
        name=frozen.study.name,
        calls=f"{frozen.count:,}",
        judges="\n".join(_judges(frozen)),
        layers="\n".join(_layers(frozen)),
        held=said,
    )


def _judges(frozen: "FrozenRun") -> Iterator[str]:
    for name, judge in frozen.judges.items():
        revision = f" at revision {judge.revision}" if judge.revision else ""
        yield f"- `{name}`: {judge.model}{revision} ({judge.provider})"


def _layers(frozen: "FrozenRun") -> Iterator[str]:
    for layer in frozen.study.streams:
        reused = f", with calls of `{layer.reuse.layer}`" if layer.reuse else ""
        yield f"- `{layer.name}` ({layer.role}): {layer.repeats} repeats{reused}"


def dictionary(contents: "Contents") -> str:
    """Return the meaning of every column of the data files."""
    parts = [
        _table(
            "calls.parquet",
            {
                "judge": "name of the judge in the study",
                "layer": "stream of calls; a call that two layers count is in the one that made it",
                "item": "id of the item",
                "stratum": "stratum of the item",
                "prompt": "id of the prompt; in a control layer the hidden label h1, h2, ...",
                "order": "AB shows candidate 1 first, BA candidate 2; CAB candidate 3",
                "repeat": "repeat of the cell, from 0; lower depths are prefixes",
                "verdict": "candidate_1, candidate_2, ..., tie, or invalid: restored",
                "gold": "the right candidate, where the items have one",
            },
        ),
        _table(
            "manifest.parquet",
            {
                "call_id": "name of the call: a hash of judge, layer, cell and repeat",
                "seed": "seed of the call; empty where the judge takes none",
                "position": "place in the schedule",
                "request_sha256": "hash of the request as it was sent",
                "payload_sha256": "hash of the text that the model saw",
                "judge_sha256": "hash of the judge's configuration",
            },
        ),
        _table("items.csv", {"item": "id of the item", "sha256": "hash of its texts and labels"}),
    ]
    if contents.times:
        times = {
            "started_s": "seconds from the first request of the run",
            "latency_s": "seconds from request to reply",
            "attempts": "requests that were needed",
        }
        parts.append(_table("timing.parquet", times))
    if contents.completions:
        said = {"text": "what the judge said", "refusal": "what it said when it refused"}
        parts.append(_table("completions.jsonl.gz", said))
    return "# Data dictionary\n\n" + "\n".join(parts)


def _table(file: str, columns: dict[str, str]) -> str:
    rows = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in columns.items())
    return f"## {file}\n\n| column | meaning |\n|---|---|\n{rows}\n"


def citation(frozen: "FrozenRun", authors: Sequence[str]) -> str:
    """Return a citation file, with the paper whose protocol it follows."""
    named = "".join(f"  - name: {json.dumps(name, ensure_ascii=False)}\n" for name in authors)
    return f"""cff-version: 1.2.0
title: "{frozen.study.name}: verdicts of LLM judges"
message: "If you use these verdicts, please cite this package and the paper."
type: dataset
authors:
{named}references:
  - type: article
    title: "{_PAPER}"
    authors:
      - {{family-names: Feng, given-names: Pengbin}}
      - {{family-names: Meng, given-names: Chunlei}}
      - {{family-names: Qu, given-names: Daozheng}}
      - {{family-names: Zhang, given-names: Zhilin}}
      - {{family-names: Liu, given-names: Haoran}}
      - {{family-names: Wu, given-names: Jiekai}}
"""
