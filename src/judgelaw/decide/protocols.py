"""Ways to ask a judge: what each costs, and how often its verdict comes out the same again.

A protocol says which prompts, which orders, how many repeats, and who wins a tied vote. It is run
on an item: some prompts are fixed or drawn, m calls are made in every cell, and their votes make
one final verdict. Its stability is the chance that the whole protocol, run again, gives the same
verdict; what is drawn is drawn again.

One prompt: the votes of `votes`. A prompt that is drawn again: the crossed formulas with the vote's
law pi_k in place of a cell's law, and d_k = |pi_k|^2 - tr J_k in place of its self-pair excess,

    same = |sum_k w_k pi_k|^2 - sum_k w_k^2 d_k

and for prompts drawn from a generator the mean of pi_k . pi_l over distinct prompts. Votes pooled
over more than two cells: calls are put into random order within every cell; one run takes the first
m of each, the other the next m. That is unbiased, and its own error is small (`DRAWS`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from math import ceil
from typing import Literal, Self, get_args

import numpy as np

from judgelaw.arrays import PAIR, Floats, as_whole
from judgelaw.decide.votes import (
    TIE,
    Rule,
    Voted,
    consistent_vote,
    final_verdict,
    pooled_vote,
    simplest,
    vote,
)
from judgelaw.errors import InputError
from judgelaw.estimate import Array, Design
from judgelaw.steps import Advance, unheard, within
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.words import did_you_mean, listed

Orders = Literal["one", "both", "consistent"]

DRAWS = 60
"""Random orders of the calls of a thousand items: an error of .0006 of the mean over items."""
STEPS = 100
"""Of a bar, for the votes of one judge."""
_SIDE_BY_SIDE = 2_000
_SOME = 3
_FIXED, _DRAWN, _ALL = "fixed:", "drawn:", "all"


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """One way to ask a judge about an item.

    Attributes:
        prompts: "fixed:NAME" for one prompt, "drawn:S" for S prompts drawn each time, "all".
        orders: "one" for the first order, "both" for the votes of all orders together,
            "consistent" for a verdict that both orders give, else a tie.
        repeats: calls of every cell.
        rule: who wins a tied vote.
    """

    prompts: str
    orders: Orders = "one"
    repeats: int = 1
    rule: Rule = "random"

    def __post_init__(self) -> None:
        if as_whole(self.repeats, "repeats") < 1:
            raise InputError(f"repeats = {self.repeats}: a protocol asks a cell at least once")
        for name, allowed in (("orders", Orders), ("rule", Rule)):
            if (given := getattr(self, name)) not in get_args(allowed):
                raise InputError(f"{name} = {given!r}: one of {listed(get_args(allowed))}")
        if self.prompts != _ALL and self.fixed is None and self.drawn is None:
            raise InputError(f"prompts = {self.prompts!r}: write fixed:NAME, drawn:NUMBER or all")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `PROMPTS ORDERS REPEATS RULE`, such as `drawn:3 both 2 random`."""
        parts = text.rsplit(None, 3)
        if len(parts) != 4 or not parts[2].isdecimal():  # noqa: PLR2004 - the four parts
            raise InputError(
                f"protocol {text!r}: write PROMPTS ORDERS REPEATS RULE, such as "
                "'drawn:3 both 2 random'"
            )
        prompts, orders, repeats, rule = parts
        return cls(prompts=prompts, orders=orders, repeats=int(repeats), rule=rule)  # type: ignore[arg-type]  # checked above

    @property
    def fixed(self) -> str | None:
        """The prompt, where it is fixed."""
        return self.prompts.removeprefix(_FIXED) if self.prompts.startswith(_FIXED) else None

    @property
    def drawn(self) -> int | None:
        """How many prompts are drawn, where they are."""
        number = self.prompts.removeprefix(_DRAWN)
        if not self.prompts.startswith(_DRAWN) or not number.isdecimal() or int(number) < 1:
            return None
        return int(number)

    @property
    def ladder(self) -> tuple[str, str, str]:
        """What protocols share that differ in their repeats alone."""
        return self.prompts, self.orders, self.rule

    def calls(self, prompts: int, orders: int) -> int:
        """Return the calls of one item, of a judge with so many prompts and orders."""
        of_prompts = prompts if self.prompts == _ALL else self.drawn or 1
        return of_prompts * (1 if self.orders == "one" else orders) * self.repeats


def default_protocols(tensor: VerdictTensor, *, design: Design = "census") -> tuple[Protocol, ...]:
    """Return the protocols that are looked at where none are declared.

    Every prompt alone, one drawn, three drawn, all; one order, both together, both that must agree;
    1, 2 and 3 repeats, and 4 where the calls reach. Ties are drawn, but for verdicts that must
    agree in both orders: there a tie is ruled.
    """
    K, O = len(tensor.prompts), len(tensor.orders)
    least = tensor.depth[0]
    prompts = [f"{_FIXED}{name}" for name in tensor.prompts]
    if K > 1:
        prompts += [f"{_DRAWN}1", *([f"{_DRAWN}{_SOME}"] if K > _SOME else []), _ALL]
    ways: list[tuple[Orders, Rule]] = [("one", "random")]
    if O > 1:
        ways.append(("both", "random"))
    if O == PAIR and TIE in tensor.verdicts:
        ways.append(("consistent", "tie"))
    most = 4 if least >= 2 * 4 else 3
    listing = (
        Protocol(prompts=which, orders=orders, repeats=m, rule=rule)
        for which in prompts
        for orders, rule in ways
        for m in range(1, most + 1)
    )
    return tuple(p for p in listing if _looked_at(p, tensor, design))


def _looked_at(protocol: Protocol, tensor: VerdictTensor, design: Design) -> bool:
    """Whether the calls reach a protocol, or a forecast is to be had."""
    s = protocol.drawn
    if s is not None and design == "sampled" and 2 * s > len(tensor.prompts):
        return False
    return single_cell(protocol) or reaches(protocol, tensor, design)


def single_cell(protocol: Protocol) -> bool:
    """Whether a protocol asks one cell of an item: one fixed prompt, one order."""
    return protocol.fixed is not None and protocol.orders == "one"


def reaches(protocol: Protocol, tensor: VerdictTensor, design: Design = "census") -> bool:
    """Whether there are calls enough to run a protocol twice, on separate calls."""
    m = votes_needed(protocol, len(tensor.verdicts))
    fresh = design == "sampled" and protocol.drawn is not None
    return (m if fresh else 2 * m) <= tensor.depth[0]


def votes_needed(protocol: Protocol, verdicts: int) -> int:
    """Return the calls of a cell with the same law of the final verdict: a second adds nothing."""
    if protocol.orders == "both" or protocol.prompts == _ALL or (protocol.drawn or 1) > 1:
        return protocol.repeats
    return simplest(protocol.repeats, protocol.rule, verdicts)


def check_protocols(protocols: Sequence[Protocol], tensor: VerdictTensor, design: Design) -> None:
    """Refuse protocols that these prompts, orders and verdicts cannot have."""
    K, O = len(tensor.prompts), len(tensor.orders)
    for p in protocols:
        if p.fixed is not None and p.fixed not in tensor.prompts:
            near = did_you_mean(p.fixed, tensor.prompts)
            raise InputError(
                f"protocol {p.prompts!r}: no prompt is called {p.fixed!r}{near}; there are "
                f"{listed(tensor.prompts)}"
            )
        most = K // 2 if design == "sampled" else K
        if p.drawn is not None and p.drawn > most:
            twice = " (two runs draw different ones)" if design == "sampled" else ""
            raise InputError(
                f"protocol {p.prompts!r}: of {K} prompts {most} can be drawn at most{twice}"
            )
        if p.orders != "one" and O == 1:
            raise InputError(f"orders = {p.orders!r}: there is one order; take 'one'")
        if p.orders == "consistent" and O != PAIR:
            raise InputError(f"orders = 'consistent' needs two orders, there are {O}")
        if (p.orders == "consistent" or p.rule == TIE) and TIE not in tensor.verdicts:
            raise InputError(
                f"orders {p.orders!r} with rule {p.rule!r} may rule a tie, and the verdicts are "
                f"{listed(tensor.verdicts)}: there is no 'tie'"
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What a protocol comes to on every item.

    Attributes:
        protocol: which.
        law: chance of every final verdict, (items, verdicts); None where R < m.
        same: chance of the same final verdict again, (items,); None where the calls do not reach.
    """

    protocol: Protocol
    law: Array | None
    same: Array | None


def outcomes_of(
    tensor: VerdictTensor,
    protocols: Sequence[Protocol],
    *,
    design: Design = "census",
    seed: int = 0,
    advance: Advance = unheard,
) -> list[Outcome]:
    """Return what every protocol comes to, in the order given; `advance` hears of STEPS steps."""
    found: dict[Protocol, Outcome] = {}
    one_prompt = [p for p in protocols if _by_prompt(p, tensor)]
    kind = sorted(one_prompt, key=_way)
    for _, alike in groupby(kind, key=_way):
        group = list(alike)
        voted = _votes_by_prompt(tensor, group[0])
        for p in group:
            found[p] = _of_prompt(tensor, p, voted, design)
    pooled = [p for p in protocols if p not in found]
    if pooled:
        found.update(_pooled(tensor, pooled, design, seed, advance))
    else:
        advance(STEPS)
    return [found[p] for p in protocols]


def _by_prompt(p: Protocol, tensor: VerdictTensor) -> bool:
    """Whether the votes are those of single prompts: exact, with two cells at most."""
    orders = len(tensor.orders) if p.orders == "both" else 1
    return (p.fixed is not None or p.drawn == 1) and orders <= PAIR


def _way(p: Protocol) -> tuple[str, str, int]:
    return p.orders, p.rule, p.repeats


def _votes_by_prompt(tensor: VerdictTensor, p: Protocol) -> Voted | None:
    """Return the votes of every item and prompt, flat; None where R < m."""
    N, K, _, C = tensor.counts.shape
    m = votes_needed(p, C)
    if m > tensor.depth[0]:
        return None
    cells = [tensor.counts[:, :, o].reshape(N * K, C) for o in range(len(tensor.orders))]
    tie = tensor.verdicts.index(TIE) if TIE in tensor.verdicts else None
    if p.orders == "consistent" and tie is not None:
        return consistent_vote(cells[0], cells[1], m, p.rule, tie)
    if p.orders == "both":
        return pooled_vote(cells[0], cells[1], m, p.rule, tie)
    return vote(cells[0], m, p.rule, tie)


def _of_prompt(tensor: VerdictTensor, p: Protocol, voted: Voted | None, design: Design) -> Outcome:
    if voted is None:
        return Outcome(protocol=p, law=None, same=None)
    N, K, _, C = tensor.counts.shape
    pi = voted.law.reshape(N, K, C)
    same = None if voted.same is None else voted.same.reshape(N, K)
    if p.fixed is not None:
        k = tensor.prompts.index(p.fixed)
        return Outcome(protocol=p, law=pi[:, k], same=None if same is None else same[:, k])
    return Outcome(protocol=p, law=pi.mean(axis=1), same=redrawn(pi, same, design))


def redrawn(pi: Array, same: Array | None, design: Design = "census") -> Array | None:
    """Return the chance of the same verdict when the prompt is drawn again, (items,).

    Args:
        pi: law of the vote of every prompt, (items, prompts, verdicts).
        same: chance of the same vote under the same prompt, (items, prompts).
        design: "sampled" for prompts of a generator, where the next one is another.
    """
    K = pi.shape[1]
    together = (pi.sum(axis=1) ** 2).sum(axis=-1)
    alone = (pi**2).sum(axis=(1, 2))
    if design == "sampled":
        return np.asarray((together - alone) / (K * (K - 1)))
    if same is None:
        return None
    return np.asarray((together - alone + same.sum(axis=1)) / (K * K))


def _pooled(
    tensor: VerdictTensor,
    protocols: Sequence[Protocol],
    design: Design,
    seed: int,
    advance: Advance,
) -> dict[Protocol, Outcome]:
    """Run protocols of several cells on calls in random order, many times."""
    N, C = len(tensor.items), len(tensor.verdicts)
    asked = [p for p in protocols if p.repeats <= tensor.depth[0]]
    twice = {p for p in asked if reaches(p, tensor, design)}
    law = {p: np.zeros((N, C)) for p in asked}
    same = {p: np.zeros(N) for p in twice}
    # Few items are laid side by side with copies of themselves: each copy is one draw.
    copies = max(1, _SIDE_BY_SIDE // N)
    rounds = ceil(max(DRAWS, DRAWS * 1_000 / N) / copies) if N > 1 else 1
    shuffled = _Shuffled(tensor, copies, design, stream(seed, "protocols"))
    told = within(advance, share=STEPS, of=rounds)
    for _ in range(rounds):
        told(1)
        shuffled.again()
        for p in asked:
            x = shuffled.run(p, 0)
            if p in twice:
                y = shuffled.run(p, 1)
                same[p] += (x * y).sum(axis=1).reshape(copies, N).sum(axis=0)
                x = (x + y) / 2
            law[p] += x.reshape(copies, N, C).sum(axis=0)
    times = rounds * copies
    return {
        p: Outcome(
            protocol=p,
            law=law[p] / times if p in law else None,
            same=same[p] / times if p in same else None,
        )
        for p in protocols
    }


class _Shuffled:
    """The calls of every cell in random order, and prompts in random order for every item.

    Calls of a cell that all say the same need no order: only the others are shuffled.
    """

    def __init__(
        self, tensor: VerdictTensor, copies: int, design: Design, rng: np.random.Generator
    ) -> None:
        N, K, O, C = tensor.counts.shape
        n = np.tile(tensor.counts, (copies, 1, 1, 1)).reshape(-1, C)
        self._mixed = np.flatnonzero(n.max(axis=1) < n.sum(axis=1))
        edges = n[self._mixed].cumsum(axis=-1)
        ranks = np.arange(tensor.depth[1])
        self._codes = (ranks[:, None] >= edges[:, None]).sum(axis=-1).astype(np.int8)
        self._absent = self._codes == C
        self._mode = (np.arange(C) == n.argmax(axis=1)[:, None]).astype(float)
        self._shape = (copies * N, K, O, C)
        self._prompts = tensor.prompts
        self._design, self._rng = design, rng
        self._tie = tensor.verdicts.index(TIE) if TIE in tensor.verdicts else None
        self._calls = self._codes.T
        self._counted: dict[tuple[int, int], Floats] = {}
        self._voted: dict[tuple[str, int, int], Floats] = {}
        self._places: tuple[Array, Array] = (np.empty(0), np.empty(0))

    def again(self) -> None:
        """Put calls and prompts into another order."""
        keys = self._rng.random(self._codes.shape, dtype=np.float32)
        keys[self._absent] = 2.0
        ordered = np.take_along_axis(self._codes, keys.argsort(axis=-1), axis=-1)
        self._calls = np.ascontiguousarray(ordered.T)
        self._counted, self._voted = {}, {}
        places = self._rng.random((2, *self._shape[:2])).argsort(axis=-1).argsort(axis=-1)
        self._places = (places[0], places[1])

    def run(self, p: Protocol, which: int) -> Floats:
        """Return the law of the final verdict of one of two runs, (items, verdicts)."""
        asked = (p.prompts, p.repeats, which)
        if asked not in self._voted:
            self._voted[asked] = self._votes(p, which)
        x = self._voted[asked]
        if p.orders != "consistent":
            together = x[:, 0] if p.orders == "one" else reduce(np.add, np.moveaxis(x, 1, 0))
            return np.asarray(final_verdict(together, p.rule, self._tie))
        g = final_verdict(x, p.rule, self._tie)
        agreed = np.asarray(g[:, 0] * g[:, 1])
        if self._tie is not None:
            agreed[:, self._tie] = 0
            agreed[:, self._tie] = 1 - agreed.sum(axis=1)
        return agreed

    def _votes(self, p: Protocol, which: int) -> Floats:
        """Return the votes of the prompts that the run uses, (items, orders, verdicts)."""
        s, sampled = p.drawn, self._design == "sampled"
        # Prompts of a generator are fresh in the second run, so that the same calls serve it.
        n = self._count(p.repeats, 0 if s is not None and sampled else which)
        if p.fixed is not None:
            return np.asarray(n[:, self._prompts.index(p.fixed)])
        if s is None:
            return np.asarray(n.sum(axis=1))
        place = self._places[0 if sampled else which] - (s * which if sampled else 0)
        chosen = (place >= 0) & (place < s)
        return np.asarray(np.einsum("nkoc,nk->noc", n, chosen.astype(float)))

    def _count(self, m: int, which: int) -> Floats:
        """Count m calls of every cell, (items, prompts, orders, verdicts)."""
        if (m, which) not in self._counted:
            calls = self._calls[which * m : (which + 1) * m]
            n = m * self._mode
            for c in range(self._shape[-1]):
                n[self._mixed, c] = (calls == c).sum(axis=0)
            self._counted[m, which] = n.reshape(self._shape)
        return self._counted[m, which]
