"""What a run folder adds to its calls: replies, the frozen configuration, how acquisition went."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgelaw.acquire.verify import Verification
from judgelaw.design import FrozenRun, open_run
from judgelaw.ledger import LEDGER_NAME, SqliteView, StoredReply, Totals
from judgelaw.report.explorer import CUT, Place
from judgelaw.report.wording import OPENS, PART, opening

_SECRET = ("api_key", "headers")


@dataclass(frozen=True, kw_only=True)
class RunExtras:
    """What the report shows of a run beside its figures.

    Attributes:
        title: name of the study.
        completions: replies of one layer, by judge and place.
        configuration: what was frozen, by part.
        integrity: what acquisition left behind, in words, by check.
    """

    title: str
    completions: Mapping[str, Mapping[Place, str]]
    configuration: Mapping[str, Any]
    integrity: Mapping[str, Any]


def read_run(run: Path, layer: str | None, *, verified: Verification | None = None) -> RunExtras:
    """Read what a run folder holds; replies of the layer that the report shows."""
    frozen = open_run(run)
    completions: Mapping[str, Mapping[Place, str]] = {}
    integrity: dict[str, Any] = {}
    if (run / LEDGER_NAME).exists():
        with SqliteView(run / LEDGER_NAME) as view:
            completions = _completions(view, layer)
            integrity = _acquired(view.totals())
    if verified is not None:
        integrity |= {
            check.name: f"{'ok' if check.ok else 'WRONG'}: {check.detail}"
            for check in verified.checks
        }
    return RunExtras(
        title=frozen.study.name,
        completions=completions,
        configuration=_configuration(frozen),
        integrity=integrity,
    )


def _completions(view: SqliteView, layer: str | None) -> dict[str, dict[Place, str]]:
    found: dict[str, dict[Place, str]] = {}
    for reply in view.replies(layer):
        place = (reply.item, reply.prompt, reply.order, reply.repeat)
        found.setdefault(reply.judge, {})[place] = _text(reply)
    return found


def _text(reply: StoredReply) -> str:
    """Return what the page may show, and one character more to say that there is more."""
    if reply.content_filtered:
        return "(withheld by the provider's content filter)"
    if reply.refusal:
        return f"(refusal) {reply.refusal}"
    return (reply.text or "")[: CUT + 1]


def _acquired(totals: Totals) -> dict[str, Any]:
    """Count rows: every total here is one."""
    return {
        "Calls planned and completed": f"{totals.planned:,} and {totals.completed:,}",
        "Replies that may be paid for and lost": f"{totals.at_risk:,}",
        "Tokens read and written": f"{totals.input_tokens:,} and {totals.output_tokens:,}",
    }


def _configuration(frozen: FrozenRun) -> dict[str, Any]:
    """Lay out the study, judges and prompts with their hashes; keys of providers are left out."""
    record = frozen.record
    study = {k: v for k, v in record.study.items() if k not in {"judges", "prompts", "items"}}
    parts: dict[str, Any] = {
        "Study": {"source_sha256": record.source_sha256, **study},
        "Fixed before the first request": record.beforehand or "nothing beyond the study",
    }
    for name, judge in frozen.judges.items():
        values = judge.model_dump(mode="json", exclude_none=True, exclude=set(_SECRET))
        parts[f"Judge {name}"] = {"sha256": record.judges.get(name), **values}
    parts[PART] = {name: _prompt(frozen, name) for name in record.prompts}
    if record.amendments:
        parts["Changed since"] = {str(i + 1): change for i, change in enumerate(record.amendments)}
    parts["Versions"] = record.versions
    return parts


def _prompt(frozen: FrozenRun, name: str) -> dict[str, str]:
    found = {"sha256": frozen.record.prompts[name]}
    if name in frozen.templates:
        found[OPENS] = opening(frozen.templates[name].text)
    return found
