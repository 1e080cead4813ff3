"""Properties of reading and of the waist that hold for any table."""

import tempfile
from pathlib import Path
from unittest import mock

import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import HealthCheck, given, settings, strategies as st

from judgelaw.errors import DuplicateCallsError
from judgelaw.tables import read_tensor, write_calls
from support.calls import assert_same, columns, slow

LABEL = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs",), exclude_characters="\x00"),
    min_size=1,
    max_size=6,
).filter(lambda s: s.strip() == s)
ALPHABETS = st.sampled_from(
    [
        ("candidate_1", "candidate_2", "tie", "invalid"),
        ("no", "yes"),
        ("va", "vb", "vc", "vd", "ve"),
    ]
)
slowly = settings(
    deadline=None,
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@st.composite
def tables(draw):
    """Rows in random order, with unequal repeats and some ranks absent, no cell empty."""
    axis = st.lists(LABEL, min_size=1, max_size=3, unique=True)
    items, prompts, orders = draw(axis), draw(axis), draw(axis)
    alphabet = draw(ALPHABETS)
    depth = draw(st.integers(1, 40))
    ranks = st.sets(st.integers(0, depth - 1), min_size=1, max_size=6)
    rows = [
        {"judge": "j", "item": i, "prompt": k, "order": o, "repeat": r, "verdict": v}
        for i in items
        for k in prompts
        for o in orders
        for r in sorted(draw(ranks) | {0})
        for v in [draw(st.sampled_from(alphabet))]
    ]
    return draw(st.permutations(rows))


def alphabet_of(rows):
    found = {row["verdict"] for row in rows}
    usual = ("candidate_1", "candidate_2", "tie", "invalid")
    return usual if found <= set(usual) else tuple(sorted(found))


@given(tables())
@settings(slowly, max_examples=6)  # twelve readings and writings each
def test_every_way_in_gives_the_slow_count(rows):
    """Files of each format and frames of each library, bit for bit."""
    expected = slow(rows, alphabet_of(rows))
    data = columns(rows)
    for frame in (pd.DataFrame(data), pl.DataFrame(data), pl.LazyFrame(data), pa.table(data)):
        assert_same(read_tensor(frame), expected, but=("judge", "notes"))
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".csv", ".csv.gz", ".jsonl", ".parquet"):
            path = Path(folder) / f"calls{suffix}"
            write_calls(path, data)
            assert_same(read_tensor(path), expected, but=("judge", "notes"))
            with mock.patch("judgelaw.tables.read._BIG", 1):
                assert_same(read_tensor(path), expected, but=("judge", "notes"))


@given(tables(), st.randoms(use_true_random=False))
@slowly
def test_rows_and_columns_carry_no_order(rows, random):
    data = columns(rows)
    names = random.sample(list(data), len(data))
    shuffled = random.sample(range(len(rows)), len(rows))
    moved = pl.DataFrame({name: [data[name][n] for n in shuffled] for name in names})
    assert_same(read_tensor(moved), read_tensor(pl.DataFrame(data)))


@given(tables(), st.randoms(use_true_random=False))
@slowly
def test_relabelling_permutes_and_does_no_more(rows, random):
    """New names for items, prompts and orders move cells; they change none."""
    before = read_tensor(pl.DataFrame(columns(rows)))
    renamed = {}
    for part, names in (
        ("item", before.items),
        ("prompt", before.prompts),
        ("order", before.orders),
    ):
        new = [f"n{i:02}" for i in random.sample(range(len(names)), len(names))]
        renamed[part] = dict(zip(names, new, strict=True))
    moved = [row | {part: mapping[row[part]] for part, mapping in renamed.items()} for row in rows]
    after = read_tensor(pl.DataFrame(columns(moved)))
    aligned = after.select(
        items=[renamed["item"][name] for name in before.items],
        prompts=[renamed["prompt"][name] for name in before.prompts],
        orders=[renamed["order"][name] for name in before.orders],
    )
    assert_same(aligned, before, but=("items", "prompts", "orders"))


@given(tables(), st.integers(1, 40))
@slowly
def test_a_prefix_equals_the_filtered_table(rows, repeats):
    """Every cell of these tables has rank 0, so filtering loses no label."""
    whole = read_tensor(pl.DataFrame(columns(rows)))
    repeats = min(repeats, whole.ranked.shape[-1])
    filtered = slow([row for row in rows if row["repeat"] < repeats], whole.verdicts)
    prefix = read_tensor(pl.LazyFrame(columns(rows)), repeats=repeats)
    assert_same(prefix, whole.prefix(repeats))
    depth = filtered.ranked.shape[-1]
    assert (prefix.ranked[..., :depth] == filtered.ranked).all()
    assert (prefix.ranked[..., depth:] == -1).all()
    assert (prefix.counts == filtered.counts).all()


@given(tables(), st.data())
@slowly
def test_any_duplicate_is_found_by_every_engine(rows, data):
    row = data.draw(st.sampled_from(rows))
    verdict = data.draw(st.sampled_from(rows))["verdict"]
    spoiled = columns([*rows, row | {"verdict": verdict}])
    for frame in (pl.DataFrame(spoiled), pl.LazyFrame(spoiled)):
        try:
            read_tensor(frame)
        except DuplicateCallsError as error:
            assert f"repeat {row['repeat']} has 2 rows" in str(error)  # noqa: PT017 - one of two engines
        else:
            raise AssertionError("the duplicate went unseen")
