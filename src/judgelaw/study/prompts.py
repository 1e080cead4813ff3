"""Prompts: templates, policies, the paper's six wrappers, and a grammar to sample from."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from judgelaw.errors import InputError, IntegrityError
from judgelaw.record_files import read_regular
from judgelaw.streams import stream
from judgelaw.study.models import Study
from judgelaw.study.problems import Path as Keys
from judgelaw.study.prompt_models import Census, Factors, Generator, Grammar
from judgelaw.wire import SingleCriterion, canonical_json, sha256_hex
from judgelaw.words import LETTERS, LEVEL_MARKS, factor_prompt

if TYPE_CHECKING:
    from judgelaw.study.loading import LoadedStudy

PAIR_FIELDS = ("instruction", "candidate_a", "candidate_b")
POINT_FIELDS = ("instruction", "candidate")
CRITERION_FIELD = "criterion"
"""The field that the text of a criterion fills, where each criterion has calls of its own."""

CANDIDATES = "{candidates}"
"""Stands for all candidates, each under its letter."""
PAIR_BLOCK = (
    "USER INSTRUCTION:\n{instruction}\n\nCANDIDATE A:\n{candidate_a}\n\nCANDIDATE B:\n{candidate_b}"
)
POINT_BLOCK = "USER INSTRUCTION:\n{instruction}\n\nRESPONSE:\n{candidate}"

_LONGEST_LEVEL = 40
_NEAR = 0.75
_SHOWS_CANDIDATE = re.compile(r"candidate(_[a-z])?")
_WORD_IN_BRACES = re.compile(r"\{([a-z_0-9]{4,30})\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """One prompt of a policy.

    Attributes:
        id: its name in the calls table.
        parts: alternately literal text (even places) and field names (odd places). Fields are
            filled once and by name, so braces inside an item's text mean nothing.
    """

    id: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The template as it is read: field names in braces."""
        return "".join(
            part if place % 2 == 0 else "{" + part + "}" for place, part in enumerate(self.parts)
        )

    def asking(self, asks: SingleCriterion | None) -> "Template":
        """Return the template with the text of a criterion in its place; as it is without one."""
        if asks is None:
            return self
        filled = [self.parts[0]]
        for name, literal in zip(self.parts[1::2], self.parts[2::2], strict=True):
            if name == CRITERION_FIELD:
                filled[-1] += asks.text + literal
            else:
                filled += [name, literal]
        return Template(id=self.id, parts=tuple(filled))

    @property
    def sha256(self) -> str:
        """SHA-256 of the parts; two templates with the same hash render the same."""
        return sha256_hex(canonical_json(self.parts))


def candidate_field(slot: int) -> str:
    """Name the field that shows the candidate in a slot: `candidate_a` is the first."""
    return f"candidate_{LETTERS[slot].lower()}"


def fields_of(study: Study, others: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the fields that a template of this study may name.

    Args:
        study: the study.
        others: fields of its items beside those that every item has.
    """
    own = (CRITERION_FIELD,) if study.asked else ()
    if study.task == "pointwise":
        own = (*POINT_FIELDS, *own)
    else:
        own = ("instruction", *map(candidate_field, range(study.candidates)), *own)
    return (*own, *(name for name in others if name not in own))


def default_block(study: Study) -> str:
    """Return the item block that prefixes and suffixes surround."""
    return item_block(study.task)


def item_block(task: str) -> str:
    """Return the usual layout of the items of a task."""
    if task == "pointwise":
        return POINT_BLOCK
    return "USER INSTRUCTION:\n{instruction}\n\n" + CANDIDATES


def split(text: str, fields: tuple[str, ...]) -> tuple[str, ...]:
    """Split a text at `{field}`; every other brace stays as it is.

    `{candidates}` stands for every candidate under its letter, where there are several.
    """
    if several := [field for field in fields if re.fullmatch("candidate_[a-z]", field)]:
        listed = (f"CANDIDATE {field[-1].upper()}:\n{{{field}}}" for field in several)
        text = text.replace(CANDIDATES, "\n\n".join(listed))
    names = "|".join(re.escape(field) for field in fields)
    return tuple(re.split(r"\{(" + names + r")\}", text))


def around(prefix: str, block: tuple[str, ...], suffix: str) -> tuple[str, ...]:
    """Put literal text around a block; braces in prefix and suffix mean nothing."""
    if len(block) == 1:
        return (prefix + block[0] + suffix,)
    return (prefix + block[0], *block[1:-1], block[-1] + suffix)


def complaints(parts: tuple[str, ...], fields: tuple[str, ...]) -> list[str]:
    """Say what a template lacks, and which of its braces look like a misspelt field."""
    found: list[str] = []
    for literal in parts[::2]:
        for word in _WORD_IN_BRACES.findall(literal):
            near = difflib.get_close_matches(word, fields, n=1, cutoff=_NEAR)
            if word in fields:
                found.append(
                    f"has {{{word}}} in a prefix or suffix, where it would be sent as it stands; "
                    "write the whole prompt under text, or the layout under block"
                )
            elif near:
                found.append(f"{{{word}}} would be sent as it stands; did you mean {{{near[0]}}}?")
    found.extend(
        f"does not name {{{field}}}: every candidate must be shown; add the placeholder"
        for field in fields
        if _SHOWS_CANDIDATE.fullmatch(field) and field not in parts[1::2]
    )
    if CRITERION_FIELD in fields and CRITERION_FIELD not in parts[1::2]:
        found.append("does not name {criterion}, where the text under ask: goes; add it")
    return found


CRITERION = (
    "Decide which candidate better follows the user's instruction. Judge only instruction "
    "adherence and correctness. Do not reward length, style, confidence, or assertiveness by "
    "themselves. If the candidates are equally good, choose TIE. Return exactly one token: "
    "A, B, or TIE."
)
OUTPUT = (
    "Return the verdict on the first non-empty line as exactly A, B, or TIE.\n"
    "Do not write anything before that line. If you add an explanation, begin it on the next "
    "line.\n"
)
CRITERION_SHA256 = "6150eee260e2392e9688cfc22ff81ad52cdf70110c9aa07d51fda9f1d6019ccd"
OUTPUT_SHA256 = "50636ab1327cc4d0b739793bc82e9b974e7c67fdde2f8c461a03e0fd80378cde"

BLOCK_SHA256 = {
    "e3_eq_01": "6150eee260e2",
    "e3_eq_02": "b4e2abdb3f5d",
    "e3_eq_03": "4105ee21ae39",
    "e3_eq_04": "98e73dac4b44",
    "e3_eq_05": "71d0213e8079",
    "e3_eq_06": "6e860cf9dbc6",
}
"""Published prefixes of the instruction blocks' hashes."""

_WRAPPERS = {
    "e3_eq_01": ("", ""),
    "e3_eq_02": ("PAIRWISE JUDGMENT\n\n", ""),
    "e3_eq_03": ("Pairwise judgment\n\n", ""),
    "e3_eq_04": ("[BEGIN JUDGE INSTRUCTIONS]\n\n", "\n\n[END JUDGE INSTRUCTIONS]"),
    "e3_eq_05": ("<judge_instructions>\n\n", "\n\n</judge_instructions>"),
    "e3_eq_06": ("## Judge instructions\n\n", ""),
}


def instruction_blocks() -> dict[str, str]:
    """Return the six instruction blocks by id."""
    return {name: before + CRITERION + after for name, (before, after) in _WRAPPERS.items()}


def surround(instructions: str, block: tuple[str, ...], output: str) -> tuple[str, ...]:
    """Join instructions, item block and output contract as the paper does.

    The item suffix starts with one newline; two newlines part it from the output contract.
    """
    return around(instructions + "\n", block, "\n\n" + output)


def paper_six() -> tuple[Template, ...]:
    """Return the six templates, after checking them against the published hashes."""
    blocks = instruction_blocks()
    check("criterion", CRITERION, CRITERION_SHA256)
    check("output suffix", OUTPUT, OUTPUT_SHA256)
    for name, text in blocks.items():
        check(name, text, BLOCK_SHA256[name])
    item = split(PAIR_BLOCK, PAIR_FIELDS)
    return tuple(
        Template(id=name, parts=surround(text, item, OUTPUT)) for name, text in blocks.items()
    )


def check(name: str, text: str, published: str) -> None:
    """Raise unless the text's SHA-256 starts with the published digits."""
    found = sha256_hex(text)
    if not found.startswith(published):
        raise IntegrityError(
            f"paper-six: {name} hashes to {found[:12]}, published is {published[:12]}: "
            "the installed package was altered; install judgelaw again"
        )


WRAPPERS = Grammar(
    headings=(
        "pairwise judgment",
        "judge instructions",
        "evaluation task",
        "instructions",
        "comparison of two candidates",
    ),
    cases=("upper", "title", "sentence", "lower"),
    styles=("none", "plain", "colon", "brackets", "xml", "markdown", "bold", "rule"),
    separators=("\n\n", "\n"),
)
"""The grammar called `wrappers`; a declared grammar takes from here what it leaves out."""

_ID_DIGITS = 12

CASES = {
    "upper": str.upper,
    "title": str.title,
    "sentence": str.capitalize,
    "lower": str.lower,
}


def generate(
    policy: Generator, seed: int, block: str, fields: tuple[str, ...]
) -> tuple[Template, ...]:
    """Draw `count` distinct prompts; a larger count only adds to a smaller one's prompts."""
    texts = sentences(policy)
    if policy.count > len(texts):
        raise InputError(
            f"count {policy.count} exceeds the {len(texts)} distinct prompts of the grammar; "
            "declare more headings, cases, styles or separators, or ask for fewer"
        )
    drawn = stream(seed, "prompts").permutation(len(texts))[: policy.count]
    item = split(block, fields)
    output = OUTPUT if policy.output is None else policy.output
    return tuple(_template(surround(texts[place], item, output)) for place in drawn)


def sentences(policy: Generator) -> tuple[str, ...]:
    """Return every distinct instruction block of the grammar, in a fixed sequence."""
    grammar = WRAPPERS if policy.grammar == "wrappers" else policy.grammar
    criterion = CRITERION if policy.criterion is None else policy.criterion
    choices = product(
        grammar.styles or WRAPPERS.styles or (),
        grammar.headings or WRAPPERS.headings or (),
        grammar.cases or WRAPPERS.cases or (),
        grammar.separators or WRAPPERS.separators or (),
    )
    texts = (
        wrap(criterion, style=style, heading=CASES[case](heading), separator=separator)
        for style, heading, case, separator in choices
    )
    return tuple(dict.fromkeys(texts))


def wrap(criterion: str, *, style: str, heading: str, separator: str) -> str:
    """Wrap the criterion in one heading."""
    tag = heading.replace(" ", "_")
    before, after = {
        "none": ("", ""),
        "plain": (heading, ""),
        "colon": (f"{heading}:", ""),
        "brackets": (f"[BEGIN {heading}]", f"[END {heading}]"),
        "xml": (f"<{tag}>", f"</{tag}>"),
        "markdown": (f"## {heading}", ""),
        "bold": (f"**{heading}**", ""),
        "rule": (f"{heading}\n{'-' * len(heading)}", ""),
    }[style]
    return separator.join(part for part in (before, criterion, after) if part)


def _template(parts: tuple[str, ...]) -> Template:
    content = Template(id="", parts=parts).sha256
    return Template(id=f"g-{content[:_ID_DIGITS]}", parts=parts)


def templates_of(loaded: "LoadedStudy") -> tuple[Template, ...]:
    """Return the templates of a study, checked, in the sequence in which it declares them."""
    prompts = loaded.study.prompts
    if isinstance(prompts, Census):
        return _census(loaded, prompts)
    if isinstance(prompts, Generator):
        return _generated(loaded, prompts)
    if isinstance(prompts, Factors):
        return _crossed(loaded, prompts)
    if loaded.study.asked:
        text = "'paper-six', has no place for {criterion}; declare a census with text that has it"
        raise loaded.error(("prompts",), text)
    return paper_six()


def _crossed(loaded: "LoadedStudy", prompts: Factors) -> tuple[Template, ...]:
    """Return one template for every combination of levels, the last factor fastest."""
    file, keys = loaded.folder / prompts.template, ("prompts", "template")
    try:
        text = read_regular(file).decode()
    except OSError as error:
        raise loaded.error(keys, f"{prompts.template!r}, {error.strerror}; name a file") from None
    except UnicodeDecodeError:
        raise loaded.error(keys, f"{prompts.template!r}, no UTF-8; convert the file") from None
    levels = {name: level_texts(name, given) for name, given in prompts.factors.items()}
    found: list[tuple[Template, Keys]] = []
    for chosen in product(*levels.values()):
        combination = dict(zip(levels, chosen, strict=True))
        parts = split(
            _filled(text, levels, combination), fields_of(loaded.study, loaded.item_fields)
        )
        found.append((Template(id=factor_prompt(combination), parts=parts), keys))
    _check_places(loaded, prompts, text, levels)
    return _distinct(loaded, found)


def _filled(text: str, levels: Mapping[str, Mapping[str, str]], chosen: Mapping[str, str]) -> str:
    """Put the chosen level of every factor in its place, in the sequence of the factors."""
    for factor, level in chosen.items():
        text = text.replace("{" + factor + "}", levels[factor][level])
    return text


def _check_places(
    loaded: "LoadedStudy", prompts: Factors, text: str, levels: Mapping[str, Mapping[str, str]]
) -> None:
    """Refuse a factor that has no place, or whose place is filled in after its turn."""
    before, done = text, list[str]()
    for factor, of in levels.items():
        keys: Keys = ("prompts", "factors", factor)
        done.append(factor)
        if "{" + factor + "}" not in before:
            words = (
                f"has no place in {prompts.template} or in the levels before it; write "
                f"{{{factor}}} where its levels go"
            )
            raise loaded.error(keys, words)
        said = "".join(of.values())
        if late := [name for name in done if "{" + name + "}" in said]:
            words = (
                f"a level holds the place {{{late[0]}}}, which is filled in before; declare "
                f"{late[0]} after {factor}"
            )
            raise loaded.error(keys, words)
        before += said


def level_texts(factor: str, given: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Return the text of every level by its name.

    A text in a list is its own name, unless it is long or holds a mark that prompts are named
    with: then its number is.
    """
    if isinstance(given, Mapping):
        return dict(given)
    return {
        text if _is_name(text) else f"{factor}-{place}": text for place, text in enumerate(given, 1)
    }


def _is_name(text: str) -> bool:
    plain = text.isprintable() and text == text.strip() and 0 < len(text) <= _LONGEST_LEVEL
    return plain and not set(text) & set(LEVEL_MARKS)


def _generated(loaded: "LoadedStudy", prompts: Generator) -> tuple[Template, ...]:
    fields = fields_of(loaded.study, loaded.item_fields)
    block = prompts.block or default_block(loaded.study)
    for complaint in complaints(split(block, fields), fields):
        raise loaded.error(("prompts", "block"), complaint)
    try:
        return generate(prompts, loaded.study.seed, block, fields)
    except InputError as error:
        raise loaded.error(("prompts", "count"), str(error)) from None


def _census(loaded: "LoadedStudy", prompts: Census) -> tuple[Template, ...]:
    return _distinct(
        loaded, _from_files(loaded, prompts) if prompts.path else _listed(loaded, prompts)
    )


def _distinct(
    loaded: "LoadedStudy", declared: Iterable[tuple[Template, Keys]]
) -> tuple[Template, ...]:
    """Check every template; two that are the same would count one prompt twice."""
    fields = fields_of(loaded.study, loaded.item_fields)
    found: dict[str, Template] = {}
    for template, keys in declared:
        for complaint in complaints(template.parts, fields):
            raise loaded.error(keys, f"{template.id!r} {complaint}")
        twin = next((old.id for old in found.values() if old.parts == template.parts), None)
        if twin is not None or template.id in found:
            text = f"{template.id!r}, the same prompt as {twin or template.id!r}; count each once"
            raise loaded.error(keys, text)
        found[template.id] = template
    return tuple(found.values())


def _listed(loaded: "LoadedStudy", prompts: Census) -> Iterator[tuple[Template, Keys]]:
    fields = fields_of(loaded.study, loaded.item_fields)
    block = split(prompts.block or default_block(loaded.study), fields)
    for place, spec in enumerate(prompts.templates):
        if spec.text is not None:
            parts = split(spec.text, fields)
        else:
            parts = around(spec.prefix or "", block, spec.suffix or "")
        yield Template(id=spec.id, parts=parts), ("prompts", "templates", place)


def _from_files(loaded: "LoadedStudy", prompts: Census) -> Iterator[tuple[Template, Keys]]:
    keys: Keys = ("prompts", "path")
    files = _matching(loaded.folder, prompts.path or "")
    if not files:
        raise loaded.error(keys, f"{prompts.path!r}, no such files; give a folder or a pattern")
    for file in files:
        try:
            text = read_regular(file).decode()
        except OSError as error:
            raise loaded.error(keys, f"{file.name!r}, {error.strerror}; name a file") from None
        except UnicodeDecodeError:
            raise loaded.error(keys, f"{file.name!r}, no UTF-8; convert the file") from None
        yield (
            Template(id=file.stem, parts=split(text, fields_of(loaded.study, loaded.item_fields))),
            keys,
        )


def _matching(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a folder (its `*.txt`) or of a pattern, sorted by name."""
    whole = folder / pattern
    if whole.is_dir():
        return sorted(whole.glob("*.txt"))
    anchor = Path(whole.anchor)
    return sorted(path for path in anchor.glob(str(whole.relative_to(anchor))) if path.is_file())
