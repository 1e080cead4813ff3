"""Tables of the matched four-configuration panel, each a small function of the corpus."""

import numpy as np

from judgelaw.estimate import COMPONENTS, Decomposition, decompose
from judgelaw.simulate._corpus import JUDGES, PANEL_REPEATS, Corpus
from judgelaw.simulate._recomputing import Floats, Resampling, Value, Values, outcomes
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import item_bands, resampled_means

TAU = 0.02
_DEPTHS = (2, PANEL_REPEATS)
_PARTS = COMPONENTS[:-1]


def summary(corpus: Corpus, _: Resampling) -> Values:
    """Plug-in, corrected and scaled excess at both depths, and the largest component."""
    for judge in JUDGES:
        found = _macros(corpus.panel.get(judge))
        values: dict[str, Value] = {}
        for R in _DEPTHS:
            d = found.get(R)
            plugin = None if d is None else float(d.plugin["prompt"])
            corrected = None if d is None else float(d.prompt)
            excess = None if plugin is None or corrected is None else plugin - corrected
            values |= {f"plugin_{R}": plugin, f"corrected_{R}": corrected, f"excess_{R}": excess}
            values[f"scaled_{R}"] = None if excess is None else R * excess
        deepest = found.get(PANEL_REPEATS)
        largest = None if deepest is None else max(_PARTS, key=lambda part: float(deepest[part]))
        yield {"judge": judge}, {**values, "largest": largest}


def components(corpus: Corpus, by: Resampling) -> Values:
    """Complete decomposition at R = 4, with the band of the prompt component."""
    for judge in JUDGES:
        tensor = corpus.panel.get(judge)
        if tensor is None:
            yield {"judge": judge}, dict.fromkeys((*COMPONENTS, "estimate", "band"))
            continue
        d = decompose(tensor)
        values: dict[str, Value] = {name: float(d[name].mean()) for name in COMPONENTS}
        band = by.band(d.prompt, tensor)
        yield {"judge": judge}, {**values, "estimate": values["prompt"], "band": band}


def component_shares(corpus: Corpus, _: Resampling) -> Values:
    """Components over the total, in percent."""
    for judge in JUDGES:
        d = _macros(corpus.panel.get(judge)).get(PANEL_REPEATS)
        yield (
            {"judge": judge},
            {part: None if d is None else 100 * float(d[part] / d.total) for part in _PARTS},
        )


def judge_outcomes(corpus: Corpus, _: Resampling) -> Values:
    """Outcome counts, and the share of calls that name the gold candidate."""
    for judge in JUDGES:
        tensor = corpus.panel.get(judge)
        if tensor is None:
            missing = ("candidate_1", "candidate_2", "tie", INVALID, "gold_match")
            yield {"judge": judge}, dict.fromkeys(missing)
        else:
            yield {"judge": judge}, {**outcomes(tensor), "gold_match": _gold_match(tensor)}


def invalid_as_tie(corpus: Corpus, _: Resampling) -> Values:
    """Corrected prompt means before and after merging invalid into tie."""
    for judge in JUDGES:
        tensor = corpus.panel.get(judge)
        values: dict[str, Value] = {}
        for R in _DEPTHS:
            before, after = f"four_category_{R}", f"merged_{R}"
            if tensor is None:
                values |= {before: None, after: None}
                continue
            at = tensor.prefix(R)
            merged = at.recode({INVALID: "tie"}) if INVALID in at.verdicts else at
            values[before] = float(decompose(at).prompt.mean())
            values[after] = float(decompose(merged).prompt.mean())
        yield {"judge": judge}, values


def flags(corpus: Corpus, _: Resampling) -> Values:
    """Configurations above tau, by depth and metric."""
    for R in _DEPTHS:
        found = {judge: _macros(corpus.panel.get(judge)).get(R) for judge in JUDGES}
        if any(d is None for d in found.values()):
            yield {"repeats": str(R)}, {"plugin": None, "corrected": None}
            continue
        plugin = [j for j, d in found.items() if d is not None and d.plugin["prompt"] > TAU]
        corrected = [j for j, d in found.items() if d is not None and d.prompt > TAU]
        yield (
            {"repeats": str(R)},
            {
                "plugin": ", ".join(plugin) or "none",
                "corrected": ", ".join(corrected) or "none",
            },
        )


def orderings(corpus: Corpus, _: Resampling) -> Values:
    """Configurations by prompt mean at R = 4, largest first."""
    values = _prompt_values(corpus)
    for index, metric in enumerate(("plugin", "corrected")):
        if values is None:
            yield {"metric": metric}, {"order": None}
            continue
        means = values[index].mean(axis=0)
        names = [list(JUDGES)[j] for j in np.argsort(-means)]
        yield {"metric": metric}, {"order": " > ".join(names)}


def top_changes(corpus: Corpus, by: Resampling) -> Values:
    """Share of item draws in which plug-in and corrected put different configurations on top."""
    values = _prompt_values(corpus)
    if values is None:
        yield {}, {"percent_of_draws": None}
        return
    strata = next(iter(corpus.panel.values())).strata
    both = np.concatenate([values[0], values[1]], axis=1)
    means = resampled_means(both, strata=strata, draws=by.draws, seed=by.seed)
    n = len(JUDGES)
    differ = means[:, :n].argmax(axis=1) != means[:, n:].argmax(axis=1)
    yield {}, {"percent_of_draws": 100 * float(differ.mean())}


def order_minus_call(corpus: Corpus, by: Resampling) -> Values:
    """Band of the order-minus-call difference of Claude."""
    tensor = corpus.panel.get("Claude Haiku 4.5")
    if tensor is None:
        yield {}, {"band": None}
        return
    d = decompose(tensor)
    bands = item_bands(d.order - d.call, strata=tensor.strata, draws=by.draws, seed=by.seed)
    yield {}, {"band": (float(bands.low[0]), float(bands.high[0]))}


def _macros(tensor: VerdictTensor | None) -> dict[int, Decomposition]:
    if tensor is None:
        return {}
    return {R: decompose(tensor.prefix(R)).macro() for R in _DEPTHS}


def _prompt_values(corpus: Corpus) -> tuple[Floats, Floats] | None:
    """Plug-in and corrected item values (items, configurations) on the same items at R = 4."""
    if set(corpus.panel) != set(JUDGES):
        return None
    items = corpus.panel[next(iter(JUDGES))].items
    found = [decompose(corpus.panel[judge].select(items=items)) for judge in JUDGES]
    return (
        np.stack([d.plugin["prompt"] for d in found], axis=1),
        np.stack([d.prompt for d in found], axis=1),
    )


def _gold_match(tensor: VerdictTensor) -> float | None:
    if tensor.gold is None or any(gold not in tensor.verdicts for gold in tensor.gold):
        return None
    codes = [tensor.verdicts.index(str(gold)) for gold in tensor.gold]
    right = tensor.counts[np.arange(len(codes)), :, :, codes].sum()
    return float(right / tensor.counts.sum())
