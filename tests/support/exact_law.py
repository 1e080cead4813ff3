"""The exact law of an embedded judge's verdict, where a grammar lists the words it may say.

llama.cpp draws a token from the whole vocabulary first and, where the grammar refuses it, draws
again among the tokens that the grammar allows. As long as nothing trims the vocabulary, both give
the law `q(v) = p(v) / sum of p over allowed tokens`: with `s` that sum, a verdict has
`p(v) + (1 - s) q(v) = q(v)`. The probabilities in a reply are those of its last draw, so a reply
whose first draw was allowed lists `p` and not `q`; it shows by a sum below one.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from judgelaw.errors import InputError, RunError
from judgelaw.judges.embedded import EmbeddedServer, primer_request

_CHAT = "/v1/chat/completions"
_ROUNDING = 1e-4
"""Probabilities are single precision, normalised over 49,152 tokens."""
_REPLIES = 64
_WORD = r'"([^"\\]+)"'
_LISTING = re.compile(rf"\s*root\s*::=\s*{_WORD}(?:\s*\|\s*{_WORD})*\s*")
_NEUTRAL: Mapping[str, tuple[float | None, ...]] = {
    "top_p": (None, 1.0),
    "top_k": (None, 0),
    "min_p": (None, 0.0),
}


def exact_law(server: EmbeddedServer, body: bytes) -> dict[str, float]:
    """Return the probability of every word of the grammar as the answer to an openai-chat request.

    The prompt is primed first, so the law is that of calls that an `EmbeddedJudge` makes.

    Args:
        server: a served judge with a grammar of the form `root ::= "A" | "B" | "TIE"`.
        body: a request of that judge; its seed does not matter.

    Raises:
        InputError: the grammar is no list of words, or the request trims the law.
        RunError: none of 64 replies listed the constrained law.
    """
    words = words_of(server.spec.grammar)
    _refuse_trimming(body)
    server.post(_CHAT, primer_request(body))
    for seed in range(1, _REPLIES + 1):
        law = read_law(server.post(_CHAT, law_request(body, words, seed)), words)
        if law is not None:
            return law
    raise RunError(
        f"none of {_REPLIES} replies listed probabilities of {', '.join(words)} that sum to 1: "
        "the law of this prompt cannot be read from the server"
    )


def words_of(grammar: str | None) -> tuple[str, ...]:
    """Return the words that a grammar lists, if a list of words is all it is.

    >>> words_of('root ::= "A" | "B" | "TIE"')
    ('A', 'B', 'TIE')
    """
    if grammar is None or _LISTING.fullmatch(grammar) is None:
        raise InputError(
            f"grammar {grammar!r}: an exact law needs a plain list of words, such as "
            'root ::= "A" | "B" | "TIE"'
        )
    words = tuple(re.findall(_WORD, grammar))
    if clash := _same_beginning(words):
        raise InputError(
            f"grammar {grammar!r}: {clash[0]!r} and {clash[1]!r} begin alike, so the first token "
            "does not decide between them; choose words with different first letters"
        )
    return words


def law_request(body: bytes, words: tuple[str, ...], seed: int) -> bytes:
    """Return `body` with the fields that ask for the probabilities behind the first token."""
    fields = json.loads(body)
    fields.update(
        seed=seed,
        logprobs=True,
        # Every beginning of a word may be a token of its own: T, TI and TIE.
        top_logprobs=sum(len(word) for word in words),
        post_sampling_probs=True,
    )
    return json.dumps(fields).encode()


def read_law(reply: Any, words: tuple[str, ...]) -> dict[str, float] | None:
    """Return the law that a reply lists, or None where it lists the unconstrained one.

    A word's probability is that of all tokens that begin it.
    """
    law = dict.fromkeys(words, 0.0)
    for listed in reply["choices"][0]["logprobs"]["content"][0]["top_probs"]:
        for word in words:
            if listed["token"] and word.startswith(listed["token"]):
                law[word] += listed["prob"]
    total = sum(law.values())
    if abs(total - 1) > _ROUNDING:
        return None
    return {word: p / total for word, p in law.items()}


def _same_beginning(words: tuple[str, ...]) -> tuple[str, str] | None:
    first: dict[str, str] = {}
    for word in words:
        if word[0] in first:
            return first[word[0]], word
        first[word[0]] = word
    return None


def _refuse_trimming(body: bytes) -> None:
    fields = json.loads(body)
    for name, neutral in _NEUTRAL.items():
        if fields.get(name) not in neutral:
            raise InputError(
                f"{name} = {fields[name]} trims the law before the grammar applies, so no reply "
                "lists the law of the verdicts: leave it out"
            )
