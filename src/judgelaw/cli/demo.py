"""`judgelaw demo`: a whole audit of a judge whose law is known, in seconds."""

import json
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples, on_terminal
from judgelaw.cli.terminal import echo, say, show_table
from judgelaw.errors import writing
from judgelaw.processes import processes

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis, Rate


_ITEMS = 100
_REPEATS = 4
_ASKED = {
    "plain": "Which answer is right?",
    "xml": "<question>Which answer is right?</question>",
    "role": "You mark sums. Which answer is right?",
    "strict": "Reject whatever has a flaw. Which answer is right?",
}
_SHOWN = "{instruction}\nA: {candidate_a}\nB: {candidate_b}\nAnswer with A, B or TIE."
_PROMPTS = [{"id": name, "text": f"{asked}\n{_SHOWN}"} for name, asked in _ASKED.items()]
_JUDGE = {"right": 0.95, "slip": 0.02, "lean": 0.22, "prompts": {4: 0.3}}
_WORLD = {"judge": _JUDGE, "seed": 7}
_STUDY = f"""\
# A judge of known law: what is said of it can be held against the truth.
version: 1
name: demo
seed: 20261115
items: {{source: jsonl, path: items.jsonl}}
prompts: {{policy: census, templates: {json.dumps(_PROMPTS)}}}
orders: {{AB: 0.5, BA: 0.5}}
repeats: {_REPEATS}
judges:
  # Right on 95 of 100 items, and under the fourth prompt on 30; on 22 of 100 it takes whichever
  # answer is shown first; 2 calls of 100 slip. This is what the audit has to find.
  - name: known-law
    provider: simulated
    model: known-law
    law: {{world: {json.dumps(_WORLD)}}}
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
    """Audit a simulated judge whose faults are known, and hold what is said against the truth.

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
    """Print what was measured beside the law: now, and once the first advice is followed."""
    import numpy as np

    from judgelaw.estimate import item_rates
    from judgelaw.worlds import World

    names = [json.loads(_item(i))["id"] for i in range(_ITEMS)]
    laws = World.from_spec(_WORLD).laws(items=names, prompts=len(_PROMPTS), orders=2)
    (judge,) = analysis.judges.values()
    advice = next((x for x in judge.answer.actions if x.kind == "drop_prompts"), None)
    kept = [k for k, name in enumerate(_ASKED) if advice is None or name not in advice.prompts]

    def truth(prompts: list[int]) -> tuple[float, float]:
        """Return how often it is right, and changes with another prompt, over calls without end."""
        found = item_rates(
            laws[:, prompts] * 1e9,
            prompt_weights=np.full(len(prompts), 1 / len(prompts)),
            order_weights=np.full(2, 1 / 2),
            unread=np.zeros(laws.shape[-1]),
        )
        reword = found.changes["reword"]
        right = float(laws[:, prompts][..., 0].mean())
        return right, nan if reword is None else float(reword.mean())

    now, right = judge.answer, judge.answer.right
    rows = [_told("right", right, truth([*range(len(_PROMPTS))])[0])]
    rows.append(_told("change with another prompt", now.changes["reword"], truth([*range(4)])[1]))
    if advice is not None and advice.after is not None:
        after: Rate | None = advice.after.right
        rows.append(_told("right, as advised", after, truth(kept)[0]))
        changes = advice.after.changes.get("reword")
        rows.append(_told("change, as advised", changes, truth(kept)[1]))
    columns = ["of 100 verdicts", "truth", "measured", "95%, items like these"]
    show_table(columns, rows, title="The truth, which only a simulation knows, beside the answer")
    say("Each interval misses its truth in at most about one audit of twenty.")


def _told(what: str, rate: "Rate | None", truth: float) -> list[str]:
    if rate is None or rate.low is None or rate.high is None:
        return [what, f"{100 * truth:.1f}", "-", "-"]
    ends = f"{100 * rate.low:.1f} to {100 * rate.high:.1f}"
    return [what, f"{100 * truth:.1f}", f"{100 * rate.estimate:.1f}", ends]
