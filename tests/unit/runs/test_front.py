"""The front door: every kind of input gives one answer, and what is wrong is said in our words."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import judgelaw as jl
from judgelaw.errors import InputError, NotIdentifiedError, TableError
from servers.study import simulated_judge, write_study

FAST = {"draws": 50, "permutations": 0}


def drawn(seed=1, *, items=8, law=(0.5, 0.3, 0.15, 0.05), repeats=4, **labels):
    laws = np.tile(law, (items, 3, 2, 1))
    return jl.VerdictTensor.from_laws(
        laws, repeats=repeats, seed=seed, orders=("AB", "BA"), **labels
    )


def rows_of(tensor, judge="judge"):
    return [
        {
            "judge": judge,
            "item": tensor.items[i],
            "prompt": tensor.prompts[k],
            "order": tensor.orders[o],
            "repeat": r,
            "verdict": tensor.verdicts[code],
        }
        for (i, k, o, r), code in np.ndenumerate(tensor.ranked)
    ]


TENSOR = drawn()
ROWS = rows_of(TENSOR)


def written(folder):
    path = folder / "calls.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    return path


def hugging_face(_folder):
    datasets = pytest.importorskip("datasets", reason="needs the package datasets")
    return datasets.Dataset.from_list(ROWS)


KINDS = {
    "tensor": lambda _: TENSOR,
    "by judge": lambda _: {"judge": TENSOR},
    "by layer and judge": lambda _: {("audit", "judge"): TENSOR},
    "path": written,
    "text of a path": lambda folder: str(written(folder)),
    "dicts": lambda _: ROWS,
    "pandas": lambda _: pd.DataFrame(ROWS),
    "polars": lambda _: pl.DataFrame(ROWS),
    "lazy polars": lambda _: pl.LazyFrame(ROWS),
    "pyarrow": lambda _: pa.Table.from_pylist(ROWS),
    "hugging face": hugging_face,
}


@pytest.fixture(scope="module")
def expected():
    return jl.analyze(TENSOR, **FAST).judges["judge"].components


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_input_gives_the_same_answer(kind, tmp_path, expected):
    x = KINDS[kind](tmp_path)
    found = jl.analyze(x, **FAST).judges["judge"].components
    assert {name: c.estimate for name, c in found.items()} == {
        name: c.estimate for name, c in expected.items()
    }
    assert jl.gate(x, {"call": 0.9}).verdict == "pass"


def test_a_run_and_its_path_are_the_same(tmp_path):
    study = write_study(tmp_path, [simulated_judge()], repeats=4)
    run = jl.audit(study)
    assert isinstance(run, jl.Run)
    by_run, by_path = (jl.analyze(x, **FAST) for x in (run, str(run.path)))
    assert by_run.judges["sim"].components == by_path.judges["sim"].components
    assert jl.gate(run, {"call": 0.99}).verdict == "pass"
    assert jl.report(run) == run.path / "report.html"
    assert jl.VerdictTensor.from_table(run).counts.sum() == run.status.completed
    frame = run.status.to_frame("polars")
    assert frame["completed"].sum() == run.to_json()["completed"] == run.status.completed
    assert "<table" in run.status._repr_html_()


def test_a_gate_without_limits_takes_those_of_the_study(tmp_path):
    study = write_study(tmp_path, [simulated_judge()], repeats=4, gate={"prompt": 0.9})
    (limit,) = jl.gate(jl.audit(study)).limits
    assert (limit.quantity, limit.limit) == ("prompt", 0.9)
    with pytest.raises(InputError, match="no limit"):
        jl.gate(TENSOR)


@pytest.mark.parametrize("judge", ["b", ["b"], ("b",)])
def test_judges_can_be_chosen(judge):
    both = {"a": TENSOR, "b": drawn(2)}
    assert list(jl.analyze(both, judge=judge, **FAST).judges) == ["b"]
    assert {d.judge for d in jl.gate(both, {"call": 0.9}, judge=judge).limits} == {"b"}


def test_a_prefix_of_a_tensor_is_the_prefix_of_its_table():
    by_tensor, by_rows = (jl.analyze(x, repeats=2, **FAST) for x in (TENSOR, ROWS))
    assert by_tensor.judges["judge"].repeats == 2
    assert by_tensor.judges["judge"].components == by_rows.judges["judge"].components


def test_items_that_are_incomplete_are_refused_or_dropped():
    counts = TENSOR.counts.copy()
    counts[0, 0, 0] = 0
    broken = replace(TENSOR, counts=counts, ranked=None)
    with pytest.raises(jl.errors.IncompleteDesignError, match="incomplete='drop'"):
        jl.analyze(broken, **FAST)
    assert jl.analyze(broken, incomplete="drop", **FAST).judges["judge"].items == 7


def test_compare_takes_several_or_one_of_several():
    a, b = TENSOR, drawn(2, law=(0.97, 0.01, 0.01, 0.01))
    together = jl.compare({"a": a, "b": b}, draws=50)
    apart = jl.compare(replace(a, judge="a"), replace(b, judge="b"), draws=50)
    assert together.differences == apart.differences
    assert together.judges == ("a", "b")
    same_name = jl.compare(a, b, draws=50)
    assert same_name.judges == ("1: judge", "2: judge")
    assert jl.compare({"a": a, "b": b, "c": a}, judge=["a", "b"], draws=50).judges == ("a", "b")
    with pytest.raises(InputError, match="nothing to compare"):
        jl.compare()
    with pytest.raises(InputError, match="two"):
        jl.compare(a, draws=50)


def test_a_report_goes_where_it_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = jl.report(TENSOR, tmp_path / "mine.html", title="My judge", **FAST)
    assert page == tmp_path / "mine.html"
    assert "<title>My judge" in page.read_text()
    assert jl.report(TENSOR, **FAST).name == "report.html"
    assert jl.report(written(tmp_path), **FAST) == tmp_path / "calls.html"
    with pytest.raises(InputError, match="is no folder"):
        jl.report(TENSOR, tmp_path / "missing" / "page.html")


def empty():
    return jl.VerdictTensor.from_counts(np.zeros((0, 3, 2, 4), dtype=int))


def unnamed_column():
    return pd.DataFrame(ROWS).drop(columns="verdict")


BAD = {
    "an empty mapping": ({}, InputError, "no calls: give a tensor"),
    "a tensor without items": (empty(), InputError, "holds no item"),
    "a mapping of numbers": ({"a": 3}, InputError, "'a' maps to a int: a mapping holds tensors"),
    "columns": ({"item": ["i"]}, InputError, "a frame or a list of dicts"),
    "a key that is no name": ({3: TENSOR}, InputError, "key 3: tensors go by judge"),
    "one judge twice": ({"a": TENSOR, (None, "a"): TENSOR}, InputError, "'a' is there twice"),
    "some layers": ({"a": TENSOR, ("x", "b"): TENSOR}, InputError, "some keys name a layer"),
    "nothing": (None, InputError, "a NoneType is no calls table: pass the path"),
    "a number": (3, InputError, "a int is no calls table"),
    "an array": (TENSOR.counts, InputError, "from_counts"),
    "an empty list": ([], TableError, "the list holds no call"),
    "a list of numbers": ([1], InputError, "row 0 is a int; give dicts"),
    "dicts without a verdict": ([{"item": "i"}], TableError, "no column 'judge'"),
    "a frame without a column": (unnamed_column(), TableError, "no column 'verdict'"),
    "no file": ("nowhere.csv", TableError, "nowhere.csv"),
    "one repeat": (drawn(repeats=1), NotIdentifiedError, "second"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_an_error_of_ours(kind):
    x, error, words = BAD[kind]
    for ask in (jl.analyze, lambda x: jl.gate(x, {"prompt": 0.1}), jl.report):
        with pytest.raises(error, match=re.escape(words)):
            ask(x)


def test_a_duplicate_in_a_list_is_named_by_its_row():
    with pytest.raises(jl.errors.DuplicateCallsError, match="the list, row 0"):
        jl.analyze([*ROWS, ROWS[0]])


def test_a_list_of_mixed_values_is_read_as_text():
    rows = [{**row, "item": i // 24 if i // 24 < 7 else "last"} for i, row in enumerate(ROWS)]
    assert set(jl.VerdictTensor.from_table(rows).items) == {*"0123456", "last"}
    floats = [{**row, "repeat": float(row["repeat"])} for row in ROWS]
    assert (jl.VerdictTensor.from_table(floats).counts == TENSOR.counts).all()


def test_splits_and_streams_of_hugging_face_are_refused_with_a_remedy():
    datasets = pytest.importorskip("datasets", reason="needs the package datasets")
    table = datasets.Dataset.from_list(ROWS)
    with pytest.raises(InputError, match=r"splits train.*dataset\['train'\]"):
        jl.analyze(datasets.DatasetDict({"train": table}))
    with pytest.raises(InputError, match="streams its rows"):
        jl.analyze(table.to_iterable_dataset())
    few = table.select(range(48))
    assert len(jl.VerdictTensor.from_table(few).items) == 2


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"jugde": "a"}, "no option is called 'jugde' (did you mean 'judge'?)"),
        ({"judge": "z"}, "no judge is called 'z': there are judge"),
        ({"layer": "z"}, "no layer is called 'z'"),
        ({"columns": {"verdict": "v"}}, "a tensor was read already"),
        ({"design": "survey"}, "design 'survey'"),
        ({"incomplete": "maybe"}, "incomplete = 'maybe'"),
    ],
)
def test_a_wrong_option_is_an_error_of_ours(option, words):
    with pytest.raises(InputError, match=re.escape(words)):
        jl.analyze(TENSOR, **option)


def public_objects(folder):
    study = write_study(folder, [simulated_judge()], repeats=4)
    many = {f"judge {i} {'with a long name ' * 4}": drawn(i, items=4) for i in range(12)}
    run = jl.audit(study)
    analysis = jl.analyze({("audit", name): t for name, t in many.items()}, **FAST)
    judge = next(iter(analysis.judges.values()))
    large = drawn(items=400)
    yield from (run, run.status, analysis, judge, judge.item_values, judge.prompt_distances)
    yield from analysis.tables.values()
    yield jl.gate(many, {"prompt": 0.02, "call": 0.5, "invalid": 0.1})
    yield jl.compare(many, draws=20)
    yield jl.plan(study)
    yield from (large, jl.decompose(large), jl.decompose(large).macro())


def test_every_public_object_shows_itself_in_short_and_goes_into_frames_and_json(tmp_path):
    import json

    for found in public_objects(tmp_path):
        kind = type(found).__name__
        assert kind in repr(found).split("(")[0].split(":")[0]
        assert 20 < len(repr(found)) < 3000, kind
        assert re.search("<(table|div)", found._repr_html_()), kind
        assert found.to_frame("polars").height == len(found.to_frame("pandas"))
        document = json.loads(json.dumps(found.to_json(), allow_nan=False))
        assert re.fullmatch(r"judgelaw\.[\w-]+/1", document["schema"]), kind


def test_what_is_shown_obeys_no_terminal_and_no_browser():
    hostile = "<script>\x1b[2J\u202e"
    analysis = jl.analyze({hostile: TENSOR}, **FAST)
    gate = jl.gate({hostile: TENSOR}, {"prompt": 0.1})
    for found in (analysis, gate):
        assert not set("\x1b\u202e") & set(repr(found) + found._repr_html_())
        assert "<script>" not in found._repr_html_()


def test_frames_have_a_row_for_each_component_and_nan_for_what_is_not_there():
    one_order = jl.VerdictTensor.from_counts(TENSOR.counts[:, :, :1])
    frame = jl.analyze(one_order, **FAST).to_frame()
    assert list(frame["component"]) == ["call", "prompt", "order", "interaction", "total"]
    assert math.isnan(frame["estimate"][2])
    assert frame["interval_low"][0] < frame["estimate"][0] < frame["interval_high"][0]


def test_a_library_that_is_none_is_refused_with_the_ones_that_are():
    for found in (TENSOR, jl.decompose(TENSOR), jl.gate(TENSOR, {"prompt": 0.1})):
        with pytest.raises(InputError, match="library 'arrow': a frame is one of pandas, polars"):
            found.to_frame("arrow")


def test_scalars_are_floats():
    macro = jl.decompose(TENSOR).macro()
    assert all(type(value) is float for value in (*macro.values(), *macro.plugin.values()))
