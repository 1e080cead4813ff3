"""Studies of the embedded model, and the exact laws of their cells."""

import atexit
import json
import struct
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from judgelaw.judges.embedded import EmbeddedServer, locate_model
from judgelaw.streams import stream
from judgelaw.study import FrozenRun, freeze, load_study, request_for
from judgelaw.tensor import DEFAULT_VERDICTS, VerdictTensor
from judgelaw.wire import Completion, parse
from support.exact_law import exact_law

GRAMMAR = 'root ::= "A" | "B" | "TIE"'
CRITERION = "Which candidate follows the instruction better? Answer A, B or TIE."
WRAPPERS = {
    "plain": f"{CRITERION}\n\n",
    "heading": f"PAIRWISE JUDGMENT\n\n{CRITERION}\n\n",
    "xml": f"<judge>\n{CRITERION}\n</judge>\n\n",
}
ITEMS = (
    ("Name a primary colour.", "Red", "Green"),
    ("What is 7 times 8?", "54", "56"),
    ("Name a mammal that flies.", "Bat", "Eagle"),
    ("Give one word for a young dog.", "Kitten", "Puppy"),
    ("Capital of France?", "Paris", "Lyon"),
    ("Write nine as a digit.", "nine", "9"),
    ("Spell cat backwards.", "tac", "act"),
    ("Name a month with 28 days at most.", "May", "February"),
)
ALONE = {"threads": 1}
"""For tests of what is made of the replies: a second thread of the model takes half as much again
in all, and the tests of the server itself use it."""
SHALLOW_LAYERS = 8
"""The fewest whose components are of the size of the whole model's: order .06 and prompt .001."""
LLMBAR = Path(__file__).parents[2].parent / "shared" / "data" / "llmbar"
CHI_SQUARE_DRAWS = 20_000


def spec(name: str = "chat", **fields) -> dict:
    """A judge of the packaged model, constrained to three words."""
    return {
        "name": name,
        "provider": "embedded",
        "model": "SmolLM2-135M-Instruct",
        "grammar": GRAMMAR,
        "decoding": {"temperature": 1.0, "max_tokens": 8},
        **fields,
    }


@cache
def shallow_model(layers: int = SHALLOW_LAYERS) -> Path:
    """Return the packaged model without its deeper layers, which answers so much the sooner.

    Everything but the depth is the real thing: the tokens, the size of a layer, the kernels of
    llama.cpp. For tests of what is made of replies, whatever they are.
    """
    folder = tempfile.TemporaryDirectory(prefix="judgelaw-model-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / f"{layers}-layers.gguf"
    path.write_bytes(without_deep_layers(locate_model().read_bytes(), layers))
    return path


def without_deep_layers(model: bytes, layers: int) -> bytes:
    """Take the tensors of deeper layers out of a GGUF file.

    The file: magic, version, numbers of tensors and of settings, the settings, then for each tensor
    its name, shape and place, then the tensors.
    """
    (count,) = struct.unpack_from("<Q", model, 8)
    first = at = model.index(b"token_embd.weight") - 8
    tensors = []
    for _ in range(count):
        name_ends = at + 8 + struct.unpack_from("<Q", model, at)[0]
        shape_ends = name_ends + 4 + 8 * struct.unpack_from("<I", model, name_ends)[0] + 4
        (place,) = struct.unpack_from("<Q", model, shape_ends)
        tensors.append((model[at + 8 : name_ends], model[at:shape_ends], place))
        at = shape_ends + 8
    values = model[_aligned(at) :]
    ends = [place for *_, place in tensors[1:]] + [len(values)]
    described, kept = [], []
    for (name, about, place), end in zip(tensors, ends, strict=True):
        kind, layer, *_ = name.split(b".")
        if kind != b"blk" or int(layer) < layers:
            described.append(about + struct.pack("<Q", sum(map(len, kept))))
            kept.append(values[place:end])
    head = bytearray(model[:first])
    struct.pack_into("<Q", head, 8, len(kept))
    depth = b"llama.block_count"
    struct.pack_into("<I", head, head.index(depth) + len(depth) + 4, layers)
    head += b"".join(described)
    return bytes(head).ljust(_aligned(len(head)), b"\0") + b"".join(kept)


def _aligned(size: int) -> int:
    return -(-size // 32) * 32


def frozen_study(folder: Path, *, items: int, repeats: int, **fields) -> FrozenRun:
    """Freeze a study of short items under three wrappers."""
    rows = [
        {"id": f"i{n}", "stratum": "short", "instruction": i, "candidate_1": a, "candidate_2": b}
        for n, (i, a, b) in enumerate(ITEMS[:items])
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return write_and_freeze(
        folder,
        items={"source": "jsonl", "path": "items.jsonl"},
        repeats=repeats,
        **{"judges": [spec()], **fields},
    )


def write_study(folder: Path, **fields) -> Path:
    """Write a study as JSON, which is YAML too."""
    templates = [{"id": name, "prefix": text} for name, text in WRAPPERS.items()]
    study = {
        "version": 1,
        "name": "embedded",
        "seed": 20261115,
        "prompts": {"policy": "census", "templates": templates},
        "schedule": "cells",
        **fields,
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study, indent=1))
    return path


def write_and_freeze(folder: Path, **fields) -> FrozenRun:
    return freeze(load_study(write_study(folder, **fields)), folder / "run")


def laws_like(tensor: VerdictTensor, frozen: FrozenRun, server: EmbeddedServer) -> np.ndarray:
    """Return the exact law of every cell of a tensor, in restored verdicts."""
    laws = np.full(tensor.counts.shape, np.nan)
    asked = set()
    for call in frozen.iter_calls(judge=tensor.judge):
        cell = (call.item, call.prompt, call.order)
        if call.layer != tensor.layer or cell in asked:
            continue
        asked.add(cell)
        where = tuple(
            axis.index(label)
            for axis, label in zip((tensor.items, tensor.prompts, tensor.orders), cell, strict=True)
        )
        shown = exact_law(server, request_for(frozen, call))
        laws[where] = _restored(shown, frozen.judges[call.judge], call.order)
    return laws


def _restored(shown: dict[str, float], judge, order: str) -> list[float]:
    law = dict.fromkeys(DEFAULT_VERDICTS, 0.0)
    for word, p in shown.items():
        completion = Completion(text=word, finish_reason="stop")
        law[parse(judge, completion, order).verdict] += p
    return [law[verdict] for verdict in DEFAULT_VERDICTS]


def chi_square_p(counts: np.ndarray, laws: np.ndarray, *, seed: int) -> float:
    """Simulate the p value of Pearson's statistic over all cells: they are too sparse for tables.

    p = (1 + #{draws from the laws whose statistic >= the observed}) / (1 + draws)
    """
    n = counts.reshape(-1, counts.shape[-1])
    p = laws.reshape(n.shape)
    R = n.sum(axis=-1)
    draws = stream(seed, "chi-square").multinomial(R, p, size=(CHI_SQUARE_DRAWS, len(n)))
    simulated = _pearson(draws, R, p)
    reached = int((simulated >= _pearson(n, R, p) - 1e-9).sum())
    return (1 + reached) / (1 + CHI_SQUARE_DRAWS)


def _pearson(n: np.ndarray, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    expected = R[:, None] * p
    possible = expected > 0
    terms = np.where(possible, (n - expected) ** 2 / np.where(possible, expected, 1), 0.0)
    # A verdict that the law rules out settles the matter.
    impossible = ((n > 0) & ~possible).any(axis=(-2, -1))
    return np.where(impossible, np.inf, terms.sum(axis=(-2, -1)))


def llmbar() -> Path:
    """Return the folder of LLMBar, or skip where it is not there."""
    if not LLMBAR.is_dir():
        pytest.skip("../shared/data/llmbar is not there: LLMBar is not part of this project")
    return LLMBAR
