"""`judgelaw demo`: a whole audit of a judge whose law is known, in seconds."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples, on_terminal
from judgelaw.cli.terminal import echo, say, show_table
from judgelaw.errors import writing
from judgelaw.processes import processes

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis


_ITEMS = 40
_REPEATS = 4
_WORLD = {
    "base": [0.40, 0.32, 0.22, 0.06],
    "prompt": 0.004,
    "order": 0.03,
    "interaction": 0.001,
    "item_spread": 0.05,
    "seed": 7,
}
_STUDY = f"""\
# A judge of known law: what is estimated can be held against the truth.
version: 1
name: demo
seed: 20261115
items: {{source: jsonl, path: items.jsonl}}
prompts: paper-six
orders: {{AB: 0.5, BA: 0.5}}
repeats: {_REPEATS}
judges:
  - name: known-law
    provider: simulated
    model: known-law
    law: {{world: {json.dumps(_WORLD)}}}
layers:
  - {{name: audit, role: audit}}
  # Byte-identical requests under six hidden labels: the true prompt effect is zero.
  - {{name: control, role: control, labels: 6}}
transport: {{concurrency: 64}}
"""


@click.command(epilog=examples("judgelaw demo", "judgelaw demo --out /tmp/demo"))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("judgelaw-demo"),
    show_default=True,
    metavar="DIR",
    help="Where the study and its run go.",
)
def command(out: Path) -> None:
    """Audit a simulated judge of known law, and hold the estimates against the truth.

    Everything is real but the judge: study, manifest, ledger, parser, analysis, report. No key, no
    network.
    """
    from judgelaw.cli.analyze import show
    from judgelaw.page import start_drawing
    from judgelaw.runs import REPORT, audit_study

    study = _written(out)
    with processes(1):
        start_drawing()
        audited = audit_study(study, out / "run", shown=on_terminal())
    show(audited.analysis, place=str(audited.run))
    _show_truth(audited.analysis)
    echo(f"report: {audited.run / REPORT}")


def _written(out: Path) -> Path:
    from judgelaw.study import own_folder

    study = out / "study.yaml"
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        own_folder(out)
        if not study.exists():
            (out / "items.jsonl").write_text("".join(map(_item, range(_ITEMS))), encoding="utf-8")
            study.write_text(_STUDY, encoding="utf-8")
    return study


def _item(i: int) -> str:
    a, b = 12 + 7 * i, 5 + 3 * i
    item = {
        "id": f"sum-{i + 1:02d}",
        "stratum": "small" if a + b < 200 else "large",  # noqa: PLR2004 - two strata of sums
        "instruction": f"What is {a} + {b}? Answer with the number only.",
        "candidate_1": str(a + b),
        "candidate_2": f"The answer is {a + b + 1}.",
        "gold": "candidate_1",
    }
    return json.dumps(item) + "\n"


def _show_truth(analysis: "Analysis") -> None:
    from judgelaw.worlds import World

    names = [json.loads(_item(i))["id"] for i in range(_ITEMS)]
    truth = World.from_spec(_WORLD).components(items=names, prompts=6, orders=2)
    (judge,) = analysis.judges.values()
    rows = []
    for name, found in judge.components.items():
        low, high = found.call_interval or (float("nan"), float("nan"))
        exact = getattr(truth, name)
        rows.append(
            [
                name,
                f"{exact:.4f}",
                f"{found.estimate:.4f}",
                f"[{low:.4f}, {high:.4f}]",
                f"{found.plugin:.4f}",
                "yes" if low <= exact <= high else "no",
            ]
        )
    columns = ["component", "truth", "estimate", "95%, these items", "plug-in", "holds it"]
    show_table(columns, rows, title="The truth, which only a simulation knows, beside the estimate")
    say(
        "Each 95% interval misses its truth in about one audit of twenty; the plug-in misses the "
        "prompt by design."
    )
