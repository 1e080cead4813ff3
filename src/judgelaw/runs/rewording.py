"""Rewordings of a study's prompt: drawn by rule or by a model, checked, refusals kept beside them.

A model is asked by the engine that asks everything else, in a run of its own: every request is
written down first, and the same command goes on where it stopped.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.runs.auditing import Shown
from judgelaw.runs.folder import RunFolder
from judgelaw.study import TRIES
from judgelaw.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from judgelaw.judges import JudgeFunction
    from judgelaw.study import Approvals, Draw, Drawn, FrozenRun, Heard, LoadedStudy, WordingSource


@dataclass(frozen=True, kw_only=True)
class Rewording:
    """Rewordings that were drawn.

    Attributes:
        loaded: the study that asks with them.
        source: the generator.
        folder: where the draws are.
        draws: in their sequence, those that were given up too.
        approvals: what people said so far.
    """

    loaded: "LoadedStudy"
    source: "WordingSource"
    folder: Path
    draws: "tuple[Draw, ...]"
    approvals: "Approvals"

    @property
    def kept(self) -> "tuple[Draw, ...]":
        """The draws that passed the checks."""
        return tuple(draw for draw in self.draws if draw.parts is not None)

    @property
    def approved(self) -> "tuple[Draw, ...]":
        """Those of them that people approved, up to the first that nobody read."""
        found = []
        for draw in self.kept:
            if not self.approvals.read(draw):
                break
            if self.approvals.approved(draw):
                found.append(draw)
        return tuple(found)

    @property
    def read(self) -> int:
        """How many of the draws that passed somebody read."""
        return sum(map(self.approvals.read, self.kept))

    @property
    def struck(self) -> int:
        """How many of those that were read are not approved."""
        return sum(self.approvals.read(d) and not self.approvals.approved(d) for d in self.kept)

    @property
    def refused(self) -> dict[str, int]:
        """Replies that the checks refused, by check."""
        whys = [each.why.partition(":")[0] for draw in self.draws for each in draw.refused]
        return dict(Counter(whys).most_common())

    @property
    def told_of_checks(self) -> str:
        """Say what the checks refused."""
        if self.source.judge is None:
            return "made by rule, so that nothing had to be refused"
        if not self.refused:
            return "the checks refused nothing"
        listed = ", ".join(f"{why} {n}" for why, n in self.refused.items())
        lost = len(self.draws) - len(self.kept)
        given = f"; {counted(lost, 'draw')} given up after {TRIES} requests" if lost else ""
        return f"the checks refused {sum(self.refused.values())} replies ({listed}){given}"

    @property
    def hints(self) -> dict[str, tuple[str, ...]]:
        """Where a reader should look first, by the name of the text."""
        from judgelaw.study import hints

        original = "".join(self.source.parts[::2])
        return {d.wording: hints(original, "".join((d.parts or ())[::2])) for d in self.kept}

    def said(self, draw: "Draw") -> frozenset[str]:
        """Return what people said of a draw."""
        return self.approvals.said.get(draw.wording, frozenset())

    def to_json(self) -> dict[str, Any]:
        """Return the `judgelaw.reword/1` document."""
        told = self.hints
        return {
            "schema": "judgelaw.reword/1",
            "study": str(self.loaded.path),
            "folder": str(self.folder),
            "policy": self.source.prompts.policy,
            "generator": self.source.generator,
            "template": self.template,
            "draws": [
                {
                    **draw.as_dict(),
                    "text": draw.template.text if draw.parts else None,
                    "hints": list(told.get(draw.wording, ())) if draw.parts else [],
                    "said": sorted(self.said(draw)),
                }
                for draw in self.draws
            ],
            "drawn": len(self.draws),
            "kept": len(self.kept),
            "different": len({draw.wording for draw in self.kept}),
            "refused": self.refused,
            "read": self.read,
            "struck": self.struck,
        }

    @property
    def template(self) -> str:
        """The template that is reworded."""
        from judgelaw.study import Template

        return Template(id="", parts=self.source.parts).text


def reword_study(
    study: Any,
    *,
    who: str | None = None,
    count: int | None = None,
    prompt: str | None = None,
    varied: bool = False,
    out: Path | None = None,
    shown: Shown | None = None,
    judge: Any = None,
) -> Rewording:
    """Draw rewordings of a study's prompt, or go on drawing.

    Args:
        study: a study that asks with rewordings; or one with the prompt that is to be reworded,
            beside which a study that does is written.
        who: who rewords, as in `reworded_study`; a study that rewords already declares it.
        count: how many prompts; more than the study declares are drawn for later.
        prompt: the prompt to reword, where there are several.
        varied: whether to choose a varied set, as a census.
        out: the study to write.
        shown: who shows how far it is.
        judge: the function that rewords for a `python` judge without `call:`.

    Raises:
        IncompleteRunError: requests are open; the same call goes on.
        InputError: too many rewordings were refused.
    """
    from judgelaw.errors import InputError
    from judgelaw.study import Reworded, load_study, read_approvals, reworded_study, source_of

    loaded = load_study(study)
    if not isinstance(loaded.study.prompts, Reworded):
        loaded = reworded_study(loaded, who=who, count=count, prompt=prompt, varied=varied, out=out)
    elif who is not None or prompt is not None or varied or out is not None:
        raise InputError(
            f"{loaded.path} says itself what is reworded, and by whom; leave --with, --prompt, "
            "--varied and --out out, or change the study"
        )
    source, prompts = source_of(loaded.study), loaded.study.prompts
    assert isinstance(prompts, Reworded)  # noqa: S101 - it was written so
    folder = Path(prompts.draws or "")
    wanted = max(source.wanted, count or 0)
    if prompts.rules is not None:
        draws = tuple(islice(source.by_rule(), wanted))
    else:
        draws = _asked(loaded, source, wanted, shown or Shown(), judge)
    draws = _no_fewer(folder, source, draws)
    return Rewording(
        loaded=loaded,
        source=source,
        folder=folder,
        draws=draws,
        approvals=read_approvals(folder),
    )


def _no_fewer(
    folder: Path, source: "WordingSource", draws: "tuple[Draw, ...]"
) -> "tuple[Draw, ...]":
    """Write the draws down, unless more of them are there already."""
    from judgelaw.study import DRAWS, read_draws, write_draws

    there = read_draws(folder, source.generator) if (folder / DRAWS).is_file() else ()
    if len(there) > len(draws):
        return there
    write_draws(folder, source.generator, draws)
    return draws


def _asked(
    loaded: "LoadedStudy",
    source: "WordingSource",
    wanted: int,
    shown: Shown,
    judge: Any,
) -> "tuple[Draw, ...]":
    """Ask a model until enough draws passed the checks."""
    from judgelaw.judges import functions_for
    from judgelaw.study import ASKED, more_draws, plan_again, plan_draws

    assert source.judge is not None  # noqa: S101 - the caller looked
    folder = Path(source.prompts.draws or "")
    functions = functions_for({source.judge.name: source.judge}, judge)
    planned = wanted
    while True:
        frozen = plan_draws(loaded.study, source, folder / ASKED, planned)
        drawn = _ask(frozen, source, shown, functions)
        while drawn.open:
            frozen = plan_again(frozen, source, drawn.open)
            drawn = _ask(frozen, source, shown, functions)
        planned = more_draws(drawn, wanted)
        if planned <= len(drawn.draws):
            return drawn.draws


def _ask(
    frozen: "FrozenRun",
    source: "WordingSource",
    shown: Shown,
    functions: "Mapping[str, JudgeFunction]",
) -> "Drawn":
    """Ask what is open, and read all that came back."""
    from judgelaw.acquire import acquire
    from judgelaw.study import decide

    with shown.observer() as observer:
        acquire(frozen, observer=observer, functions=functions).raise_if_open()
    heard = _heard(frozen.path)
    return decide(source, list(heard), heard)


def _heard(folder: Path) -> "dict[tuple[str, int], Heard]":
    """Return every reply with what its parser made of it, by passage and attempt."""
    from judgelaw.study import Heard

    opened = RunFolder(folder)
    assert opened.ledger is not None  # noqa: S101 - everything was asked
    verdicts = dict(opened.ledger.verdicts())
    found = {
        (reply.item, reply.repeat): Heard(
            text=reply.text or reply.refusal or "", verdict=verdicts[reply.call_id]
        )
        for reply in opened.ledger.replies()
    }
    opened.ledger.close()
    return found
