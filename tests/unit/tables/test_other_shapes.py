"""Shapes and names that other tables have: the first answers to what is asked read them."""

import json

import pytest

from judgelaw.errors import TableError, UnclearTableError
from judgelaw.tables.read import read_all
from judgelaw.tables.reading import settled
from judgelaw.tables.said import wishes

ITEMS = range(24)


def score(*seed: int) -> int:
    """Return a score from 1 to 5 that no design would give."""
    return 1 + hash((7, *seed)) % 5


def letter(*seed: int) -> str:
    return "AB"[hash((11, *seed)) % 2]


def write(folder, rows, name="table.jsonl") -> str:
    path = folder / name
    if name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif name.endswith(".json"):
        path.write_text(json.dumps(rows))
    else:
        lines = [";".join(map(str, line)) for line in ([*rows[0]], *(r.values() for r in rows))]
        path.write_text("\n".join(lines) + "\n")
    return str(path)


def answered(path, **said):
    """Read a table with the first answer to everything that is asked."""
    with pytest.raises(UnclearTableError) as asked:
        read_all(path, wishes(**said))
    return read_all(path, settled(asked.value.problems))[0]


def designs(tensors) -> dict:
    """Return items, prompts, orders and calls a cell, by judge and criterion."""
    return {
        (str(name), t.criterion): (len(t.items), *t.counts.shape[1:3], int(t.counts.sum(-1).max()))
        for (_, name), t in tensors.items()
    }


def test_columns_named_by_display_orders(tmp_path):
    rows = [{"q": f"What is {i}?", "original_verdict": letter(i), "swapped_verdict": letter(i, 1)}
            for i in ITEMS]  # fmt: skip
    assert designs(answered(write(tmp_path, rows))) == {("judge", None): (24, 1, 2, 1)}


def test_a_list_of_scores_holds_repeats(tmp_path):
    rows = [{"id": f"q{i}", "scores": [score(i, k) for k in range(4)]} for i in ITEMS]
    assert designs(answered(write(tmp_path, rows))) == {("judge", None): (24, 1, 1, 4)}


def test_fields_of_one_record_named_by_judges(tmp_path):
    rows = [{"id": f"q{i}", "results": {judge: {"score": score(i, n), "why": f"because {i}{n}"}
             for n, judge in enumerate(("gpt-4", "claude"))}} for i in ITEMS]  # fmt: skip
    found = designs(answered(write(tmp_path, rows)))
    assert found == {("gpt-4", None): (24, 1, 1, 1), ("claude", None): (24, 1, 1, 1)}


def test_records_by_the_key_of_their_item_need_no_question(tmp_path):
    rows = {f"q{i}": {"score": score(i), "reason": f"because {i}"} for i in ITEMS}
    found, reading = read_all(write(tmp_path, rows, "scores.json"), wishes())
    assert designs(found) == {("judge", None): (24, 1, 1, 1)}
    assert reading.roles["item"].columns == ("@key",)


def test_lists_by_judge_and_condition(tmp_path):
    rows = {judge: {arm: [{"q": i, "verdict": letter(i, n, m)} for i in ITEMS]
            for m, arm in enumerate(("base", "padded"))}
            for n, judge in enumerate(("gpt-4", "claude"))}  # fmt: skip
    found = designs(answered(write(tmp_path, rows, "runs.json")))
    assert found == {("gpt-4", None): (24, 2, 1, 1), ("claude", None): (24, 2, 1, 1)}


def test_lists_of_different_records_are_not_laid_together(tmp_path):
    rows = {"calls": [{"item": i, "verdict": letter(i)} for i in ITEMS],
            "prompts": [{"name": "p", "text": "Judge."}]}  # fmt: skip
    with pytest.raises(TableError, match="several lists of records: calls"):
        read_all(write(tmp_path, rows, "run.json"), wishes())


def test_decimal_commas_are_numbers(tmp_path):
    rows = [{"id": i, "repeat": k, "score": f"{score(i, k)},0"} for i in ITEMS for k in (0, 1)]
    found, reading = read_all(write(tmp_path, rows, "scores.csv"), wishes())
    ((_, tensor),) = found.items()
    assert set(tensor.verdicts) <= set("12345")
    assert "decimal commas" in reading.line()


def test_the_rows_with_a_verdict_are_named_by_what_they_share(tmp_path):
    rows = []
    for i in ITEMS:
        rows.append({"type": "sampling", "sample_id": f"s{i}", "prompt": "Judge."})
        rows.append({"type": "metrics", "sample_id": f"s{i}", "choice": "YN"[score(i) % 2]})
    assert designs(answered(write(tmp_path, rows))) == {("judge", None): (24, 1, 1, 1)}


@pytest.mark.parametrize("column", ["cost", "confidence", "retries", "is_valid", "correct"])
def test_what_every_cell_holds_equally_often_is_a_condition(column, tmp_path):
    rows = [{"item": i, column: value, "verdict": letter(i, n)}
            for i in ITEMS for n, value in enumerate(("0", "1"))]  # fmt: skip
    with pytest.raises(UnclearTableError, match=f"differ in '{column}'"):
        read_all(write(tmp_path, rows), wishes())


def test_an_id_of_each_row_is_no_item(tmp_path):
    rows = [{"pair_name": f"t{i}", "shown": shown, "uid": f"u{3 * i + n}", "decision": letter(i, n)}
            for i in ITEMS for n, shown in enumerate(("ltr", "rtl"))]  # fmt: skip
    with pytest.raises(UnclearTableError, match="'uid' is another in each row"):
        read_all(write(tmp_path, rows), wishes())


def test_letters_are_no_items(tmp_path):
    rows = [{"prompt_id": i, "is_swapped": i % 2 == 0, "verdict": letter(i), "better": letter(i, 5)}
            for i in range(60)]  # fmt: skip
    with pytest.raises(UnclearTableError, match="no column 'item'") as asked:
        read_all(write(tmp_path, rows), wishes())
    assert settled(asked.value.problems).columns["item"] == ("prompt_id",)


def test_sentences_are_read_and_not_counted(tmp_path):
    rows = [{"id": i, "judgment": f"I think so ... [[{score(i)}]]"} for i in ITEMS]
    ((_, tensor),) = answered(write(tmp_path, rows)).items()
    assert set(tensor.verdicts) <= {*"12345", "invalid"}


def test_labels_beside_the_same_words_may_be_those_of_people(tmp_path):
    rows = [{"id": i, "label": 1 + i % 5, "gpt4": 1 + (i * i) % 5} for i in range(60)]
    with pytest.raises(UnclearTableError, match="could each be the verdict"):
        read_all(write(tmp_path, [{**r, "gpt4": 1 + (r["id"] // 5) % 5} for r in rows]), wishes())


def test_answers_that_add_to_one_part_add_up(tmp_path):
    rows = [{"instance": f"i{i}", "model": model, "dataset": data, "score": score(i, n, m)}
            for i in ITEMS for n, model in enumerate(("llama", "qwen"))
            for m, data in enumerate(("news", "wiki"))]  # fmt: skip
    with pytest.raises(UnclearTableError) as asked:
        read_all(write(tmp_path, rows), wishes())
    said = settled(asked.value.problems)
    assert set(said.columns["item"]) == {"instance", "model", "dataset"}
