"""Which alphabet the verdicts of a table are counted in."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from judgelaw.errors import InputError, TableError
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID

MOST_VERDICTS = 1000
"""A column with more values than this holds completions or ids, not verdicts."""

_SYNONYMS = {"bot": INVALID, "⊥": INVALID}
"""Other names of the usual verdicts, as the paper's released tables write them."""

_GOLD = {"1": DEFAULT_VERDICTS[0], "2": DEFAULT_VERDICTS[1]}
"""Gold labels that name a candidate by its number, as LLMBar does."""

_LETTERS = frozenset("ab")
_CANDIDATES = frozenset(DEFAULT_VERDICTS[:2])
_EMPTY = frozenset({"", "nan", "<na>", "null"})


@dataclass(frozen=True, kw_only=True)
class Alphabet:
    """The verdicts in the order of their codes, and the code of every spelling in the table.

    Attributes:
        verdicts: by code.
        codes: by spelling.
        notes: what was taken for what, in words.
        letters: whether A and B were found, and nobody declared them.
    """

    verdicts: tuple[str, ...]
    codes: Mapping[str, int]
    notes: tuple[str, ...] = ()
    letters: bool = False

    @property
    def planes(self) -> tuple[tuple[str, ...], ...]:
        """The spellings whose code has bit 0, bit 1, ... set."""
        bits = max(len(self.verdicts) - 1, 0).bit_length()
        return tuple(
            tuple(sorted(raw for raw, code in self.codes.items() if code >> bit & 1))
            for bit in range(bits)
        )

    def name(self, raw: str) -> str | None:
        """The verdict that a spelling stands for, None for a spelling outside the alphabet."""
        code = self.codes.get(raw)
        return None if code is None else self.verdicts[code]


def is_empty(raw: str | None) -> bool:
    """Say whether a field holds no verdict: nothing, blanks, or the name of a missing value."""
    return raw is None or raw.strip().casefold() in _EMPTY


def check_given(verdicts: Sequence[str] | None) -> tuple[str, ...] | None:
    """Validate the alphabet that the caller gave."""
    if verdicts is None:
        return None
    if isinstance(verdicts, str):
        raise InputError(f"verdicts = {verdicts!r} is one string: pass a list of verdicts")
    given = tuple(verdicts)
    if not given or any(is_empty(v) for v in given):
        raise InputError(f"verdicts = {list(given)}: an alphabet is a list of non-empty strings")
    if twice := [v for v, n in Counter(given).items() if n > 1]:
        raise InputError(f"verdicts names {twice[0]!r} more than once: an alphabet has no repeats")
    return given


def strangers(found: Collection[str], given: tuple[str, ...] | None) -> list[str]:
    """List the spellings that no alphabet for this table allows.

    With an alphabet given, whatever lies outside it. Without one, a table that says `candidate_1`
    or `candidate_2` speaks the usual four, and a word outside them is taken for a slip.
    """
    usual = given is None or set(given) == set(DEFAULT_VERDICTS)
    if usual and (given is not None or _CANDIDATES & {_fold(raw) for raw in found}):
        return sorted(raw for raw in found if _fold(raw) not in DEFAULT_VERDICTS)
    return [] if given is None else sorted(set(found) - set(given))


def choose_alphabet(
    found: Collection[str],
    gold: Collection[str],
    given: tuple[str, ...] | None,
    *,
    table: str,
) -> Alphabet:
    """Choose the alphabet of a table without strangers.

    The one given; else the usual four where all verdicts are among them (so that one which never
    occurs still has its column); else the verdicts and gold labels found, sorted, by value where
    all are numbers. Case, outer blanks and synonyms are folded for the usual four only.
    """
    if len(found) > MOST_VERDICTS:
        some = ", ".join(repr(raw) for raw in sorted(found)[:3])
        raise TableError(
            f"{table}: the verdict column holds {len(found)} different values ({some}, ...); "
            f"a verdict is one of a few, {MOST_VERDICTS} at most: map the column of parsed "
            "verdicts with columns={'verdict': NAME}"
        )
    if given is not None and set(given) != set(DEFAULT_VERDICTS):
        return Alphabet(verdicts=given, codes={raw: given.index(raw) for raw in given})
    if all(_fold(raw) in DEFAULT_VERDICTS for raw in found):
        return _usual(found, gold, given or DEFAULT_VERDICTS)
    words = _sorted({*found, *(g for g in gold if not is_empty(g))})
    _refuse_twins(words, table)
    return Alphabet(
        verdicts=words,
        codes={raw: code for code, raw in enumerate(words)},
        letters={_fold(word) for word in words} >= _LETTERS,
    )


def _usual(found: Collection[str], gold: Collection[str], verdicts: tuple[str, ...]) -> Alphabet:
    spellings = {raw: _GOLD[raw] for raw in gold if raw in _GOLD}
    spellings |= {raw: _fold(raw) for raw in (*verdicts, *found, *gold) if _fold(raw) in verdicts}
    folded = sorted(raw for raw in found if raw != spellings[raw])
    notes: tuple[str, ...] = ()
    if folded:
        pairs = ", ".join(f"{raw!r} as {spellings[raw]!r}" for raw in folded)
        notes = (f"verdicts were read without regard to case and synonyms: {pairs}",)
    codes = {raw: verdicts.index(word) for raw, word in spellings.items()}
    return Alphabet(verdicts=verdicts, codes=codes, notes=notes)


def _fold(raw: str) -> str:
    word = raw.strip().casefold()
    return _SYNONYMS.get(word, word)


def _sorted(words: set[str]) -> tuple[str, ...]:
    try:
        return tuple(sorted(words, key=lambda word: (float(word), word)))
    except ValueError:
        return tuple(sorted(words))


def _refuse_twins(words: Sequence[str], table: str) -> None:
    """Two verdicts that differ by case or blanks are one written twice, or must be declared."""
    first: dict[str, str] = {}
    for word in words:
        twin = first.setdefault(word.strip().casefold(), word)
        if twin != word:
            raise TableError(
                f"{table}: verdicts {twin!r} and {word!r} differ only by case or blanks: write "
                f"them alike, or declare both with verdicts={list(words)}"
            )
