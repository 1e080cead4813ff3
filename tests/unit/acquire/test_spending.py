"""Random fault plans: no run buys more than attempts and budget allow, and every purchase is named.

Live calls and batches, over several sessions each; the server writes down what it was asked and
what it was paid for, and that is held against the ledger.
"""

import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from judgelaw.acquire import acquire
from judgelaw.acquire.verify import verify
from judgelaw.errors import JudgelawError
from judgelaw.ledger import LEDGER_NAME, SqliteView
from servers.batches import BatchProvider, call_of
from servers.fake_time import FakeTime
from servers.provider import Provider, chat_body, messages_body, reply, reset
from servers.study import chat_judge, frozen_study

SENT = ("completed", "failed", "orphaned", "refused", "started")
PLANS = 500
SHORT = range(0, PLANS, 25)
TIMEOUT_S = 0.25

some_or_all = pytest.mark.parametrize(
    "seeds",
    [SHORT, pytest.param(range(PLANS), marks=[pytest.mark.slow, pytest.mark.timeout(3600)])],
    ids=["some", "all"],
)


def rows(frozen):
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        attempts = [(a.call_id, a.state, a.session, a.kind) for a in view.attempts()]
        return view.totals(), attempts, list(view.batches())


def acquired(frozen, **options):
    """Run a session; return what it said where it ended in an error of ours."""
    try:
        return acquire(frozen, **options)
    except JudgelawError as error:
        return error


@dataclass
class LivePlan:
    """How a server answers live calls, drawn from a seed."""

    seed: int
    paid: Counter = field(default_factory=Counter)
    asked: Counter = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.attempts = self.dice.choice((1, 2, 3))
        self.budget = self.dice.choice((None, None, 5, 11))
        self.faulty = self.dice.choice((0.0, 0.1, 0.4, 0.8))
        self.grave = self.dice.random() < 0.2

    async def act(self, seen, request):
        """Answer one request; what a completion was made for is paid."""
        self.asked[seen.sha256] += 1
        modes = ["500", "503", "429", "cut", "slow", "reset", "no JSON", "error beside", "odd"]
        modes += ["404", "401", "400"] if self.grave else []
        mode = self.dice.choice(modes) if self.dice.random() < self.faulty else "whole"
        if mode in ("whole", "cut", "slow", "error beside", "odd"):
            self.paid[seen.sha256] += 1
        match mode:
            case "500" | "503" | "404" | "401" | "400":
                return await reply(int(mode), {"error": {"message": mode}})(seen, request)
            case "429":
                return await reply(429, {}, {"Retry-After": "0.001"})(seen, request)
            case "reset":
                return await reset(seen, request)
            case "no JSON":
                return await reply(200, b"<html>")(seen, request)
            case "cut":
                return await self.cut(request)
            case "slow":
                await asyncio.sleep(2 * TIMEOUT_S)
        body = chat_body("A", number=seen.total)
        if mode == "error beside":
            body["error"] = {"message": "and yet"}
        text = json.dumps(body)
        text = text.replace("100", "NaN") if mode == "odd" else text
        return web.Response(text=text, content_type="application/json")

    async def cut(self, request):
        response = web.StreamResponse(headers={"Content-Length": "500"})
        await response.prepare(request)
        await response.write(b'{"choices": [')
        request.transport.close()
        return response

    def study(self, folder, provider):
        fields = {"attempts": self.attempts, "backoff_s": 0.001, "max_backoff_s": 0.002}
        return frozen_study(
            folder,
            [chat_judge(provider.base_url)],
            items=2,
            transport={**fields, "timeout_s": TIMEOUT_S, "concurrency": 4},
            **({"budget": {"calls": self.budget}} if self.budget else {}),
        )


@some_or_all
def test_live_calls_are_bought_as_often_as_allowed(tmp_path, seeds):
    for seed in seeds:
        plan = LivePlan(seed)
        with Provider(plan.act) as provider:
            frozen = plan.study(tmp_path / str(seed), provider)
            for session in range(1, plan.dice.randint(1, 3) + 1):
                before = Counter(plan.asked)
                acquired(frozen)
                since = plan.asked - before
                assert max(since.values(), default=0) <= plan.attempts, seed
                held_against_live(plan, frozen, seed, session)


def held_against_live(plan, frozen, seed, session):
    totals, attempts, _ = rows(frozen)
    assert totals.in_flight == 0, seed
    if plan.budget is not None:
        assert plan.paid.total() <= plan.budget, (seed, session)
    names = {c.call_id: c.request_sha256 for c in frozen.iter_calls()}
    sent = Counter(names[call] for call, state, *_ in attempts if state in SENT)
    assert sent == plan.asked, seed
    at_risk = totals.completed + totals.at_risk
    assert plan.paid.total() <= at_risk, "what was paid is completed, or counted"
    assert verify(frozen.path).ok or totals.open, seed


@dataclass
class BatchPlan:
    """How a server treats batches, drawn from a seed."""

    seed: int

    def __post_init__(self) -> None:
        dice = self.dice = random.Random(self.seed)
        self.wire = dice.choice(("openai-chat", "anthropic"))
        self.attempts = dice.choice((1, 2, 3))
        self.budget = dice.choice((None, None, 6, 11))
        self.batch = {"chunk": dice.choice((2, 5, 30)), "at_once": dice.choice((1, 2))}
        self.faulty = dice.choice((0.0, 0.1, 0.3))
        self.wrong = dice.choice((0.0, 0.2, 0.5))
        self.spoils = dice.choice(("never", "never", "once", "often", "always"))
        self.spoiled = 0
        self.drawn: dict[tuple[str, int], object] = {}
        self.healed = False

    def outcome(self, call, number):
        """The n-th time that a call is asked always ends in the same way."""
        call = call.partition("-")[0]
        kinds = ("expired", "cancelled", 429, 500, None, "odd")
        if (call, number) not in self.drawn:
            self.drawn[call, number] = (
                self.dice.choice(kinds) if self.dice.random() < self.wrong else "A"
            )
        found = self.drawn[call, number]
        if found != "odd":
            return found
        body = messages_body("A") if self.wire == "anthropic" else chat_body("A")
        return {**body, "usage": {"prompt_tokens": -1, "input_tokens": [1], "x": {"y": []}}}

    def paid_for(self, call, number):
        found = self.outcome(call, number)
        return found == "A" or isinstance(found, dict)

    def refuse(self, method, _path):
        """Spoil a request: before it does anything, or after."""
        if self.healed or self.dice.random() >= self.faulty:
            return None
        faults = [500, 503, 429, "drop", "drop after"]
        faults += [404, 410] if method == "GET" else []
        return self.dice.choice(faults)

    def spoil(self, text):
        """Change a file of results: cut, doubled, contradicting, or with a number nobody reads."""
        chances = {"never": 0.0, "once": 0.0 if self.spoiled else 1.0, "often": 0.5, "always": 1.0}
        if self.healed or not text or self.dice.random() >= chances[self.spoils]:
            return text
        self.spoiled += 1
        lines = text.splitlines(keepends=True)
        changed = {
            "line": "".join(lines[: self.dice.randint(0, len(lines))]),
            "cut": text[: self.dice.randint(0, len(text))],
            "twice": text + lines[0],
            "contradicts": text + lines[0].replace('"A"', '"B"'),
            "digits": text.replace('tokens": 2', 'tokens": ' + "9" * 5_000),
        }
        return self.dice.choice(list(changed.values()))

    def change(self, shown):
        """Change what is shown of a batch now and then."""
        if self.healed or self.dice.random() >= self.faulty / 2:
            return shown
        key = "processing_status" if self.wire == "anthropic" else "status"
        return {**shown, key: self.dice.choice(("paused", None, 7))}

    def study(self, folder, at):
        base_url = at.root_url if self.wire == "anthropic" else at.base_url
        judge = chat_judge(base_url, provider=self.wire, batch={**self.batch, "poll_s": 30})
        return frozen_study(
            folder,
            [judge],
            items=2,
            transport={"attempts": self.attempts},
            **({"budget": {"calls": self.budget}} if self.budget else {}),
        )


@some_or_all
def test_batches_are_bought_as_often_as_allowed(tmp_path, seeds):
    for seed in seeds:
        plan = BatchPlan(seed)
        with BatchProvider(
            outcome=plan.outcome,
            refuse=plan.refuse,
            spoil=plan.spoil,
            change=plan.change,
            counts=plan.dice.random() < 0.7,
            steps=("validating", "completed"),
        ) as at:
            frozen = plan.study(tmp_path / str(seed), at)
            sessions = plan.dice.randint(1, 3)
            for session in range(1, sessions + 1):
                plan.healed = session == sessions > 1
                before = Counter(at.asked)
                acquired(frozen, effects=FakeTime().effects)
                since = Counter(at.asked) - before
                assert max(since.values(), default=0) <= plan.attempts, seed
                held_against_batches(plan, at, frozen, seed)
            cancelled = acquired(frozen, effects=FakeTime().effects, cancel_batches=True)
            assert cancelled is not None
            held_against_batches(plan, at, frozen, seed)


def held_against_batches(plan, at, frozen, seed):
    totals, attempts, batches = rows(frozen)
    entries = Counter()
    paid = 0
    for made in at.batches.values():
        for entry in made.entries:
            entries[call_of(entry)] += 1
            paid += plan.paid_for(call_of(entry), entries[call_of(entry)])
    assert entries == at.asked, seed
    if plan.budget is not None:
        assert paid <= plan.budget, (seed, paid, plan.budget)
    sent = Counter(call for call, state, *_ in attempts if state in SENT)
    lost = Counter(call for call, state, *_ in attempts if state == "orphaned")
    waits = Counter(call for call, state, *_ in attempts if state == "started")
    for call, count in entries.items():
        assert count <= sent[call], (seed, "a purchase that the ledger does not know")
    for call, count in sent.items():
        assert count - entries[call] <= lost[call] + waits[call], (seed, "named, and never sent")
    assert paid <= totals.completed + totals.at_risk + totals.in_flight, seed
    open_states = ("submitting", "submitted")
    assert bool(waits) <= any(b.state in open_states for b in batches), seed
