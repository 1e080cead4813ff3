"""Small worlds for the report: every facet, one facet, unanimous, hostile."""

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from judgelaw.analysis import Analysis, Key, Settings, Table, analyze
from judgelaw.blocks import Block, Details, Paragraph, text_of
from judgelaw.decide import protocols
from judgelaw.diagnose import Finding
from judgelaw.page import Report
from judgelaw.page.subject import Judge
from judgelaw.tensor import VerdictTensor

HOSTILE = (
    "</script><script>window.pwned=1</script>",
    '"><img src=x onerror=window.pwned=1>',
    "javascript:window.pwned=1",
    "{{ 7*7 }}{% for x in y %}",
    "<svg onload=window.pwned=1>&amp;<!--",
    "\u202egnp.exe\u202c\u2066\x00\x1b]0;x\x07\ud800",
)


def tensor(
    *,
    items: int = 12,
    prompts: int = 3,
    orders: int = 2,
    repeats: int = 4,
    seed: int = 1,
    lean: float = 0.12,
) -> VerdictTensor:
    """Draw calls with a prompt and an order effect in four verdicts, in two strata."""
    rng = np.random.default_rng(seed)
    base = rng.dirichlet([2.0, 2.0, 0.4, 0.2], size=items)
    laws = np.broadcast_to(base[:, None, None], (items, prompts, orders, 4)).copy()
    shift = rng.normal(0, 0.06, size=(items, prompts))[..., None] + (lean, -lean)[:orders]
    moved = np.clip(shift, -0.9 * laws[..., 0], 0.9 * laws[..., 1])
    laws[..., 0] += moved
    laws[..., 1] -= moved
    return VerdictTensor.from_laws(
        laws,
        repeats=repeats,
        seed=seed,
        items=[f"item-{i:03d}" for i in range(items)],
        prompts=[f"prompt {k}" for k in range(prompts)],
        orders=("AB", "BA")[:orders],
        strata=[("Natural", "Adversarial")[i % 2] for i in range(items)],
        gold=[("candidate_1", "candidate_2")[i % 2] for i in range(items)],
    )


def unanimous() -> VerdictTensor:
    """Give one verdict to each item in every call."""
    counts = np.zeros((6, 3, 2, 4), dtype=int)
    counts[np.arange(6), :, :, np.arange(6) % 2] = 4
    return VerdictTensor.from_counts(counts, orders=("AB", "BA"))


def hostile() -> tuple[dict[Key, VerdictTensor], dict]:
    """Name everything by text that wants to run, and answer with it too."""
    drawn = tensor(items=len(HOSTILE), prompts=len(HOSTILE))
    named = replace(
        drawn,
        items=tuple(f"{i}{text}" for i, text in enumerate(HOSTILE)),
        prompts=tuple(f"{text}{i}" for i, text in enumerate(HOSTILE)),
        strata=tuple(HOSTILE),
        verdicts=("candidate_1", "candidate_2", HOSTILE[1], HOSTILE[0]),
        gold=None,
    )
    judge = HOSTILE[0]
    return {(None, judge): named}, {judge: completions(named, "\n".join(HOSTILE))}


def completions(calls: VerdictTensor, text: str) -> dict[tuple[str, str, str, int], str]:
    """Give every call the same reply, with its place in front."""
    depth = calls.depth[1]
    return {
        (item, prompt, order, repeat): f"{item}|{prompt}|{order}|{repeat}: {text}"
        for item in calls.items
        for prompt in calls.prompts
        for order in calls.orders
        for repeat in range(depth)
    }


_analyses: dict[bytes, Analysis] = {}


def analysed(tensors: dict[Key, VerdictTensor]) -> Analysis:
    """Analyse with few draws: the report does not care how smooth a band is.

    The same calls are analysed once, as many tests look at the same small world; where tests take
    other draws for advice (`_fewer_draws_where_words_are_tested`), once more.
    """
    calls = [(key, [getattr(t, f.name) for f in fields(t)]) for key, t in tensors.items()]
    named = hashlib.sha256(pickle.dumps((calls, protocols.DRAWS))).digest()
    if named not in _analyses:
        _analyses[named] = analyze(tensors, draws=200, permutations=19, seed=3)
    return _analyses[named]


def report(tensors: Mapping[Key, VerdictTensor], **more) -> Report:
    """Return calls with what is said of them, as the sections of the page get it."""
    return Report(analysis=analysed(tensors), tensors=tensors, **more)


def judge_of(calls: VerdictTensor, **more) -> Judge:
    """Return one judge as the sections of the page get it."""
    return report({(None, "j"): calls}, **more).judges[0]


def bare(diagnostics: Sequence[Finding] = (), tables: Mapping[str, Table] | None = None) -> Report:
    """Return a report of nothing but findings and tables."""
    settings = Settings(design="census", draws=2, seed=0, permutations=0, level=0.95, version="0")
    analysis = Analysis(
        judges={},
        layers={},
        main_layer=None,
        roles={},
        settings=settings,
        diagnostics=tuple(diagnostics),
        tables=tables or {},
    )
    return Report(analysis=analysis, tensors={})


def words(blocks: Sequence[Block]) -> list[str]:
    """Return the paragraphs of blocks as text, notes included."""
    return [text_of(block.run) for block in blocks if isinstance(block, Paragraph)]


def named(blocks: Sequence[Block], kind: type) -> dict[str, Block]:
    """Return the tables or figures among blocks by name, those that are closed included."""
    found = {}
    for block in blocks:
        if isinstance(block, Details):
            found |= named(block.blocks, kind)
        elif isinstance(block, kind):
            found[block.name] = block
    return found


def table(name: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Return a table of the analysis."""
    return Table(name=name, title=name, columns=tuple(columns), rows=tuple(map(tuple, rows)))
