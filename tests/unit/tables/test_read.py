"""Reading sound tables: every format, layout and choice."""

import gzip
import json

import duckdb
import numpy as np
import pytest

import judgelaw as jl
from judgelaw.duck import foreign_errors
from judgelaw.errors import InputError, RunError, TableError
from judgelaw.tables import read_tensor, read_tensors, write_calls
from judgelaw.tables.calls import Calls
from judgelaw.tensor import DEFAULT_VERDICTS, VerdictTensor
from support.calls import assert_same, columns, slow, table, write_csv

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".parquet"])
def test_every_format_equals_the_slow_count(tmp_path, suffix):
    rows = table(items=5, repeats=4)
    path = tmp_path / f"calls{suffix}"
    write_calls(path, columns(rows))
    assert_same(read_tensor(path), slow(rows), but=("judge",))
    assert read_tensor(str(path)).judge == "j"


def test_the_front_door_of_the_waist(tmp_path):
    rows = table(repeats=4)
    path = write_csv(tmp_path / "calls.csv", rows)
    assert_same(jl.VerdictTensor.from_table(path), read_tensor(path))
    assert_same(jl.VerdictTensor.from_table(path, "j", None, 2), read_tensor(path, repeats=2))


def test_json_lines_may_be_compressed_blank_and_uneven(tmp_path):
    rows = table()
    rows[0] |= {"note": {"nested": [1, 2]}}
    text = "\n\n".join(json.dumps(row) for row in rows)
    path = tmp_path / "calls.jsonl.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert_same(read_tensor(path), slow(rows), but=("judge",))


def test_json_keys_may_hold_any_character(tmp_path):
    rows = [{("a/b~c\"d'e" if k == "verdict" else k): v for k, v in r.items()} for r in table()]
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    tensor = read_tensor(path, columns={"verdict": "a/b~c\"d'e"})
    assert_same(tensor, slow(table()), but=("judge",))


def test_byte_order_mark_crlf_and_quoted_newlines(tmp_path):
    rows = [row | {"item": row["item"] + '\r\nline "two", with comma'} for row in table()]
    path = write_csv(tmp_path / "calls.csv", rows, lineterminator="\r\n", encoding="utf-8-sig")
    assert_same(read_tensor(path), slow(rows), but=("judge",))


def test_mixed_line_ends_are_read(tmp_path):
    rows = table()
    path = write_csv(tmp_path / "calls.csv", rows)
    lines = path.read_bytes().splitlines()
    mixed = b"".join(line + (b"\r\n" if i % 3 else b"\n") for i, line in enumerate(lines))
    path.write_bytes(mixed)
    assert_same(read_tensor(path), slow(rows), but=("judge",))


def test_a_line_longer_than_duckdb_takes_is_read(tmp_path):
    rows = table()
    rows[4]["completion"] = "x" * 3_000_000
    path = write_csv(tmp_path / "calls.csv", rows)
    assert_same(read_tensor(path), slow(rows), but=("judge",))


def test_blank_lines_and_missing_final_newline(tmp_path):
    path = write_csv(tmp_path / "calls.csv", table())
    path.write_text(path.read_text().replace("\n", "\n\n").rstrip("\n"))
    assert_same(read_tensor(path), slow(table()), but=("judge",))


def test_yes_and_no_stay_words_and_sort(tmp_path):
    rows = table(verdicts=("yes", "no"))
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", rows))
    assert tensor.verdicts == ("no", "yes")
    assert_same(tensor, slow(rows, ("no", "yes")), but=("judge",))


def test_numeric_scores_sort_by_value(tmp_path):
    rows = table(verdicts=("1", "2", "10"), repeats=5)
    path = tmp_path / "calls.parquet"
    write_calls(path, columns(rows) | {"verdict": [int(row["verdict"]) for row in rows]})
    assert read_tensor(path).verdicts == ("1", "2", "10")


def test_a_verdict_that_never_occurs_keeps_its_column(tmp_path):
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", table(verdicts=("tie",))))
    assert tensor.verdicts == DEFAULT_VERDICTS
    assert tensor.counts[..., 2].sum() == tensor.counts.sum() > 0


def test_a_given_alphabet_sets_the_codes(tmp_path):
    rows = table(verdicts=("b", "a"))
    path = write_csv(tmp_path / "calls.csv", rows)
    tensor = read_tensor(path, verdicts=["b", "never", "a"])
    assert_same(tensor, slow(rows, ("b", "never", "a")), but=("judge",))


def test_case_and_synonyms_fold_into_the_usual_four_and_are_noted(tmp_path):
    spelled = {
        "candidate_1": "Candidate_1",
        "candidate_2": "candidate_2 ",
        "tie": "TIE",
        "invalid": "BOT",
    }
    rows = [row | {"verdict": spelled[row["verdict"]]} for row in table()]
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", rows))
    assert_same(tensor, slow(table()), but=("judge", "notes"))
    assert "'BOT' as 'invalid'" in tensor.notes[0]
    assert "'TIE' as 'tie'" in tensor.notes[0]


def test_the_released_layout_of_the_paper_is_read_as_it_is(tmp_path):
    names = {"judge": "model", "item": "item_id", "prompt": "prompt_id", "repeat": "repeat_rank"}
    rows = [
        {names.get(k, k): "BOT" if v == "invalid" else v for k, v in row.items()} for row in table()
    ]
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", rows))
    assert_same(tensor, slow(table()), but=("judge", "notes"))


def test_columns_can_be_mapped_and_left_out(tmp_path):
    rows = [row | {"winner": row.pop("verdict"), "stratum": row["repeat"]} for row in table()]
    path = write_csv(tmp_path / "calls.csv", rows)
    tensor = read_tensor(path, columns={"verdict": "winner", "stratum": None})
    assert_same(tensor, slow(table()), but=("judge",))


def test_without_order_there_is_one(tmp_path):
    rows = [{k: v for k, v in row.items() if k != "order"} for row in table(orders=("AB",))]
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", rows))
    assert tensor.orders == ("only",)
    assert_same(tensor, slow(rows), but=("judge",))


@pytest.mark.parametrize("repeats", [32, 33, 70])
def test_many_repeats_cross_the_words_of_the_masks(tmp_path, repeats):
    rows = table(items=2, prompts=1, repeats=repeats)
    path = write_csv(tmp_path / "calls.csv", rows)
    assert_same(read_tensor(path), slow(rows), but=("judge",))


def test_many_verdicts_take_more_planes_than_a_byte(tmp_path):
    verdicts = tuple(f"v{i:03}" for i in range(300))
    rows = [row | {"verdict": verdicts[n]} for n, row in enumerate(table(items=25, repeats=3))]
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", rows))
    assert_same(tensor, slow(rows, verdicts), but=("judge",))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_counted_in_shares_is_the_same(tmp_path, monkeypatch, suffix):
    """Shares hold different items; a prompt or an order may be missing from one of them."""
    rows = [
        row | {"gold": "tie" if row["item"] > "i3" else None, "stratum": "s" + row["item"]}
        for row in table(items=9, prompts=3, repeats=4)
        if not (row["item"] < "i5" and row["prompt"] == "p1")
        if not (row["item"] == "i8" and row["order"] == "AB")
    ]
    path = tmp_path / f"calls{suffix}"
    write_calls(path, columns(rows))
    monkeypatch.setattr(VerdictTensor, "complete", lambda self, _: self)
    whole = read_tensor(path)
    assert_same(whole, slow(rows), but=("judge", "gold", "strata"))
    monkeypatch.setattr("judgelaw.tables.read._BIG", float("inf"))
    monkeypatch.setattr("judgelaw.tables.read._CELLS_AT_ONCE", 1)
    assert_same(read_tensor(path), whole)


def test_a_table_that_does_not_fit_is_counted_in_smaller_shares(tmp_path, monkeypatch):
    rows = table(items=30)
    path = write_csv(tmp_path / "calls.csv", rows)
    monkeypatch.setattr("judgelaw.tables.read._BIG", float("inf"))
    seen = []
    count_cells = Calls.count_cells

    def short_of_memory(self, con, *, share, **options):
        seen.append(share)
        if share[1] < 16:
            with foreign_errors(self.table):
                raise duckdb.OutOfMemoryException("could not allocate block")
        count_cells(self, con, share=share, **options)

    monkeypatch.setattr(Calls, "count_cells", short_of_memory)
    assert_same(read_tensor(path), slow(rows), but=("judge",))
    assert seen[:3] == [(0, 1), (0, 4), (0, 16)]
    monkeypatch.setattr("judgelaw.tables.read._MOST_SHARES", 4)
    with pytest.raises(RunError, match="memory limit"):
        read_tensor(path)


def test_unequal_repeats_are_kept(tmp_path):
    rows = [row for row in table(repeats=4) if not (row["item"] == "i1" and row["repeat"] == 1)]
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", rows))
    assert tensor.depth == (3, 4)
    assert_same(tensor, slow(rows), but=("judge",))


def test_strata_and_gold_belong_to_items(tmp_path):
    gold = {"i0": "candidate_1", "i1": "TIE", "i2": None}
    stratum = {"i0": "s", "i1": "t", "i2": None}
    rows = [r | {"gold": gold[r["item"]], "stratum": stratum[r["item"]]} for r in table()]
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", rows))
    assert tensor.gold == ("candidate_1", "tie", None)
    assert tensor.strata == ("s", "t", "(no stratum)")


def test_an_empty_stratum_and_a_missing_one_are_the_same(tmp_path):
    """Rows of one cell may write it either way, and none of its calls is lost."""
    rows = [row | {"stratum": (None, "")[n % 2]} for n, row in enumerate(table(repeats=4))]
    path = tmp_path / "calls.parquet"
    write_calls(path, columns(rows))
    assert_same(read_tensor(path), slow(rows), but=("judge",))


def test_a_column_may_play_two_parts(tmp_path):
    """One item, judged by its own author: the judge is the item."""
    rows = table(items=1)
    path = write_csv(tmp_path / "calls.csv", rows)
    tensor = read_tensor(path, columns={"item": "judge"})
    assert tensor.items == ("j",)
    assert_same(tensor, slow(rows), but=("judge", "items"))


def test_columns_of_nothing_are_absent(tmp_path):
    rows = [row | {"gold": None, "stratum": None, "layer": None} for row in table()]
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", rows))
    assert (tensor.gold, tensor.strata, tensor.layer) == (None, None, None)


def test_gold_may_number_the_candidates(tmp_path):
    rows = [row | {"gold": 1 + (row["item"] == "i1")} for row in table()]
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", rows))
    assert tensor.gold == ("candidate_1", "candidate_2", "candidate_1")


def test_a_gold_label_never_given_is_part_of_an_inferred_alphabet(tmp_path):
    rows = [row | {"gold": "no"} for row in table(verdicts=("yes",))]
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", rows))
    assert tensor.verdicts == ("no", "yes")
    assert tensor.counts[..., 0].sum() == 0


def test_several_judges_and_layers(tmp_path):
    rows = [
        row | {"layer": layer}
        for layer in ("audit", "control")
        for judge, repeats in (("a", 2), ("b", 4))
        for row in table(judge=judge, repeats=repeats, items=2 if layer == "audit" else 3)
    ]
    path = write_csv(tmp_path / "calls.csv", rows)
    tensors = read_tensors(path)
    assert list(tensors) == [("audit", "a"), ("audit", "b"), ("control", "a"), ("control", "b")]
    for (layer, judge), tensor in tensors.items():
        assert (tensor.layer, tensor.judge) == (layer, judge)
        assert_same(tensor, read_tensor(path, judge=judge, layer=layer))
        mine = [row for row in rows if (row["layer"], row["judge"]) == (layer, judge)]
        assert_same(tensor, slow(mine), but=("judge", "layer"))
    assert set(read_tensors(path, judges=["b"])) == {("audit", "b"), ("control", "b")}


def test_a_layer_of_one_judge_needs_no_name(tmp_path):
    rows = [row | {"layer": "audit"} for row in table()]
    path = write_csv(tmp_path / "calls.csv", rows)
    assert read_tensor(path).layer == "audit"
    assert list(read_tensors(path)) == [("audit", "j")]


def test_a_prefix_keeps_items_and_alphabet(tmp_path):
    rows = table(repeats=5, verdicts=("x", "y", "z"))
    path = write_csv(tmp_path / "calls.csv", rows)
    assert_same(read_tensor(path, repeats=2), read_tensor(path).prefix(2))
    with pytest.raises(InputError, match=r"repeats = 6, but judge 'j'.*0 to 4.*5 at most"):
        read_tensor(path, repeats=6)


def test_incomplete_designs(tmp_path):
    rows = [row | {"stratum": "st-" + row["item"]} for row in table()]
    rows = [row for row in rows if (row["item"], row["order"]) != ("i2", "BA")]
    path = write_csv(tmp_path / "calls.csv", rows)
    with pytest.raises(jl.IncompleteDesignError, match=r"2 of 12 cells.*i2 x p0 x BA.*drop"):
        read_tensor(path)
    kept = read_tensor(path, incomplete="drop")
    assert kept.items == ("i0", "i1")
    assert kept.notes == ("dropped 1 of 3 items without two calls in every cell (st-i2 1)",)


def test_parquet_of_any_column_type(tmp_path):
    path = tmp_path / "calls.parquet"
    with duckdb.connect() as con:
        con.execute(
            f"""COPY (SELECT 7 AS judge, i::DOUBLE AS item, k::UTINYINT AS prompt, r::HUGEINT AS
            repeat, (i + k + r) % 2 = 0 AS verdict FROM range(3) a(i), range(2) b(k), range(4) c(r))
            TO '{path}'"""  # noqa: S608 - a path of our own
        )
    tensor = read_tensor(path)
    assert tensor.items == ("0.0", "1.0", "2.0")
    assert (tensor.judge, tensor.verdicts) == ("7", ("false", "true"))
    assert tensor.ranked[1, 0, 0].tolist() == [0, 1, 0, 1]


def test_whole_numbers_written_as_decimals_are_ranks(tmp_path):
    rows = [row | {"repeat": f"{row['repeat']}.0"} for row in table()]
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", rows))
    assert_same(tensor, slow(table()), but=("judge",))


def test_quotes_in_labels_and_columns_are_only_text(tmp_path):
    evil = "x'); DROP TABLE cells; --\""
    rows = [{**r, "judge": evil, "verdict": evil if r["repeat"] else "y"} for r in table()]
    rows = [{(evil if k == "item" else k): v for k, v in row.items()} for row in rows]
    for suffix in (".csv", ".parquet", ".jsonl"):
        path = tmp_path / f"calls{suffix}"
        write_calls(path, columns(rows))
        tensor = read_tensor(path, judge=evil, columns={"item": evil})
        assert tensor.verdicts == (evil, "y")
        assert tensor.counts.sum(axis=(0, 1, 2)).tolist() == [24, 12]


def test_the_default_connection_of_the_user_is_left_alone(tmp_path):
    path = write_csv(tmp_path / "calls.csv", table())
    before = duckdb.sql("SHOW ALL TABLES").fetchall()
    limit = duckdb.sql("SELECT current_setting('memory_limit')").fetchall()
    read_tensor(path)
    assert duckdb.sql("SHOW ALL TABLES").fetchall() == before
    assert duckdb.sql("SELECT current_setting('memory_limit')").fetchall() == limit


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    path = tmp_path / "calls.csv.gz"
    write_calls(path, columns(table()))
    read_tensor(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TableError):
        read_tensor(path)
    assert list(scratch.iterdir()) == []


def test_arrays_are_of_the_declared_types(tmp_path):
    tensor = read_tensor(write_csv(tmp_path / "calls.csv", table()))
    assert isinstance(tensor, VerdictTensor)
    assert tensor.counts.dtype == np.int64
    assert tensor.ranked.dtype == np.int16
    assert tensor.counts.flags.c_contiguous
    assert tensor.ranked.flags.c_contiguous
