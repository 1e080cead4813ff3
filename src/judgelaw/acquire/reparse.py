"""Reading completions under another parser version: offline, both versions kept."""

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pydantic import TypeAdapter, ValidationError

from judgelaw.acquire.readings import Patience, read_again
from judgelaw.design.judge import JudgeSpec
from judgelaw.design.manifest import FrozenRun
from judgelaw.design.parser_spec import ParserSpec
from judgelaw.design.store import write_sums
from judgelaw.errors import InputError
from judgelaw.ledger import LEDGER_NAME, LedgerView, RunLock, SqliteLedger, SqliteView
from judgelaw.render import parser_name


@dataclass(frozen=True, kw_only=True)
class Reparse:
    """What a parser version reads differently for one judge.

    Attributes:
        judge: whose completions.
        before, after: the frozen parser version, and the new one.
        changes: how often `(before, after)` verdicts differ.
        read: completions that both have read.
    """

    judge: str
    before: str
    after: str
    changes: dict[tuple[str, str], int]
    read: int


def with_parser(spec: JudgeSpec, parser: Any) -> JudgeSpec:
    """Return a judge that reads with another parser, given as a study file would give it."""
    try:
        chosen: Any = TypeAdapter(ParserSpec).validate_python(parser)
    except ValidationError as error:
        raise InputError(
            f"{parser!r} is no parser: write first-line, or as in a study "
            "{regex: ...}, {json: ...} or {score: ...}"
        ) from error
    return spec.model_copy(update={"parser": chosen})


def reparse(frozen: FrozenRun, specs: dict[str, JudgeSpec]) -> tuple[Reparse, ...]:
    """Read every completion under the parsers of `specs`, beside the verdicts that are there.

    Nothing is sent, nothing is overwritten; the calls table stays with the frozen parser.

    Raises:
        InputError: a parser runs out of time too often.
    """
    with RunLock(frozen.path) as lock:
        with SqliteLedger(frozen.path, lock=lock) as ledger:
            for spec in specs.values():
                ledger.add_verdicts(read_again(ledger, spec))
                if (patience := Patience.starting_from(ledger, spec)).over:
                    raise InputError(f"{patience.words}: write a rule that does not backtrack")
        write_sums(frozen.path, [LEDGER_NAME])
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            return tuple(_compare(view, frozen.judges[name], spec) for name, spec in specs.items())


def _compare(view: LedgerView, old: JudgeSpec, new: JudgeSpec) -> Reparse:
    before, after = parser_name(old), parser_name(new)
    changes: Counter[tuple[str, str]] = Counter()
    read = 0
    mine = (j for j in view.judged() if j.call.judge == old.name)
    for _, versions in groupby(mine, key=lambda j: j.call.call_id):
        said = {j.verdict.parser: j.verdict.verdict for j in versions}
        if before in said and after in said:
            read += 1
            if said[before] != said[after]:
                changes[said[before], said[after]] += 1
    return Reparse(judge=old.name, before=before, after=after, changes=dict(changes), read=read)
