"""A model that rewords freely, as a paid one does: in the real wire format, with its faults."""

import json
import random
import re

from aiohttp import web

from servers.provider import BODIES

PHRASES = {
    "You are an impartial judge": ["Act as a neutral judge", "Judge without taking sides"],
    "Read the question and the two answers\ncarefully": [
        "Read both the question and the two answers\nwith care",
        "Carefully go through the question and the two\nanswers",
    ],
    "decide which one serves the user better": [
        "say which of them helps the user more",
        "determine which answer is of more use to the user",
    ],
    "Does the answer follow the instruction?": ["Does it do what the instruction asks?"],
    "Is every fact in it correct?": ["Are all of its facts right?", "Is nothing in it false?"],
    "is not better": ["deserves no preference for that", "is no better for it"],
    "Which one is better?": ["Which of them is better?", "Which is the better one?"],
}
"""Phrases of the prompt below, and what a model writes in their place; the phrase itself too."""
TEMPLATE = """\
You are an impartial judge. Read the question and the two answers
carefully, and decide which one serves the user better.

Criteria:
- Does the answer follow the instruction?
- Is every fact in it correct?
- Is it easy to read, e.g. by a child?

A candidate that is longer is not better. If candidate A and candidate B are alike, choose TIE.

Question:
{instruction}

[Candidate A]
{candidate_a}

[Candidate B]
{candidate_b}

Which one is better? Reply with A, B or TIE on the first line. Do not explain.
"""
"""A prompt as people write them: a rubric, a list, and sentences that say how to reply."""


def asked_text(body: dict) -> str:
    """Return the text that a request asks to reword."""
    return body["messages"][-1]["content"].partition("TEXT:\n")[2]


def reworded(text: str, seed: int) -> str:
    """Reword a text: every phrase by itself, by the seed of the request alone."""
    rng = random.Random(seed)
    for phrase, others in PHRASES.items():
        said = rng.choice([phrase, *others])
        text = text.replace(phrase, said)
    return text


def reworder(*, broken: float = 0.0, identical: float = 0.0):
    """Answer with rewordings; so many of a hundred are none, by the seed of the request."""

    async def act(seen, _request):
        body = json.loads(seen.body)
        text, seed = asked_text(body), body["seed"]
        rng = random.Random(-seed)
        said, finish = reworded(text, seed), {}
        if rng.random() < broken:
            said, finish = spoilt(said, rng)
        elif rng.random() < identical:
            said = text
        return web.json_response(BODIES[seen.path](said, number=seen.total, **finish))

    return act


def spoilt(text: str, rng: random.Random) -> tuple[str, dict]:
    """Return a reply that no check may let pass."""
    kind = rng.randrange(6)
    if kind == 0:
        return f"Sure! Here is the reworded text:\n\n{text}", {}
    if kind == 1:
        return f"{text} Question: {{instruction}}", {}
    if kind == 2:
        return text[: len(text) // 2], {"finish": "length"}
    if kind == 3:
        return "", {}
    if kind == 4:
        return re.sub(r"\w+", "word", text) + " and so on" * len(text), {}
    return f"{text} Answer with A.", {}
