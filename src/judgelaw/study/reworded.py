"""What `grammar: reworded` declares: a template, who rewords it, and what has to survive.

The generator is this declaration. Whoever draws from it again, in another folder or years later,
draws from the same law: by rule the very same draws, and from a model that takes seeds the same
too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from typing import Any

from judgelaw.errors import InputError
from judgelaw.record_files import json_of
from judgelaw.study.judge_rules import judge_problems
from judgelaw.study.models import Study
from judgelaw.study.passages import Labels, Outline, outline, outline_at
from judgelaw.study.problems import Path as Keys, Problem
from judgelaw.study.prompt_models import Reworded, Rules
from judgelaw.study.prompts import Template, complaints, fields_of, split
from judgelaw.study.reword_checks import Kept
from judgelaw.study.reword_rules import RuleSource, lists
from judgelaw.study.single_answers import FIRST_LINE
from judgelaw.study.wording_draws import (
    Approvals,
    Draw,
    draw_from,
    draws_text,
    read_approvals,
    read_draws,
    used,
    varied,
)
from judgelaw.tensor import SINGLE
from judgelaw.wire import (
    PROVIDERS,
    Completion,
    Decoding,
    JsonParser,
    JudgeSpec,
    ParserSpec,
    RegexParser,
    canonical_json,
    label_words,
    parse,
)

AMONG = 4
"""Draws for each prompt of a varied set, unless the study says how many."""
TRIES = 4
"""How often a passage is asked for: once, and at most three times again."""
INSTRUCTION = (
    "Reword the text below. Its meaning must stay exactly the same: add nothing, leave nothing "
    "out, make nothing stricter or milder. Keep numbers, quoted words and words in capitals as "
    "they are, and keep the lines and marks of lists. Reply with the reworded text alone."
)
CHOOSE = (
    "Reword the text below, line by line. For every line choose one of the alternatives that are "
    "listed for it. Reply with the chosen lines alone, one below the other."
)
_VERSION = 1
_ROOM = 4
_LEAST_TOKENS = 512
_CHARACTERS_A_TOKEN = 4
_PER_JUDGE = ("logprobs", "top_logprobs", "seed", "max_tokens", "max_completion_tokens")
_FORCED = (
    *("response_format", "json_schema", "grammar", "structured_outputs", "tools", "tool_choice"),
    *("guided_json", "guided_choice", "guided_regex", "guided_grammar"),
)
"""Fields of a request body that would force a reply into the judge's own format."""
WHOLE_REPLY = RegexParser(regex=r"(?s)\S(?:.*\S)?", strict=True)
"""Reads a reply as it is, without the blanks around it."""


@dataclass(frozen=True, kw_only=True)
class WordingSource:
    """A generator of rewordings, ready to be drawn from.

    Attributes:
        prompts: as declared.
        parts: the template that is reworded.
        fields: what a template of the study may name.
        kept: what every rewording has to hold.
        judge: who rewords, as it is asked; None where rules do.
        seed: of the draws.
    """

    prompts: Reworded
    parts: tuple[str, ...]
    fields: tuple[str, ...]
    kept: Kept
    judge: JudgeSpec | None
    seed: int

    @cached_property
    def outline(self) -> Outline:
        """The template taken apart: at its alternatives, or at what may be reworded freely."""
        listed = self.prompts.alternatives
        if listed:
            return outline_at(self.parts, [texts[0] for texts in listed])
        return outline(self.parts, self.kept.labels)

    @property
    def units(self) -> tuple[str, ...]:
        """The texts that a model is sent for one draw: all its choices at once, or each passage."""
        passages = self.outline.passages
        return ("\n".join(passages),) if self.prompts.alternatives else passages

    @property
    def instruction(self) -> str:
        """What a model is told before every text."""
        told = self.prompts.instruction or (CHOOSE if self.prompts.alternatives else INSTRUCTION)
        if not self.prompts.alternatives:
            return told
        listed = [
            f"Line {n}:\n" + "\n".join(f"- {text}" for text in texts)
            for n, texts in enumerate(self.prompts.alternatives, 1)
        ]
        return told + "\n\nALTERNATIVES:\n" + "\n".join(listed)

    @cached_property
    def generator(self) -> dict[str, Any]:
        """What decides the law of the draws, as plain data; how many are drawn is no part of it."""
        found: dict[str, Any] = {
            "grammar": "reworded",
            "version": _VERSION,
            "template": list(self.parts),
            "labels": list(self.kept.labels.words),
            "alternatives": [list(texts) for texts in self.prompts.alternatives],
            "seed": self.seed,
        }
        if self.prompts.rules is not None:
            return {**found, "rules": self.prompts.rules.model_dump(mode="json")}
        assert self.judge is not None  # noqa: S101 - a study names one or the other
        return {
            **found,
            "model": self.judge.identity(),
            "instruction": self.instruction,
            "keep": list(self.kept.texts),
            "attempts": TRIES,
        }

    def by_rule(self) -> Iterator[Draw]:
        """Yield draws by rule, without end."""
        source = RuleSource(
            parts=self.parts,
            fields=self.fields,
            rules=self.prompts.rules or Rules(),
            alternatives=self.prompts.alternatives,
            labels=self.kept.labels,
            seed=self.seed,
        )
        for number in count(1):
            parts, made = source.draw(number)
            yield Draw(number=number, parts=parts, made=made)

    @property
    def wanted(self) -> int:
        """How many draws the study takes its prompts from, before any is struck."""
        if self.prompts.policy == "generator":
            return self.prompts.count
        return self.prompts.among or AMONG * self.prompts.count


def source_of(study: Study) -> WordingSource:
    """Return the generator of a study whose files were read.

    Raises:
        InputError: the study declares none.
    """
    prompts = study.prompts
    if not isinstance(prompts, Reworded):
        raise InputError("the study's prompts are no rewordings; write grammar: reworded")
    fields = fields_of(study)
    parts = split(prompts.text or "", fields)
    kept = Kept(labels=Labels(labels_of(study)), texts=prompts.keep)
    spec = _named(study, prompts)
    return WordingSource(
        prompts=prompts,
        parts=parts,
        fields=fields,
        kept=kept,
        judge=spec and _rewording(spec, prompts, parts),
        seed=study.seed if prompts.seed is None else prompts.seed,
    )


def labels_of(study: Study) -> tuple[str, ...]:
    """Return the words that the judges answer with, as the template has them."""
    found = dict.fromkeys(study.verdicts or ())
    for judge in study.judges:
        for each in (judge, *judge.by_criterion.values()):
            found |= dict.fromkeys(label_words(each) if not each.criteria else ())
    rules = study.prompts.rules if isinstance(study.prompts, Reworded) else None
    others = {word for words in (rules.labels if rules else {}).values() for word in words}
    return tuple(word for word in found if word and word not in others)


def _named(study: Study, prompts: Reworded) -> JudgeSpec | None:
    if not isinstance(prompts.model, str):
        return prompts.model
    return next((j for j in study.judges if prompts.model in (j.name, j.family)), None)


def _rewording(spec: JudgeSpec, prompts: Reworded, parts: Sequence[str]) -> JudgeSpec:
    """Return a judge as it rewords: without what makes it judge, and with room for the text."""
    own = spec.decoding.model_dump(exclude_none=True, exclude=set(_PER_JUDGE))
    length = sum(map(len, parts[::2])) // _CHARACTERS_A_TOKEN
    room = max(_LEAST_TOKENS, _ROOM * length)
    newer = spec.decoding.max_completion_tokens is not None
    cap = "max_completion_tokens" if newer else "max_tokens"
    decoding = prompts.decoding or Decoding.model_validate({**own, "temperature": 1.0, cap: room})
    bound = spec.provider in PROVIDERS and "grammar" in PROVIDERS[spec.provider].fields
    grammar = grammar_of(prompts.alternatives) if bound and prompts.alternatives else None
    return spec.model_copy(
        update={
            "name": spec.family or spec.name,
            "family": None,
            "contract": {},
            "system": None,
            "stop": (),
            "logprobs": None,
            "decoding": decoding,
            "parser": WHOLE_REPLY,
            "criteria": {},
            "asks": None,
            "law": None,
            "batch": None,
            "grammar": grammar,
            "extra": {key: value for key, value in spec.extra.items() if key not in _FORCED},
        }
    )


def grammar_of(alternatives: Sequence[Sequence[str]]) -> str:
    r"""Return the grammar of replies that hold one alternative of each list, a line each (GBNF).

    >>> print(grammar_of([["a", "b"], ["c"]]))
    root ::= line1 "\n" line2
    line1 ::= "a" | "b"
    line2 ::= "c"
    """
    names = [f"line{n}" for n in range(1, len(alternatives) + 1)]
    newline = ' "\\n" '
    rules = [f"root ::= {newline.join(names)}"]
    rules += [
        f"{name} ::= {' | '.join(map(_quoted, texts))}"
        for name, texts in zip(names, alternatives, strict=True)
    ]
    return "\n".join(rules)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@dataclass(frozen=True, kw_only=True)
class Rewordings:
    """The prompts of a study that rewords, with what they were taken from.

    Attributes:
        generator: what decides the law of the draws.
        draws: every draw up to the last that is used.
        templates: the prompts.
        approvals: what people said of their texts.
        policy: `generator` or `census`.
        approved: whether what people struck is left out.
    """

    generator: Mapping[str, Any]
    draws: tuple[Draw, ...]
    templates: tuple[Template, ...]
    approvals: Approvals = field(default_factory=Approvals)
    policy: str = "generator"
    approved: bool = False

    def to_text(self) -> str:
        """Return what a run keeps of them: the draws, what people said, and what is used."""
        said = {name: sorted(labels) for name, labels in self.approvals.said.items()}
        last = {
            "used": [template.id for template in self.templates],
            "policy": self.policy,
            "approved": self.approved,
            "said": said,
        }
        return draws_text(self.generator, self.draws) + canonical_json(last) + "\n"


@dataclass(frozen=True, kw_only=True)
class RewordingFacts:
    """What a run keeps of its rewordings, read again.

    Attributes:
        by: who rewords: `rules`, or a model by its name.
        policy: `generator` or `census`.
        approved: whether what people struck was left out.
        template: what is reworded.
        draws: up to the last that is used.
        prompts: those that are used.
        said: what people said of their texts.
    """

    by: str
    policy: str
    approved: bool
    template: Template
    draws: tuple[Draw, ...]
    prompts: tuple[Draw, ...]
    said: Mapping[str, tuple[str, ...]]
    tries: int = TRIES

    @property
    def used(self) -> int:
        """How many prompts there are."""
        return len(self.prompts)

    @property
    def drawn(self) -> int:
        """How many draws there are."""
        return len(self.draws)

    @property
    def lost(self) -> int:
        """How many draws the checks refused in every attempt."""
        return sum(draw.parts is None for draw in self.draws)

    @property
    def struck(self) -> int:
        """How many draws people did not approve."""
        return self.drawn - self.lost - self.used if self.approved else 0


BY_RULE = "rules"


def facts_from(text: str) -> RewordingFacts:
    """Read what `Rewordings.to_text` wrote."""
    head, *rows, last = [json_of(line) for line in text.split("\n") if line]
    generator = head["generator"]
    model = generator.get("model") or {}
    draws = tuple(draw_from(row) for row in rows)
    used_ids = set(last["used"])
    return RewordingFacts(
        by=str(model.get("model") or model.get("name") or BY_RULE),
        policy=last["policy"],
        approved=last["approved"],
        template=Template(id="", parts=tuple(generator["template"])),
        draws=draws,
        prompts=tuple(d for d in draws if d.parts is not None and d.template.id in used_ids),
        said={name: tuple(said) for name, said in last["said"].items()},
    )


def reworded_prompts(study: Study, folder: Path) -> Rewordings:
    """Return the prompts of a study that rewords.

    Args:
        study: whose files were read.
        folder: of the study, which its paths start from.

    Raises:
        InputError: too few were drawn, or approved.
        IntegrityError: the draws are of another generator, or were changed.
    """
    source = source_of(study)
    prompts, where = source.prompts, folder / draws_path(study)
    drawn = source.by_rule() if prompts.rules is not None else read_draws(where, source.generator)
    approvals = read_approvals(where) if prompts.approved else Approvals()
    seen: list[Draw] = []
    chosen = tuple(
        used(
            _noted(drawn, seen),
            count=source.wanted,
            approved=prompts.approved,
            approvals=approvals,
        )
    )
    last = chosen[-1].number
    if prompts.policy == "census":
        chosen = varied(chosen, prompts.count)
    told = {draw.wording for draw in seen[:last] if draw.parts is not None}
    return Rewordings(
        generator=source.generator,
        draws=tuple(seen[:last]),
        templates=tuple(draw.template for draw in chosen),
        approvals=Approvals(said={n: s for n, s in approvals.said.items() if n in told}),
        policy=prompts.policy,
        approved=prompts.approved,
    )


def _noted(draws: Iterable[Draw], seen: list[Draw]) -> Iterator[Draw]:
    for draw in draws:
        seen.append(draw)
        yield draw


def draws_path(study: Study) -> str:
    """Return where the draws of a study are, from its folder."""
    prompts = study.prompts
    named = prompts.draws if isinstance(prompts, Reworded) else None
    return named or f"rewordings/{study.name}"


def draws_by_rule(study: Study, number: int) -> tuple[Draw, ...]:
    """Return the first draws of a generator without a model."""
    return tuple(islice(source_of(study).by_rule(), number))


def resolved(study: Study, folder: Path) -> tuple[Study, list[Problem]]:
    """Read the files that rewordings name, and let judges read every label that is drawn.

    Returns:
        The study with texts in the place of paths, and what is wrong.
    """
    prompts = study.prompts
    if not isinstance(prompts, Reworded):
        return study, []
    problems: list[Problem] = []
    update: dict[str, Any] = {"template": None}
    update["draws"] = str((folder / draws_path(study)).absolute())
    if (prompts.text is None) == (prompts.template is None):
        text = "must give text or template, one of them; choose"
        return study, [Problem(path=("prompts",), text=text)]
    if prompts.template is not None:
        update["text"] = _read(folder, prompts.template, ("prompts", "template"), problems)
    if prompts.rules is not None and prompts.rules.languages:
        texts = {
            name: given
            if "{" in given
            else _read(folder, given, ("prompts", "rules", "languages", name), problems)
            for name, given in prompts.rules.languages.items()
        }
        update["rules"] = prompts.rules.model_copy(update={"languages": texts})
    if problems:
        return study, problems
    found = study.model_copy(update={"prompts": prompts.model_copy(update=update)})
    return _reading_synonyms(found)


def _read(folder: Path, name: str, keys: Keys, problems: list[Problem]) -> str:
    try:
        return (folder / name).read_bytes().decode()
    except OSError as error:
        problems.append(Problem(path=keys, text=f"{name!r}, {error.strerror}; name a file"))
    except UnicodeDecodeError:
        problems.append(Problem(path=keys, text=f"{name!r}, no UTF-8; convert the file"))
    return ""


def _reading_synonyms(study: Study) -> tuple[Study, list[Problem]]:
    """Add the other words for a label to what every judge reads as it."""
    prompts = study.prompts
    rules = prompts.rules if isinstance(prompts, Reworded) else None
    if rules is None or not rules.labels:
        return study, []
    problems: list[Problem] = []
    keys: Keys = ("prompts", "rules", "labels")
    sizes = {len(words) for words in rules.labels.values()}
    if len(sizes) > 1:
        text = "must have as many words for every label: they are drawn together; add some"
        return study, [Problem(path=keys, text=text)]
    owners: dict[str, str] = {}
    for label, words in rules.labels.items():
        for word in (label, *words):
            if owners.setdefault(word.casefold(), label) != label:
                text = f"{word!r}, stands for {owners[word.casefold()]!r} too; choose another word"
                problems.append(Problem(path=(*keys, label), text=text))
    judges = [_reading(judge, rules, keys, problems) for judge in study.judges]
    return study.model_copy(update={"judges": tuple(judges)}), problems


def _reading(judge: JudgeSpec, rules: Rules, keys: Keys, problems: list[Problem]) -> JudgeSpec:
    """Return a judge whose parser reads other words for its labels too."""
    known = label_words(judge)
    parser = judge.parser
    if judge.criteria or not (isinstance(parser, RegexParser | JsonParser) or _plain(parser)):
        text = (
            f"judge {judge.name} is read by a rule that takes no other words; write parser: "
            "{regex: ..., labels: {...}}, or leave labels out"
        )
        problems.append(Problem(path=keys, text=text))
        return judge
    for label in rules.labels:
        if label not in known:
            text = (
                f"{label!r}, judge {judge.name} answers with {', '.join(known)}; name one of them"
            )
            problems.append(Problem(path=(*keys, label), text=text))
    if problems:
        return judge
    own = getattr(parser, "labels", None) or {word: word for word in known}
    more = {w: own[label] for label, words in rules.labels.items() for w in words}
    labels = {**own, **more}
    update: Any = RegexParser(regex=FIRST_LINE, labels=labels, strict=True)
    if isinstance(parser, RegexParser | JsonParser):
        update = parser.model_copy(update={"labels": labels})
    found = judge.model_copy(update={"parser": update})
    if isinstance(update, RegexParser):
        bare = found.model_copy(update={"complete_on": None, "final_channel": None})
        for word, label in more.items():
            if parse(bare, Completion(text=word, finish_reason=None), SINGLE).verdict != label:
                text = (
                    f"{word!r}, the pattern of judge {judge.name} does not read it as {label!r}; "
                    "let the pattern take it"
                )
                problems.append(Problem(path=keys, text=text))
    return found


def _plain(parser: ParserSpec) -> bool:
    return isinstance(parser, str) and parser == "first-line"


def reworded_problems(study: Study) -> Iterator[Problem]:
    """Yield everything wrong with a declaration of rewordings whose files were read."""
    prompts = study.prompts
    if not isinstance(prompts, Reworded):
        return
    if (prompts.model is None) == (prompts.rules is None):
        text = "must name model or rules, one of them: it is who rewords; choose"
        yield Problem(path=("prompts",), text=text)
        return
    yield from _of_policy(prompts)
    yield from _of_template(study, prompts)
    yield from _of_alternatives(study, prompts)
    if prompts.rules is not None:
        yield from _of_rules(study, prompts)
    else:
        yield from _of_model(study, prompts)


def _of_policy(prompts: Reworded) -> Iterator[Problem]:
    if prompts.among is not None and prompts.policy == "generator":
        text = (
            "chooses a varied set, which is no sample of its generator; write policy: census, or "
            "leave it out"
        )
        yield Problem(path=("prompts", "among"), text=text)
    elif prompts.among is not None and prompts.among < prompts.count:
        text = f"{prompts.among}, is fewer than count ({prompts.count}); raise it"
        yield Problem(path=("prompts", "among"), text=text)


def _of_template(study: Study, prompts: Reworded) -> Iterator[Problem]:
    fields = fields_of(study)
    for complaint in complaints(split(prompts.text or "", fields), fields):
        yield Problem(path=("prompts", "text"), text=complaint)
    for place, text in enumerate(prompts.keep):
        if text not in (prompts.text or "") or not text.strip():
            said = f"{text[:40]!r}, is not in the template; write it as it stands there"
            yield Problem(path=("prompts", "keep", place), text=said)


def _of_alternatives(study: Study, prompts: Reworded) -> Iterator[Problem]:
    literals = split(prompts.text or "", fields_of(study))[::2]
    labels = Labels(labels_of(study))
    for place, listed in enumerate(prompts.alternatives):
        path: Keys = ("prompts", "alternatives", place)
        if len(listed) < 2 or len(set(listed)) < len(listed):  # noqa: PLR2004 - a choice
            text = "must be the sentence as it stands and at least one other, each once"
            yield Problem(path=path, text=f"{text}; add or leave out")
            continue
        if (there := sum(literal.count(listed[0]) for literal in literals)) != 1:
            text = (
                f"{listed[0][:40]!r}, stands {there} times in the template, must stand there once"
            )
            yield Problem(path=(*path, 0), text=f"{text}; copy the sentence from it")
        for which, text in enumerate(listed):
            if "\n" in text or text != text.strip() or "{" in text:
                said = "must be one line, without blanks around it and without braces; correct it"
                yield Problem(path=(*path, which), text=f"{text[:40]!r}, {said}")
            elif labels.count(text) != labels.count(listed[0]):
                said = "names other labels than the sentence that it stands for; name the same"
                yield Problem(path=(*path, which), text=f"{text[:40]!r}, {said}")


def _of_rules(study: Study, prompts: Reworded) -> Iterator[Problem]:
    rules, keys = prompts.rules, ("prompts", "rules")
    assert rules is not None  # noqa: S101 - the caller looked
    for key in ("instruction", "decoding"):
        if getattr(prompts, key) is not None:
            text = "is for a model, and rules reword here; leave it out"
            yield Problem(path=("prompts", key), text=text)
    if rules == Rules() and not prompts.alternatives:
        text = (
            "empty, every draw would be the same; name order, numbering, wrappers, labels or "
            "languages, or give alternatives"
        )
        yield Problem(path=keys, text=text)
    fields, labels = fields_of(study), Labels(labels_of(study))
    parts = split(prompts.text or "", fields)
    listed = [listing for literal in parts[::2] for listing in lists(literal, labels)]
    if (rules.order or rules.numbering) and not listed:
        which = "order" if rules.order else "numbering"
        text = "the template has no list of two entries or more; write one, or leave it out"
        yield Problem(path=(*keys, which), text=text)
    elif rules.order and all(listing.in_sequence for listing in listed):
        text = (
            "the template says that its lists are in a sequence, which another order would change; "
            "leave it out"
        )
        yield Problem(path=(*keys, "order"), text=text)
    for label in rules.labels:
        if not any(labels.count(literal)[label] for literal in parts[::2]):
            text = f"{label!r}, is not in the template; leave it out"
            yield Problem(path=(*keys, "labels", label), text=text)
    for name, given in rules.languages.items():
        found = split(given, fields)
        if sorted(found[1::2]) != sorted(parts[1::2]):
            text = "names other placeholders than the template; name the same ones"
            yield Problem(path=(*keys, "languages", name), text=text)


def _of_model(study: Study, prompts: Reworded) -> Iterator[Problem]:
    spec = _named(study, prompts)
    if spec is None:
        known = ", ".join(dict.fromkeys(j.family or j.name for j in study.judges))
        text = f"{prompts.model!r}, must be a judge of the study ({known}) or one declared here"
        yield Problem(path=("prompts", "model"), text=f"{text}; name one")
        return
    if spec.law is not None:
        text = f"{spec.name!r}, answers from a law and cannot reword; name another"
        yield Problem(path=("prompts", "model"), text=text)
    if not isinstance(prompts.model, str):
        yield from judge_problems(spec, ("prompts", "model"), study.task)
    if not prompts.alternatives and not source_of(study).outline.passages:
        text = (
            "nothing in it may be reworded: every sentence says how to reply, or is a heading; "
            "write what is judged in sentences of its own"
        )
        yield Problem(path=("prompts", "text"), text=text)
