"""The paper's protocol as files: a study with simulated judges, a live one, and made-up items."""

import json
from collections.abc import Mapping
from importlib import resources

STRATA = {"GPTInst": 92, "GPTOut": 47, "Manual": 46, "Natural": 100, "Neighbor": 134}
"""The strata of LLMBar and how many items each has: 419."""


def protocol_files() -> Mapping[str, str]:
    """Return the files of the protocol by name: `study.yaml`, `live.yaml` and `items.jsonl`."""
    folder = resources.files("judgelaw.replication").joinpath("protocol")
    texts = {name: folder.joinpath(name).read_text("utf-8") for name in ("study.yaml", "live.yaml")}
    return {**texts, "items.jsonl": _items()}


def _items() -> str:
    """Make items in the strata of LLMBar: a sum, one right answer and one that is off."""
    lines = []
    for stratum, count in STRATA.items():
        for number in range(count):
            a, b = 11 + 7 * number % 89, 13 + 5 * number % 97
            right, wrong = str(a + b), str(a + b + 10 - 20 * (number % 2))
            swapped = number % 2 == 1
            item = {
                "id": f"{stratum}-{number:03d}",
                "stratum": stratum,
                "instruction": f"What is {a} + {b}?",
                "candidate_1": wrong if swapped else right,
                "candidate_2": right if swapped else wrong,
                "gold": "candidate_2" if swapped else "candidate_1",
            }
            lines.append(json.dumps(item) + "\n")
    return "".join(lines)
