"""The paper's frozen prompt instrument: six wrappers around one criterion, byte for byte."""

from judgelaw.design.model import sha256_hex
from judgelaw.design.templates import PAIR_BLOCK, PAIR_FIELDS, Template, around, split
from judgelaw.errors import IntegrityError

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
