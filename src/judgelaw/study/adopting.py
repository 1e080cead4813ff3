"""By which rule the replies of a run are read: the one that was frozen, or one adopted since."""

from collections.abc import Mapping
from dataclasses import replace

from judgelaw.study.manifest import FrozenRun, open_run
from judgelaw.study.models import Study
from judgelaw.study.record import RECORD, RunRecord
from judgelaw.study.run_files import exclusive, staged
from judgelaw.wire import JsonParser, JudgeSpec, RegexParser, parser_name


def adopt(frozen: FrozenRun, readers: Mapping[str, JudgeSpec]) -> FrozenRun:
    """Make other parsers the run's own: the calls table and the analysis take their verdicts.

    The judges stay as they were frozen, and the verdicts of their parsers stay in the ledger.

    Args:
        frozen: the run.
        readers: judges with the parser and the terminal rule to read by, by name.
    """
    record, rules = frozen.record, {"parser", "truncated"}
    adopted = {
        name: spec.model_dump(mode="json", by_alias=True, include=rules)
        for name, spec in readers.items()
    }
    words = [f"judges.{n}: read by {parser_name(spec)}" for n, spec in readers.items()]
    amendment = {"study": None, "changes": words}
    changed = replace(
        record,
        readings={**record.readings, **adopted},
        amendments=(*record.amendments, amendment),
    )
    with exclusive(frozen.path), staged(frozen.path) as stage:
        (stage / RECORD).write_bytes(changed.to_json())
    return open_run(frozen.path)


def read_as_frozen(study: Study, record: RunRecord) -> Study:
    """Keep labels to the letter in a run that was frozen before they could be read otherwise."""
    written = {judge["name"]: judge.get("parser") for judge in record.study["judges"]}

    def kept(judge: JudgeSpec) -> JudgeSpec:
        before, parser = written.get(judge.name), judge.parser
        old = isinstance(before, dict) and "strict" not in before
        if not old or not isinstance(parser, RegexParser | JsonParser):
            return judge
        strict = parser.model_copy(update={"strict": True})
        return judge.model_copy(update={"parser": strict})

    return study.model_copy(update={"judges": tuple(kept(judge) for judge in study.judges)})
