"""Logs as strangers published them: the rows are what was counted in the files by hand."""

from collections import Counter, defaultdict

import pytest

from judgelaw.errors import TableError
from judgelaw.tables.importers import detect, known_log
from support.calls import wild

KNOWN = {
    "alpaca_phi-2-sft.json": ("alpaca-eval", 120, 120),
    "alpaca_vicuna-13b.json": ("alpaca-eval", 120, 120),
    "deepeval_agri.json": ("deepeval", 2, 4),
    "deepeval_latest.json": ("deepeval", 1, 3),
    "judgebench_two_games.jsonl": ("judgebench", 120, 240),
    "mtbench_pair.jsonl": ("mt-bench-pair", 75, 150),
    "mtbench_single.jsonl": ("mt-bench-single", 160, 160),
    "promptfoo_niche.json": ("promptfoo", 10, 10),
    "promptfoo_reqverify.json": ("promptfoo", 1, 1),
    "ragas_diaure.csv": ("ragas", 6, 24),
    "ragas_tiago.csv": ("ragas", 10, 40),
    "teormin__multi-p.eval": ("inspect", 10, 10),
    "teormin__qm-prob.eval": ("inspect", 30, 30),
}
TABLES = (
    *("panel_two_orders.jsonl", "geval_scores.csv", "triviaqa_nine_judges.csv", "hiver_hand.csv"),
    *("hiver_judge_scores.csv", "abelo_exp3.json", "swap_rep1.tsv", "fourway_o0_0.jsonl"),
)


def swapped(rows):
    """How many items changed when the answers were swapped, and of how many."""
    orders = defaultdict(dict)
    for row in rows:
        orders[row["item"]][row["order"]] = row["verdict"]
    assert all(set(found) == {"AB", "BA"} for found in orders.values())
    return sum(found["AB"] != found["BA"] for found in orders.values()), len(orders)


@pytest.mark.parametrize("name", KNOWN)
def test_a_published_log_is_told_by_its_content_and_holds_no_repeats(name):
    path = wild(name)
    source, items, calls = KNOWN[name]
    log = known_log([path])
    assert detect(path) == log.format == source
    assert (len({row["item"] for row in log.rows}), len(log.rows)) == (items, calls)
    assert {row["repeat"] for row in log.rows} == {"0"}
    assert {row["prompt"] for row in log.rows} <= {"as given", "pair", "single", "arena_hard"}


@pytest.mark.parametrize("name", TABLES)
def test_a_published_table_is_no_log_of_a_tool(name):
    assert known_log([wild(name)]) is None


def test_28_of_75_pairs_of_mt_bench_change_when_swapped():
    log = known_log([wild("mtbench_pair.jsonl")])
    assert swapped(log.rows) == (28, 75)
    assert Counter(row["verdict"] for row in log.rows)["invalid"] == 3


def test_turns_of_mt_bench_are_items_and_scores_its_scale():
    log = known_log([wild("mtbench_single.jsonl")])
    assert len({row["cluster"] for row in log.rows}) == 80
    assert log.scale == tuple(range(1, 11))
    assert {row["judge"] for row in log.rows} == {"gpt-4"}


def test_judgebench_is_right_in_both_games_30_and_28_of_120_times():
    log = known_log([wild("judgebench_two_games.jsonl")])
    right = defaultdict(list)
    for row in log.rows:
        right[row["item"], row["gold"]].append(row["verdict"] == row["gold"])
    both = Counter(gold for (_, gold), found in right.items() if all(found))
    assert both == {"candidate_2": 30, "candidate_1": 28}
    assert {row["judge"] for row in log.rows} == {"o1-mini-2024-09-12"}


def test_preferences_are_probabilities_and_two_systems_two_items_each():
    paths = [wild("alpaca_phi-2-sft.json"), wild("alpaca_vicuna-13b.json")]
    log = known_log(paths)
    assert log.scale == {"from": 1, "to": 2}
    assert all(1 < float(row["verdict"]) < 2 for row in log.rows)
    assert len({row["item"] for row in log.rows}) == 240
    assert len({row["cluster"] for row in log.rows}) == 120
    assert {row["repeat"] for row in log.rows} == {"0"}


def test_the_judge_of_promptfoo_is_the_grader_and_no_provider_under_test():
    log = known_log([wild("promptfoo_niche.json")])
    assert not any("gpt-4o" in row["judge"] for row in log.rows)
    assert Counter(row["verdict"] for row in log.rows) == {"fail": 10}
    assert log.left_out == ("regex: 16", "javascript: 22", "is-json: 4")


def test_two_logs_of_inspect_are_40_problems_though_ids_collide():
    log = known_log([wild("teormin__multi-p.eval"), wild("teormin__qm-prob.eval")])
    assert len({row["item"] for row in log.rows}) == len({row["cluster"] for row in log.rows}) == 40
    assert len(log.rows) == 40
    scores = [row["verdict"] for row in log.rows]
    assert scores.count("invalid") == 1, "a reply without a grade, which inspect counts as 0"
    mean = sum(int(score) for score in scores if score != "invalid") / 40
    assert mean == pytest.approx((10 * 9.2 + 30 * 7.666666666666667) / 40), "as the logs' headers"


def test_a_string_match_has_no_dice_and_no_parser_is_guessed():
    with pytest.raises(TableError, match=r"match \(asked no model\): 4") as error:
        known_log([wild("inspect_two_items.eval")])
    assert "--parser RULE" in str(error.value)


def test_metrics_of_deepeval_are_criteria_of_one_judge():
    log = known_log([wild("deepeval_agri.json")])
    assert {row["judge"] for row in log.rows} == {"gemini-2.5-pro (Gemini)"}
    assert sorted(float(row["verdict"]) for row in log.rows) == [0, 0.1, 0.3, 1]
    assert len({row["criterion"] for row in log.rows}) == 2


@pytest.mark.parametrize(("name", "blank"), [("ragas_diaure.csv", 17), ("ragas_tiago.csv", 32)])
def test_blanks_of_ragas_are_invalid_and_counted(name, blank):
    log = known_log([wild(name)])
    assert sum(row["verdict"] == "invalid" for row in log.rows) == blank
    assert any(f"{blank} of {len(log.rows)} are blank: invalid" in said for said in log.says)
    assert len({row["criterion"] for row in log.rows}) == 4
