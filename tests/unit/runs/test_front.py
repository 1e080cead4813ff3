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
    "dicts without a verdict": ([{"item": "i"}], TableError, "no column 'verdict'"),
    "a frame without a column": (unnamed_column(), TableError, "no column 'verdict'"),
    "no file": ("nowhere.csv", TableError, "nowhere.csv"),
}


def test_one_repeat_is_analysed_and_what_needs_two_is_refused(tmp_path):
    once = drawn(repeats=1)
    found = jl.analyze(once, permutations=0, draws=20)
    (judge,) = found.to_json()["judges"].values()
    assert judge["components"]["call"] is None
    page = jl.report(once, tmp_path / "page.html").read_text()
    assert "not known: one call each" in page
    with pytest.raises(NotIdentifiedError):
        jl.gate(once, {"prompt": 0.1})


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_an_error_of_ours(kind):
    x, error, words = BAD[kind]
    for ask in (jl.analyze, lambda x: jl.gate(x, {"prompt": 0.1}), jl.report):
        with pytest.raises(error, match=re.escape(words)):
            ask(x)


def test_one_call_a_cell_is_answered_and_shown_but_passes_no_gate_of_a_component(tmp_path):
    x = drawn(repeats=1)
    assert jl.analyze(x).judges["judge"].one_call
    page = jl.report(x, tmp_path / "report.html").read_text()
    assert "One call in each cell: chance cannot be told from prompt and order" in page
    with pytest.raises(NotIdentifiedError, match="second"):
        jl.gate(x, {"prompt": 0.1})


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
        ({"incomplete": "maybe"}, "incomplete 'maybe': it is 'error' or 'drop'"),
        ({"order_weights": [1]}, "order_weights = [1]: the orders are AB, BA: weigh each by name"),
        ({"order_weights": {"AB": "much"}}, "order_weights AB = 'much': a number is needed"),
        ({"order_weights": 3}, "order_weights = 3: write order_weights={'AB': 0.5, 'BA': 0.5}"),
        ({"judge": 3}, "judge = 3: one name or a list of names is needed"),
        ({"judge": [3]}, "judge = 3: a name is needed"),
        ({"repeats": 2.5}, "repeats = 2.5: a whole number is needed"),
        ({"draws": "many"}, "draws = 'many': a whole number is needed"),
        ({"seed": -1}, "seed = -1: a seed is not negative"),
        ({"permutations": 9.5}, "permutations = 9.5: a whole number is needed"),
        ({"level": None}, "level = None: a number is needed"),
        ({"soft": "no"}, "soft 'no': it is 'auto', 'never' or 'only'"),
        ({"roles": ["audit"]}, "roles = ['audit']: write roles={"),
        ({"progress": True}, "progress = True: a function is needed"),
    ],
)
def test_a_wrong_option_is_an_error_of_ours(option, words):
    with pytest.raises(InputError, match=re.escape(words)):
        jl.analyze(TENSOR, **option)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: jl.gate(TENSOR, {"prompt": "low"}), "limits prompt = 'low': a number is needed"),
        (lambda: jl.gate(TENSOR, {"prompt": None}), "limits prompt = None: a number is needed"),
        (lambda: jl.gate(TENSOR, [("prompt", 0.1)]), "write limits={'prompt': 0.02}"),
        (lambda: jl.gate(TENSOR, {"prompt": 0.1}, items="old"), "items 'old': it is 'fixed' or"),
        (lambda: jl.gate(TENSOR, {"prompt": 0.1}, strict="yes"), "strict = 'yes': it is True or"),
        (lambda: jl.compare(TENSOR, by="order"), "by 'order': it is 'judge' or 'prompt'"),
        (lambda: jl.compare(TENSOR, judge=3), "judge = 3: one name or a list of names"),
        (lambda: jl.VerdictTensor.from_table(ROWS, judge=3), "judge = 3: a name is needed"),
        (lambda: jl.VerdictTensor.from_table(ROWS, columns="v"), "write columns={'verdict': 'win"),
        (lambda: jl.VerdictTensor.from_table(ROWS, columns={3: "v"}), "columns = {3: 'v'}: write"),
        (lambda: jl.VerdictTensor.from_table(ROWS, repeats="x"), "repeats = 'x': a whole number"),
        (lambda: jl.report(TENSOR, "."), "cannot write .: it is a folder"),
        (lambda: jl.report(TENSOR, 3), "path = 3: the path of a file is needed"),
        (lambda: jl.advise(TENSOR, seed="x"), "seed = 'x': a whole number is needed"),
        (lambda: jl.advise(TENSOR, protocols=3), "write protocols=['drawn:3 both 2 random']"),
        (lambda: jl.score(TENSOR, protocol={"prompt": 1}), "did you mean 'prompts'?"),
        (lambda: jl.watch([ROWS, ROWS], permutations=0), "permutations = 0: a p value needs one"),
        (lambda: jl.plan({}, law=1), "law = 1: write law=(0.6"),
        (lambda: jl.score(TENSOR, by=3), "by = 3: a name is needed"),
        (lambda: jl.validate({3: TENSOR}), "key 3: tensors go by judge"),
        (lambda: jl.validate(ROWS, judge=["judge"]), "judge = ['judge']: a name is needed"),
        (lambda: jl.watch([{3: TENSOR}, ROWS]), "key 3: tensors go by judge"),
        (lambda: jl.watch([ROWS, ROWS], looks=1.5), "looks = 1.5: a whole number is needed"),
        (lambda: jl.plan({}, items="old"), "items 'old': it is 'fixed' or 'new'"),
    ],
)
def test_every_question_says_what_an_option_takes(ask, words):
    with pytest.raises(InputError, match=re.escape(words)):
        ask()


def test_weights_in_sequence_are_written_down_by_name():
    listed, named = (
        jl.analyze(TENSOR, order_weights=weights, **FAST)
        for weights in ([0.25, 0.75], {"AB": 0.25, "BA": 0.75})
    )
    assert listed.settings.order_weights == {"AB": 0.25, "BA": 0.75}
    assert listed.to_json() == named.to_json()


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
    gold = replace(TENSOR, gold=TENSOR.verdicts[:1] * len(TENSOR.items))
    yield from (jl.advise(TENSOR), jl.score(many), jl.validate(gold))
    yield jl.watch([ROWS, ROWS], permutations=19)
    yield from (large, jl.decompose(large), jl.decompose(large).macro())


def test_every_public_object_shows_itself_in_short_and_goes_into_frames_and_json(tmp_path):
    import json

    for found in public_objects(tmp_path):
        kind = type(found).__name__
        assert 20 < len(repr(found)) < 3000, kind
        assert re.search("<(table|div)", found._repr_html_()), kind
        assert found.to_frame("polars").height == len(found.to_frame("pandas"))
        document = json.loads(json.dumps(found.to_json(), allow_nan=False))
        assert re.fullmatch(r"judgelaw\.[\w-]+/1", document["schema"]), kind


def test_what_a_judge_function_gets_and_gives_shows_itself_in_short():
    text = "long " * 4_000
    call = jl.Call(
        messages=({"role": "user", "content": text},),
        text=text,
        seed=7,
        item={"id": "i1", "instruction": text},
        prompt="p1",
        order="AB",
        repeat=0,
        decoding={},
    )
    reply = jl.Reply(text=text, id=text, usage={"input_tokens": 3}, logprobs={"A": -0.1})
    assert repr(call).startswith("Call(i1 x p1 x AB, repeat 0, seed 7: 'long long")
    assert repr(reply).startswith("Reply('long long")
    assert max(len(repr(call)), len(repr(reply))) < 3000


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


@pytest.mark.parametrize(
    ("most", "verdict"), [(0.99, "pass"), (0.001, "fail"), (0.55, "inconclusive")]
)
def test_a_gate_is_true_where_it_passes_and_nowhere_else(most, verdict):
    half = [[[[4, 4]]], [[[6, 2]]], [[[3, 5]]], [[[5, 3]]]]
    coin = jl.VerdictTensor.from_counts(np.array(half), verdicts=("pass", "fail"))
    found = jl.gate(coin, {"call": most})
    assert (found.verdict, bool(found)) == (verdict, verdict == "pass")
    assert repr(found).startswith(verdict)


def test_people_and_dates_answer_the_same_way():
    rows = [{"item": f"i{n}", "verdict": "pass", "human": "pass"} for n in range(200)]
    assert jl.validate(rows, minimum={"agreement": 0.5})
    assert not jl.validate(rows, minimum={"agreement": 0.9999})
    dated = [
        {"item": f"i{n}", "repeat": r, "date": d, "verdict": "pass" if d < "2026-02" else "fail"}
        for d in ("2026-01-01", "2026-02-01")
        for n in range(60)
        for r in range(3)
    ]
    moved = jl.watch(dated)
    assert bool(moved) == (moved.verdict == "quiet")
    assert not moved
