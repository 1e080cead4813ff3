"""Logs whose format says what everything means: small ones of every format."""

import json
from collections import Counter

import pytest

from judgelaw.errors import InputError, TableError
from judgelaw.tables.importers import FORMATS, detect, import_log, known_log
from support.imports import FIXTURES

DEEPEVAL = {
    "testRunData": {
        "testCases": [
            {
                "name": f"test_case_{n}",
                "input": "why is the sky blue",
                "actualOutput": output,
                "order": n,
                "additionalMetadata": {"human": "good"},
                "metricsData": [
                    {"name": "Clear [GEval]", "score": score, "evaluationModel": "m"},
                    {"name": "Length", "score": 1.0},
                    {"name": "Polite [GEval]", "evaluationModel": "m", "error": error},
                ],
            }
            for n, (output, score, error) in enumerate(
                [
                    ("rays", 0.5, "Evaluation LLM outputted an invalid JSON"),
                    ("water", 1.0, "Connection error"),
                    ("rays", 0.25, None),
                ]
            )
        ]
    }
}


def written(path, content):
    lines = isinstance(content, list) and path.suffix == ".jsonl"
    text = "".join(f"{json.dumps(r)}\n" for r in content) if lines else json.dumps(content)
    path.write_text(content if isinstance(content, str) else text)
    return path


def cells(rows, *parts):
    return [tuple(row.get(part) for part in parts) for row in rows]


def test_deepeval_judges_by_content_and_not_by_index(tmp_path):
    log = known_log([written(tmp_path / "run.json", DEEPEVAL)])
    assert log.format == "deepeval"
    first, second, third = (row for row in log.rows if row["criterion"] == "Clear [GEval]")
    assert first["item"] == third["item"] != second["item"]
    assert [row["repeat"] for row in (first, second, third)] == ["0", "0", "1"]
    assert "order" not in first, "the index of a case is no display order"
    assert {row["judge"] for row in log.rows} == {"m"}
    assert {row["human"] for row in log.rows} == {"good"}
    (polite,) = (row for row in log.rows if row["criterion"] == "Polite [GEval]")
    assert polite["verdict"] == "invalid"
    assert log.left_out == (
        "Length (asked no model): 3",
        "Polite [GEval] (no score: Connection error): 1",
        "Polite [GEval] (no score): 1",
    )
    assert log.scale == {"from": 0, "to": 1}


def test_ragas_metrics_are_criteria_and_blanks_are_said(tmp_path):
    table = written(
        tmp_path / "scores.csv",
        "user_input,retrieved_contexts,response,faithfulness,bleu_score,latency\n"
        "q,\"['a', 'b']\",x,1.0,0.3,7\n"
        "q,[],y,,0.4,7\n",
    )
    log = known_log([table])
    assert log.format == "ragas"
    assert cells(log.rows, "criterion", "verdict") == [
        ("faithfulness", "1"),
        ("faithfulness", "invalid"),
    ]
    one, other = log.rows
    assert one["item"] != other["item"]
    assert one["cluster"] == other["cluster"]
    assert "verdict: the score, 0 to 1; 1 of 2 are blank: invalid" in log.says
    assert log.left_out == (
        "column bleu_score (computed, no model asked): 2",
        "column latency (no metric of ragas): 2",
    )


def promptfoo(*components, variables=None, options=None):
    row = {
        "id": "row-1",
        "provider": {"id": "openai:under-test"},
        "prompt": {"raw": "answer: {{q}}", "label": "p"},
        "vars": variables or {"q": "sky"},
        "response": {"output": "blue"},
        "testCase": {"options": options or {}, "metadata": {"prompt": "the task"}},
        "gradingResult": {"pass": True, "score": 1, "componentResults": list(components)},
    }
    return {"evalId": "e", "results": {"version": 3, "results": [row]}, "config": {}}


def rubric(score, *, kind="llm-rubric", value="is true", provider=None, **more):
    assertion = {"type": kind, "value": value, **({"provider": provider} if provider else {})}
    return {"pass": score > 0, "score": score, "assertion": assertion, **more}


def test_promptfoo_calls_are_assertions_that_asked_a_model(tmp_path):
    export = promptfoo(
        rubric(1, provider={"id": "openai:grader"}),
        rubric(1, kind="contains"),
        rubric(0, value="is kind", reason="Could not extract JSON from llm-rubric response"),
        rubric(0, value="is short", metadata={"graderError": True}),
        rubric(0, kind="human"),
        options={"provider": "openai:second"},
    )
    log = known_log([written(tmp_path / "out.json", export)])
    assert cells(log.rows, "judge", "verdict", "human", "prompt") == [
        ("openai:grader", "pass", "fail", "as given"),
        ("openai:second", "invalid", "fail", "as given"),
    ]
    assert len({row["item"] for row in log.rows}) == 2, "another rubric is another question"
    assert log.left_out == ("contains: 1", "llm-rubric (the grader gave no reply): 1")


def test_a_grade_that_a_cache_gave_again_is_a_copy(tmp_path):
    fresh = rubric(1, tokensUsed={"total": 9, "cached": 0})
    again = rubric(1, tokensUsed={"total": 9, "cached": 9})
    twice = promptfoo(fresh, fresh, again)
    log = known_log([written(tmp_path / "out.json", twice)])
    assert [row["repeat"] for row in log.rows] == ["0", "1"]
    assert log.left_out == ("copies of replies that are there already, no repeats: 1",)


def test_a_run_that_lies_in_two_files_is_one_run(tmp_path):
    run = json.loads(json.dumps(DEEPEVAL))
    for number, case in enumerate(run["testRunData"]["testCases"]):
        case["runDuration"] = 1.5 + number
    paths = [written(tmp_path / "a.json", run), written(tmp_path / "b.json", run["testRunData"])]
    log = known_log(paths)
    assert log.rows == known_log(paths[:1]).rows
    assert log.left_out[-1] == "copies of replies that are there already, no repeats: 4"


def test_a_promptfoo_export_without_a_grader_is_refused_with_what_there_is(tmp_path):
    plain = written(tmp_path / "out.json", promptfoo(rubric(1, kind="contains")))
    with pytest.raises(TableError, match=r"no assertion asked a model \(contains: 1\)") as error:
        known_log([plain])
    assert "--parser RULE" in str(error.value), "a parser that was guessed would import nonsense"


PAIR = {
    "question_id": 81,
    "model_1": "x",
    "model_2": "y",
    "judge": ["gpt-4", "pair-v2"],
    "g1_winner": "model_1",
    "g2_winner": "model_1",
    "turn": 1,
}


def test_mt_bench_winners_name_systems_and_are_not_turned_again(tmp_path):
    math = {**PAIR, "question_id": 111, "judge": ["gpt-4", "pair-math-v1"], "g2_winner": "error"}
    log = known_log([written(tmp_path / "pair.jsonl", [PAIR, math])])
    assert cells(log.rows, "order", "verdict") == [
        ("AB", "candidate_1"),
        ("BA", "candidate_1"),
        ("AB", "candidate_1"),
        ("BA", "invalid"),
    ]
    assert {row["prompt"] for row in log.rows} == {"pair"}
    assert {row["repeat"] for row in log.rows} == {"0"}


def test_mt_bench_prompts_are_crossed_where_an_item_has_several(tmp_path):
    other = {**PAIR, "judge": ["gpt-4", "pair-v3"]}
    log = known_log([written(tmp_path / "pair.jsonl", [PAIR, other])])
    assert Counter(row["prompt"] for row in log.rows) == {"pair-v2": 2, "pair-v3": 2}
    assert len({row["item"] for row in log.rows}) == 1


def test_turns_and_systems_of_mt_bench_are_items(tmp_path):
    records = [
        {
            "question_id": 81,
            "model": model,
            "judge": ["gpt-4", "single-v1"],
            "judgment": "fine",
            "score": score,
            "turn": turn,
        }
        for model in ("x", "y")
        for turn, score in ((1, 9), (2, -1))
    ]
    log = known_log([written(tmp_path / "single.jsonl", records)])
    assert len({row["item"] for row in log.rows}) == 4
    assert {row["cluster"] for row in log.rows} == {"81"}
    assert [row["verdict"] for row in log.rows] == ["9", "invalid"] * 2


def alpaca(system, preference):
    return {
        "instruction": "name three",
        "output_1": "a b c",
        "generator_1": "reference",
        "output_2": f"{system} says",
        "generator_2": system,
        "annotator": "weighted",
        "preference": preference,
    }


def test_a_preference_between_1_and_2_is_a_probability_and_no_label(tmp_path):
    soft = written(tmp_path / "soft.json", [alpaca("x", 1.25), alpaca("x", None)])
    log = known_log([soft])
    assert (log.rows[0]["verdict"], log.scale) == ("1.25", {"from": 1, "to": 2})
    assert log.rows[1]["verdict"] == "invalid"
    hard = written(tmp_path / "hard.json", [alpaca("x", 1), alpaca("x", 2.0), alpaca("x", 1.5)])
    assert [row["verdict"] for row in known_log([hard]).rows] == [
        "candidate_1",
        "candidate_2",
        "tie",
    ]


def test_two_files_of_alpaca_eval_are_two_systems(tmp_path):
    paths = [written(tmp_path / f"{s}.json", [alpaca(s, 1.5)]) for s in ("x", "y")]
    rows = known_log(paths).rows
    assert len({row["item"] for row in rows}) == 2
    assert {row["repeat"] for row in rows} == {"0"}
    assert len({row["cluster"] for row in rows}) == 1


def test_games_against_a_baseline_are_turned_into_candidates(tmp_path):
    record = {
        "question_id": "q",
        "model": "x",
        "judge": "gpt-4.1",
        "games": [{"score": "A>>B"}, {"score": "A>B"}, {"score": "A=B"}],
    }
    uid = {**record, "uid": "u", "games": [{"score": None}, None]}
    log = known_log([written(tmp_path / "x.jsonl", [record, uid])])
    assert cells(log.rows, "item", "order", "verdict") == [
        ("q/x", "AB", "candidate_1"),
        ("q/x", "BA", "candidate_2"),
        ("u/x", "AB", "invalid"),
    ]
    assert log.left_out == ("game 3 (its order is not known): 1", "game 2 (not played): 1")


def test_the_second_game_of_judgebench_is_restored_and_its_label_is_not(tmp_path):
    record = {
        "pair_id": "p",
        "response_A": "a",
        "response_B": "b",
        "label": "B>A",
        "judge_name": "arena_hard",
        "judgments": [
            {"judgment": {"judge_model": "m"}, "decision": "B>A"},
            {"judgment": {"judge_model": "m"}, "decision": "A>B"},
        ],
    }
    log = known_log([written(tmp_path / "out.jsonl", [record])])
    assert cells(log.rows, "order", "verdict", "gold") == [
        ("AB", "candidate_2", "candidate_2"),
        ("BA", "candidate_2", "candidate_2"),
    ]


def test_llmbar_winners_name_outputs_and_later_rounds_are_left_out(tmp_path):
    games = {"swap = False": {"winner": "1"}, "swap = True": {"winner": "1"}}
    record = {"input": "i", "output_1": "a", "output_2": "b", "label": 2, "results": [games] * 2}
    folder = tmp_path / "evaluators" / "GPT-4" / "Swap"
    folder.mkdir(parents=True)
    log = known_log([written(folder / "result.json", [record])])
    assert cells(log.rows, "judge", "prompt", "order", "verdict", "gold") == [
        ("GPT-4", "Swap", "AB", "candidate_1", "candidate_2"),
        ("GPT-4", "Swap", "BA", "candidate_1", "candidate_2"),
    ]
    assert log.left_out == ("later rounds, which are shown the replies of the first: 1",)


def test_pandalm_is_the_name_before_the_result(tmp_path):
    records = [
        {"idx": n, "gpt_result": result, "gpt_reason": "because"}
        for n, result in enumerate([1, 2, 0, "Tie", "garbage"])
    ]
    rows = known_log([written(tmp_path / "gpt.json", records)]).rows
    assert {row["judge"] for row in rows} == {"gpt"}
    assert [row["verdict"] for row in rows] == [
        *("candidate_1", "candidate_2", "tie", "tie", "invalid")
    ]


INSPECT = {
    "version": 2,
    "eval": {"task": "facts", "model": "under-test", "model_roles": {}},
}


def sample(
    number, *, epoch=1, asked="why", answer="so", grader="grader", value="C", role=False, **more
):
    span = {"event": "span_begin", "id": "s", "type": "scorer", "name": "model_graded_qa"}
    model = {"event": "model", "model": grader, "span_id": "s"}
    return {
        "id": number,
        "epoch": epoch,
        "input": asked,
        "target": "t",
        "output": {"choices": [{"message": {"content": answer}}]},
        "scores": {
            "model_graded_qa": {
                "value": value,
                "explanation": "GRADE",
                "metadata": {"grading": [{"role": "user"}]} if role else {},
            },
            "exact": {"value": 1},
        },
        "events": [] if role else [span, model],
        **more,
    }


def inspect_log(path, *samples, **task):
    return written(path, {**INSPECT, "eval": {**INSPECT["eval"], **task}, "samples": samples})


def test_inspect_graders_are_the_judges_and_string_matches_are_left_out(tmp_path):
    path = inspect_log(
        tmp_path / "log.json",
        sample(1, metadata={"human_label": "correct"}),
        sample(2, value="I", answer="other"),
    )
    log = known_log([path])
    assert cells(log.rows, "judge", "item", "verdict", "human") == [
        ("grader", "1", "correct", "correct"),
        ("grader", "2", "incorrect", None),
    ]
    assert log.left_out == ("exact (asked no model): 2",)


def test_a_new_answer_of_inspect_is_a_new_item_and_no_repeat(tmp_path):
    samples = [sample(1, epoch=epoch, answer=f"answer {epoch}") for epoch in (1, 2)]
    rows = known_log([inspect_log(tmp_path / "log.json", *samples)]).rows
    assert cells(rows, "item", "cluster", "answer", "repeat") == [
        ("1/1", "1", "1", "0"),
        ("1/2", "1", "2", "0"),
    ]


def test_ids_of_two_tasks_are_one_item_only_where_the_inputs_agree(tmp_path):
    one = inspect_log(tmp_path / "a.json", sample(1), sample(2, asked="a question"))
    other = inspect_log(
        tmp_path / "b.json", sample(1), sample(2, asked="another question"), task="more"
    )
    rows = known_log([one, other]).rows
    assert cells(rows, "item", "repeat") == [
        ("1", "0"),
        ("2", "0"),
        ("1", "1"),
        ("more/2", "0"),
    ]


def test_a_grader_is_found_by_its_role_and_never_taken_for_the_model_under_test(tmp_path):
    roles = {"grader": {"model": "by-role"}}
    path = inspect_log(tmp_path / "a.json", sample(1, role=True), model_roles=roles)
    assert known_log([path]).rows[0]["judge"] == "by-role"
    path = inspect_log(tmp_path / "b.json", sample(1, role=True))
    assert known_log([path]).rows[0]["judge"] == "grader of model_graded_qa"


def test_stored_scores_without_a_completion_are_read(tmp_path):
    path = inspect_log(tmp_path / "a.json", sample(1, output={}))
    assert [row["verdict"] for row in known_log([path]).rows] == ["correct"]


def test_a_reply_without_a_grade_is_invalid_and_not_incorrect(tmp_path):
    record = sample(1, value="I")
    record["scores"]["model_graded_qa"]["explanation"] = "Grade not found in model output: hm"
    path = inspect_log(tmp_path / "a.json", record)
    assert [row["verdict"] for row in known_log([path]).rows] == ["invalid"]


def test_older_logs_of_inspect_have_steps_for_spans(tmp_path):
    events = [
        {"event": "model", "model": "under-test"},
        {"event": "step", "action": "begin", "type": "scorer", "name": "model_graded_qa"},
        {"event": "model", "model": "by-step"},
        {"event": "step", "action": "end", "type": "scorer", "name": "model_graded_qa"},
        {"event": "step", "action": "begin", "type": "scorer", "name": "exact"},
    ]
    path = inspect_log(tmp_path / "a.json", sample(1, events=events))
    assert [row["judge"] for row in known_log([path]).rows] == ["by-step"]


def test_a_grader_that_inspect_asked_again_gives_repeats_and_epochs_do_not():
    log = known_log([FIXTURES / "inspect-graded.eval"])
    assert Counter(row["item"] for row in log.rows) == {"1/1": 3, "1/2": 3, "2/1": 3, "2/2": 3}
    assert {row["repeat"] for row in log.rows} == {"0", "1", "2"}
    assert {row["judge"] for row in log.rows} == {"openai-api/local/grader"}
    assert {(row["cluster"], row["human"]) for row in log.rows} == {
        ("1", "incorrect"),
        ("2", "correct"),
    }
    assert {row["verdict"] for row in log.rows} == {"correct", "incorrect", "invalid"}
    assert log.left_out == ("match (asked no model): 4",)


def test_two_questions_of_one_scorer_are_two_criteria(tmp_path):
    options = [{"model": "a"}, {"model": "b"}, {"model": "b", "instructions": "be strict"}]
    scorers = [{"name": "model_graded_qa", "options": each} for each in options]
    record = sample(1, events=[], scores={})
    for number, name in enumerate(["model_graded_qa", "model_graded_qa1", "model_graded_qa2"]):
        record["scores"][name] = {"value": "C"}
        record["events"] += [
            {"event": "span_begin", "id": number, "type": "scorer", "name": name},
            {"event": "model", "model": options[number]["model"], "span_id": number},
        ]
    rows = known_log([inspect_log(tmp_path / "log.json", record, scorers=scorers)]).rows
    assert cells(rows, "judge", "criterion") == [
        ("a", "model_graded_qa"),
        ("b", "model_graded_qa"),
        ("b", "model_graded_qa2"),
    ]


def test_a_table_is_no_known_log_and_two_tools_are_not_read_together(tmp_path):
    table = written(tmp_path / "calls.csv", "item,verdict\n1,a\n")
    assert known_log([table]) is None
    assert known_log([tmp_path / "absent.json"]) is None
    run = written(tmp_path / "run.json", DEEPEVAL)
    with pytest.raises(TableError, match=r"deepeval test run; .*plain table: read them one at a"):
        known_log([run, table])
    with pytest.raises(InputError, match="no format 'deep'"):
        known_log([run], like="deep")
    assert known_log([run], like="csv") is None


def test_a_folder_stands_for_the_logs_in_it(tmp_path):
    written(tmp_path / "run.json", DEEPEVAL)
    written(tmp_path / "notes.txt", "hello")
    assert known_log([tmp_path]).format == detect(tmp_path / "run.json") == "deepeval"


def test_a_log_that_is_read_by_rules_says_so_with_a_command(tmp_path):
    line = {"custom_id": "i/p/0", "response": {"status_code": 200, "body": {}}}
    path = written(tmp_path / "b.jsonl", [line])
    with pytest.raises(TableError, match=r"judgelaw import --from openai-batch .* --parser first"):
        known_log([path])


def test_a_known_log_is_imported_with_criteria_humans_and_what_was_decided(tmp_path):
    found = import_log("deepeval", [written(tmp_path / "run.json", DEEPEVAL)])
    assert found.columns["criterion"] == ["Clear [GEval]", "Polite [GEval]"] + 2 * ["Clear [GEval]"]
    assert set(found.columns["human"]) == {"good"}
    assert [survey.criterion for survey in found.survey.judges] == [
        "Clear [GEval]",
        "Polite [GEval]",
    ]
    lines = found.survey.sentences()
    assert lines[0] == "read: judge: `evaluationModel` of each metric"
    assert "left out: Length (asked no model): 3" in lines


def test_every_format_says_what_it_is_and_is_told_by_content():
    for found in FORMATS.values():
        assert found.title, found.name
        assert found.tells is not None, found.name
