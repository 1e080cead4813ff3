"""Streams of calls from known laws, with labels, strata and planted faults."""

from dataclasses import replace

import numpy as np

from judgelaw.diagnose import Evidence, diagnose
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Resampling
from judgelaw.worlds import World


def drawn(
    *,
    items=40,
    prompts=3,
    orders=2,
    repeats=6,
    seed=0,
    world=None,
    strata=2,
    judge="judge",
    layer=None,
    gold=None,
):
    """Draw a stream; by default every cell has the base law of the published simulation."""
    world = world or World.from_effects()
    tensor = world.tensor(items=items, prompts=prompts, orders=orders, repeats=repeats, seed=seed)
    return labelled(tensor, strata=strata, judge=judge, layer=layer, gold=gold)


def of_codes(codes, *, strata=None, judge="judge", layer=None, gold=None, **labels):
    """Wrap verdict codes (items, prompts, orders, repeats)."""
    tensor = VerdictTensor.from_ranked(np.asarray(codes), **labels)
    return labelled(tensor, strata=strata, judge=judge, layer=layer, gold=gold)


def labelled(tensor, *, strata, judge, layer, gold):
    n, _, o, _ = tensor.counts.shape
    return replace(
        tensor,
        orders=("AB", "BA") if o == 2 else tensor.orders,
        strata=None if strata is None else tuple(f"s{i % strata}" for i in range(n)),
        judge=judge,
        layer=layer,
        gold=None if gold is None else (gold,) * n,
    )


def unanimous(*, items=10, prompts=3, orders=2, repeats=4, vary_order=True, **labels):
    """Build a judge that never contradicts itself inside a cell."""
    codes = np.zeros((items, prompts, orders, repeats), dtype=np.int16)
    if vary_order:
        codes[::2, :, 1] = 1
    return of_codes(codes, **labels)


def reused_seeds(*, items=40, prompts=3, orders=2, repeats=6, seed=0, **labels):
    """Draw a stream in which one list of seeds serves every cell: ranks move together."""
    law = np.cumsum([0.4, 0.3, 0.2])
    u = stream(seed, "reused").random((items, 1, 1, repeats))
    codes = (u[..., None] >= law).sum(axis=-1)
    return of_codes(np.broadcast_to(codes, (items, prompts, orders, repeats)), **labels)


def findings(tensor, *, seconds=None, adjacent=False, control=False, seed=1):
    """Diagnose one stream alone, and return its findings by name."""
    key = ("layer", "judge")
    evidence = Evidence(seconds={} if seconds is None else {key: seconds}, adjacent=adjacent)
    found = diagnose(
        {key: tensor},
        main="layer",
        how=Resampling(draws=200, seed=seed),
        roles={"layer": "control" if control else "audit"},
        evidence=evidence,
    )
    return {finding.name: finding for finding in found.findings}
