"""From the token probabilities of a reply to a vector over verdicts, through the judge's parser.

One token decides: the first at which tokens that are read as verdicts hold half of the mass or more
(for `first-line`, the first that is not blank). What came before it, reasoning say, is part of the
condition: repeats average over it. At that token every listed token is put in its place and read:

- it is read as a verdict: its probability goes there;
- it only begins one label, and a grammar leaves nothing else to follow: there too;
- it begins a label and anything may follow, or it begins several: its probability is missing;
- `first-line` can read nothing from it whatever follows: `invalid`; other parsers: missing.

What is not listed is missing as well. Nothing is divided by its sum, but for one law that is known:
under a grammar that lists words llama.cpp draws from all tokens, and draws again among those that
the grammar allows where it refuses the first. Some replies list the one law, some the other; both
give a word v the probability p(v) / sum of p over allowed tokens, and that is what is taken.
Allowed tokens that are not listed have the smallest listed probability at most: it is missing.
Of any other grammar it is not known here what it allows: a reply that lists tokens which begin no
label beside those that do was listed before the grammar, and has no vector.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, isfinite, log
from typing import Any, Final, NamedTuple, TypeGuard

from judgelaw.tensor import INVALID
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.parsers import label_words, text_to_read
from judgelaw.wire.reply import Completion, Verdict
from judgelaw.wire.reply_json import FieldReader, shown

Read = Callable[[Sequence[tuple[Completion, str]]], Sequence[Verdict]]
"""Reads completions shown in these orders, as `Reader.read_all` does."""

_HALF: Final = 0.5
_LONGEST: Final = 6
"""Tokens that a label may take, and that are cut out with it."""
_ROUNDING: Final = 1e-4
_NOTHING: Final = 1e-9


class Token(NamedTuple):
    """One token of a reply: its text, its probability, and the most probable in its place."""

    text: str
    p: float
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True, kw_only=True)
class Vector:
    """The probabilities of verdicts behind one reply.

    Attributes:
        verdicts: by verdict; empty where no token decides.
        place: which token decides, counted from 0; None where none does.
        token: its text.
        begun: listed tokens that only begin a label, and count as missing.
        completed: listed tokens that begin one label, and count for it under a grammar.
        why: why there is no vector, None where there is one.
    """

    verdicts: Mapping[str, float] = field(default_factory=dict)
    place: int | None = None
    token: str = ""
    begun: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()
    why: str | None = None

    @property
    def missing(self) -> float:
        """What no verdict got."""
        return max(0.0, 1 - sum(self.verdicts.values()))


def pack(tokens: Sequence[tuple[str, float, Sequence[tuple[str, float]]]]) -> str | None:
    """Write tokens with log probabilities as the ledger keeps them; None where there are none."""
    kept = [[text, lp, [list(pair) for pair in top]] for text, lp, top in tokens]
    if not kept:
        return None
    return json.dumps(kept, separators=(",", ":"), allow_nan=False)


def unpack(tokens: str) -> list[Token]:
    """Read tokens as the ledger keeps them, log probabilities as probabilities."""
    return [
        Token(text, _p(lp), tuple((other, _p(x)) for other, x in top))
        for text, lp, top in json.loads(tokens)
    ]


def _p(logprob: float) -> float:
    """Return a probability; infinity for what is none, as earlier versions stored it."""
    return exp(logprob) if logprob <= 1 else inf


def vector_of(
    tokens: str | None, judge: JudgeSpec, completion: Completion, order: str, read: Read
) -> Vector:
    """Return the vector over verdicts behind a reply; `read` reads what might have been said."""
    if tokens is None:
        return Vector(why="the reply came without token probabilities")
    said = unpack(tokens)
    text = "".join(token.text for token in said)
    if (completion.text or "").strip() not in text:
        return Vector(why="its tokens do not spell the reply")
    _, refused = text_to_read(judge, completion)
    if refused and refused != "empty":
        return Vector(why=f"the reply counts as {INVALID} whatever its tokens are ({refused})")
    for place in range(len(said)):
        found = _at(place, said, _Reply(judge, completion, order, read))
        if found is not None:
            return found
    return Vector(why="no token decides the verdict")


class _Reply(NamedTuple):
    judge: JudgeSpec
    completion: Completion
    order: str
    read: Read


def _at(place: int, said: Sequence[Token], reply: _Reply) -> Vector | None:
    """Return the vector at one token, None where it decides nothing."""
    first_line = reply.judge.parser == "first-line"
    if first_line and not said[place].text.strip():
        return None
    listed = _listed(said[place])
    if isinstance(listed, str):
        return Vector(place=place, token=said[place].text, why=listed)
    before = "".join(token.text for token in said[:place])
    options, lacking = at_temperature(listed, reply.judge)
    if not before and (words := grammar_words(reply.judge.grammar)):
        options, lacking = allowed_by(listed, words)
    for after in _endings(place, said, whole=not first_line):
        if after and not _takes_labels(before, after, reply):
            continue
        found = _vector(options, before, after, reply)
        if _before_grammar(options, found, reply.judge):
            return Vector(place=place, token=said[place].text, why=_UNRULED)
        if first_line or sum(found.verdicts.values()) >= _HALF * (1 - lacking):
            return _own(replace(found, place=place, token=said[place].text), reply)
    return None


_UNRULED: Final = (
    "its probabilities were listed before the grammar: tokens that begin no label are among them"
)


def _before_grammar(options: Mapping[str, float], found: Vector, judge: JudgeSpec) -> bool:
    """Whether verdicts are decided here, and tokens are listed that a grammar will not let pass."""
    if judge.grammar is None or grammar_words(judge.grammar) or not {*found.verdicts} - {INVALID}:
        return False
    words = label_words(judge)
    return any(p > _ROUNDING and not _begins(text, words) for text, p in options.items())


def _own(found: Vector, reply: _Reply) -> Vector:
    """Return the vector, unless it leaves no room for the verdict that was sampled."""
    (verdict,) = reply.read([(reply.completion, reply.order)])
    room = found.verdicts.get(verdict.verdict, 0.0) + found.missing
    if room < _NOTHING:
        why = f"it gives the verdict that was sampled, {verdict.verdict}, no probability"
        return replace(found, verdicts={}, why=why)
    return found


def _listed(token: Token) -> dict[str, float] | str:
    """Return probability by text, the sampled token among them; or why it cannot be right."""
    listed: dict[str, float] = {}
    for text, p in token.top:
        listed[text] = listed.get(text, 0.0) + p
    listed.setdefault(token.text, token.p)
    if not all(isfinite(p) and 0 <= p <= 1 + _ROUNDING for p in listed.values()):
        return "it lists what are no log probabilities"
    if not any(listed.values()):
        return "it gives no token that it lists a probability"
    if (total := sum(listed.values())) > 1 + _ROUNDING:
        return f"the probabilities that it lists sum to {total:.6g}, more than 1"
    return listed


def at_temperature(listed: Mapping[str, float], judge: JudgeSpec) -> tuple[dict[str, float], float]:
    """Return the law that is sampled from, and the mass that it lacks.

    Providers return the probabilities before the temperature T, which makes them p^(1/T). Tokens
    that are not listed have at most the smallest probability that is: for T < 1 they keep at most
    m p_min^(1/T - 1) of their mass m. With a grammar the embedded judge lists the law itself.
    """
    T = judge.decoding.temperature
    lacking = max(0.0, 1 - sum(listed.values()))
    if T is None or T == 1 or judge.grammar is not None:
        return dict(listed), lacking
    if T == 0:
        most = max(listed.values())
        best = [text for text, p in listed.items() if p == most]
        return dict.fromkeys(best, 1 / len(best)), 0.0
    low = min(p for p in listed.values() if p > 0)
    powers = {text: exp(log(p) / T) if p > 0 else 0.0 for text, p in listed.items()}
    rest = lacking * low ** (1 / T - 1)
    total = sum(powers.values()) + rest
    return {text: p / total for text, p in powers.items()}, rest / total


_WORD = r'"([^"\\]+)"'
_LISTING = re.compile(rf"\s*root\s*::=\s*{_WORD}(?:\s*\|\s*{_WORD})*\s*")


def grammar_words(grammar: str | None) -> tuple[str, ...]:
    """Return the words that a grammar lists, if a list of words is all it is.

    >>> grammar_words('root ::= "A" | "B" | "TIE"')
    ('A', 'B', 'TIE')
    """
    if grammar is None or _LISTING.fullmatch(grammar) is None:
        return ()
    return tuple(re.findall(_WORD, grammar))


def allowed_by(listed: Mapping[str, float], words: Sequence[str]) -> tuple[dict[str, float], float]:
    """Return the law of the tokens that a list of words allows first, and the mass it lacks.

    >>> allowed_by({"A": 0.3, "The": 0.4, "B": 0.1}, ("A", "B"))
    ({'A': 0.75, 'B': 0.25}, 0.0)
    """
    starts = {word[:end] for word in words for end in range(1, len(word) + 1)}
    allowed = {text: p for text, p in listed.items() if text in starts}
    if len(allowed) == len(listed) or not allowed:
        return allowed, max(0.0, 1 - sum(allowed.values()))
    unlisted = len(starts - set(allowed)) * min(listed.values())
    total = sum(allowed.values()) + unlisted
    return {text: p / total for text, p in allowed.items()}, unlisted / total


def _endings(place: int, said: Sequence[Token], *, whole: bool) -> Iterator[str]:
    """Yield what may follow the deciding token: nothing, then what followed the label."""
    yield ""
    if whole:
        for end in range(place + 1, min(place + 1 + _LONGEST, len(said) + 1)):
            yield "".join(token.text for token in said[end:])


def _takes_labels(before: str, after: str, reply: _Reply) -> bool:
    """Whether different labels between these texts are read as different verdicts."""
    words = label_words(reply.judge)
    texts = [replace(reply.completion, text=before + word + after) for word in words]
    read = reply.read([(text, reply.order) for text in texts])
    return len({verdict.verdict for verdict in read} - {INVALID}) > 1


def _vector(options: Mapping[str, float], before: str, after: str, reply: _Reply) -> Vector:
    """Read every listed token in the place of the one that was sampled."""
    judge = reply.judge
    texts = [replace(reply.completion, text=before + option + after) for option in options]
    read = reply.read([(text, reply.order) for text in texts])
    words = grammar_words(judge.grammar) or label_words(judge)
    verdicts: dict[str, float] = {}
    begun, completed = [], []
    for (option, p), verdict in zip(options.items(), read, strict=True):
        begins = _begins(option, words)
        if verdict.verdict != INVALID and not [w for w in begins if w != option.strip()]:
            verdicts[verdict.verdict] = verdicts.get(verdict.verdict, 0.0) + p
        elif len(begins) == 1 and judge.grammar is not None:
            blank = option[: len(option) - len(option.lstrip())]
            whole = replace(reply.completion, text=before + blank + begins[0] + after)
            (meant,) = reply.read([(whole, reply.order)])
            if meant.verdict == INVALID and not grammar_words(judge.grammar):
                begun.append(option)  # a label in a place where the grammar has none
                continue
            verdicts[meant.verdict] = verdicts.get(meant.verdict, 0.0) + p
            completed.append(option)
        elif begins:
            begun.append(option)
        elif judge.parser == "first-line" and option.strip():
            verdicts[INVALID] = verdicts.get(INVALID, 0.0) + p
    return Vector(verdicts=verdicts, begun=tuple(begun), completed=tuple(completed))


def _begins(option: str, words: Sequence[str]) -> list[str]:
    """Return the labels that a token begins or is."""
    start = option.strip()
    return [word for word in words if start and word.startswith(start)]


_FIELD: Final = "logprobs"
_LEAST_LOG: Final = -9999.0
"""What stands for the logarithm of no probability, as providers write it."""


def chat_tokens(content: Any, read: FieldReader) -> str | None:
    """Read the tokens of a chat completion: `[{token, logprob, top_logprobs}]`.

    llama.cpp lists `prob` and `top_probs` where it was asked for the law after all samplers. Where
    one number of all is none, the law is not known, and all tokens are missing.
    """
    if content is None:
        return None
    if not isinstance(content, list):
        read.cannot(_FIELD, f"{shown(content)}, where a list of tokens belongs")
        return None
    found = []
    for each in content:
        one = _pair(each, read)
        top = [] if one is None else _tops(each, read)
        if one is None or top is None:
            return None
        found.append((*one, top))
    return pack(found)


def _tops(token: dict[str, Any], read: FieldReader) -> list[tuple[str, float]] | None:
    """Return what is listed in the place of a token; None where some of it cannot be read."""
    top = token.get("top_logprobs", token.get("top_probs"))
    if top is None:
        return []
    if not isinstance(top, list):
        read.cannot(_FIELD, f"{shown(top)}, where a list of tokens belongs")
        return None
    pairs = [_pair(other, read) for other in top]
    listed = [pair for pair in pairs if pair is not None]
    return listed if len(listed) == len(pairs) else None


def _pair(value: Any, read: FieldReader) -> tuple[str, float] | None:
    if not isinstance(value, dict) or not isinstance(value.get("token"), str):
        read.cannot(_FIELD, "one without the text of its token")
        return None
    logprob, prob = value.get("logprob"), value.get("prob")
    if logprob is not None or prob is None:
        found = _log(logprob, read)
        return None if found is None else (value["token"], found)
    if _is_number(prob) and 0 <= prob <= 1 + _ROUNDING:
        return value["token"], log(prob) if prob > 0 else _LEAST_LOG
    read.cannot(_FIELD, f"{shown(prob)}, where a probability belongs")
    return None


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _log(value: Any, read: FieldReader) -> float | None:
    """Return a log probability; None for what is none."""
    if _is_number(value) and value <= _ROUNDING:  # which no NaN is
        return _LEAST_LOG if value <= _LEAST_LOG else float(value)
    read.cannot(_FIELD, f"{shown(value)}, where the logarithm of a probability belongs")
    return None


def completion_tokens(logprobs: Any, read: FieldReader) -> str | None:
    """Read the tokens of a text completion: `{tokens, token_logprobs, top_logprobs}`."""
    if logprobs is None:
        return None
    held = logprobs if isinstance(logprobs, dict) else {}
    parts = [held.get(key) for key in ("tokens", "token_logprobs", "top_logprobs")]
    if not all(isinstance(part, list) and len(part) == len(parts[0] or ()) for part in parts):
        read.cannot(_FIELD, "no lists of tokens that are as long as each other")
        return None
    found = []
    for text, value, top in zip(*parts, strict=True):
        lp, listed = _log(value, read), _mapped(top, read)
        if not isinstance(text, str) or lp is None or listed is None:
            read.cannot(_FIELD, "one without the text of its token")
            return None
        found.append((text, lp, listed))
    return pack(found)


def _mapped(top: Any, read: FieldReader) -> list[tuple[str, float]] | None:
    if top is None:
        return []
    if not isinstance(top, dict):
        read.cannot(_FIELD, f"{shown(top)}, where an object belongs")
        return None
    logs = {text: _log(value, read) for text, value in top.items()}
    listed = [(text, lp) for text, lp in logs.items() if lp is not None]
    return listed if len(listed) == len(logs) else None


def local_tokens(logprobs: Any, text: str, read: FieldReader) -> str | None:
    """Read what a function or a command returns: `{label: log probability}`, or chat tokens.

    A mapping, alone or the only one of a list, is about the reply as a whole.
    """
    if isinstance(logprobs, dict) and "content" in logprobs:
        return chat_tokens(logprobs["content"], read)
    if isinstance(logprobs, list):
        if len(logprobs) != 1 or not isinstance(logprobs[0], dict) or "token" in logprobs[0]:
            return chat_tokens(logprobs, read)
        logprobs = logprobs[0]
    top = _mapped(logprobs, read)
    if not top:
        return None
    own = dict(top).get(text.strip(), _LEAST_LOG)
    return pack([(text, own, top)])
