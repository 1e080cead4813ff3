"""Small calls tables, and the slow reading of them that the fast one must equal."""

import csv
from pathlib import Path

import numpy as np
import pytest

from judgelaw.tensor import DEFAULT_VERDICTS, VerdictTensor

HEADER = ("judge", "item", "prompt", "order", "repeat", "verdict")
REAL = Path(__file__).parents[2].parent / "shared" / "data" / "verdicts"


def table(
    *, items=3, prompts=2, orders=("AB", "BA"), repeats=3, judge="j", verdicts=DEFAULT_VERDICTS
) -> list[dict]:
    """Rows of a complete design, with verdicts that differ from cell to cell."""
    return [
        {
            "judge": judge,
            "item": f"i{i}",
            "prompt": f"p{k}",
            "order": order,
            "repeat": r,
            "verdict": verdicts[(i * 7 + k * 5 + o * 3 + r * r) % len(verdicts)],
        }
        for i in range(items)
        for k in range(prompts)
        for o, order in enumerate(orders)
        for r in range(repeats)
    ]


def columns(rows: list[dict]) -> dict[str, list]:
    return {
        name: [row.get(name) for row in rows] for name in dict.fromkeys(k for r in rows for k in r)
    }


def write_csv(path: Path, rows: list[dict], *, lineterminator="\n", encoding="utf-8") -> Path:
    names = list(dict.fromkeys(k for row in rows for k in row)) or list(HEADER)
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator=lineterminator)
        writer.writeheader()
        writer.writerows(rows)
    return path


def slow(rows: list[dict], verdicts=DEFAULT_VERDICTS) -> VerdictTensor:
    """Count one row at a time."""
    items, prompts, orders = (
        sorted({str(row.get(part, "only")) for row in rows}) for part in ("item", "prompt", "order")
    )
    depth = 1 + max(int(row["repeat"]) for row in rows)
    ranked = np.full((len(items), len(prompts), len(orders), depth), -1)
    for row in rows:
        where = (
            items.index(str(row["item"])),
            prompts.index(str(row["prompt"])),
            orders.index(str(row.get("order", "only"))),
            int(row["repeat"]),
        )
        assert ranked[where] == -1
        ranked[where] = verdicts.index(row["verdict"])
    return VerdictTensor.from_ranked(
        ranked, items=items, prompts=prompts, orders=orders, verdicts=verdicts
    )


def assert_same(a: VerdictTensor, b: VerdictTensor, *, but=()) -> None:
    """Equal bit for bit, labels and notes included."""
    for name in ("counts", "ranked"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    for name in (
        "items",
        "prompts",
        "orders",
        "verdicts",
        "strata",
        "gold",
        "judge",
        "layer",
        "notes",
    ):
        if name not in but:
            assert getattr(a, name) == getattr(b, name), name


def real(name: str) -> Path:
    """The path of a real table, or a skip that says where it would be."""
    path = REAL / name
    if not path.exists():
        pytest.skip(f"{name} is not in ../shared/data/verdicts")
    return path


WILD = REAL.parent / "wild"


def wild(name: str) -> Path:
    """The path of a file as a stranger published it, or a skip that says where it would be."""
    path = WILD / name
    if not path.exists():
        pytest.skip(f"{name} is not in ../shared/data/wild")
    return path
