"""Every format, on logs that the tools themselves wrote (see the README of the fixtures)."""

import json

import pytest

from judgelaw.errors import DuplicateCallsError, InputError, NotIdentifiedError, TableError
from judgelaw.tables import Wishes
from judgelaw.tables.importers import FORMATS, Rules, import_log, read_calls
from judgelaw.tables.relation import parse_texts
from support.imports import CELLS, FIRST_LINE, FIXTURES, REPEATS

LM_EVAL = sorted((FIXTURES / "lm-eval" / "judge-1").glob("samples_*"))
WHOLE = {
    "inspect": ([FIXTURES / "inspect-pairs.eval"], "openai-api/local/judge-1", {}),
    "promptfoo": ([FIXTURES / "promptfoo-repeats.json"], "openai:chat:judge-1", {}),
    "lm-eval": (LM_EVAL, "judge-1", {"prompt": {"pairs_plain": "plain", "pairs_terse": "terse"}}),
    "openai-batch": ([FIXTURES / "openai-batch.jsonl"], "judge-1", {}),
    "anthropic-batch": ([FIXTURES / "anthropic-batch.jsonl"], "judge-1", {}),
}


@pytest.mark.parametrize("source", WHOLE)
def test_a_real_log_gives_the_whole_crossed_design(source):
    paths, judge, renamed = WHOLE[source]
    found = import_log(source, paths, rules=FIRST_LINE)
    columns = found.columns
    prompts = [renamed.get("prompt", {}).get(p, p) for p in columns["prompt"]]
    rows = set(zip(columns["item"], prompts, columns["order"], columns["repeat"], strict=True))
    assert rows == {(*cell, repeat) for cell in CELLS for repeat in range(REPEATS)}
    assert len(columns["verdict"]) == len(rows)
    assert set(columns["verdict"]) <= {"candidate_1", "candidate_2", "tie"}
    assert set(columns["judge"]) == {judge}
    (survey,) = found.survey.judges
    assert survey.identified == ("call", "prompt", "order", "interaction", "total")
    assert survey.repeats == (REPEATS, REPEATS)


def test_every_format_that_takes_rules_is_tried():
    assert {name for name, found in FORMATS.items() if found.read} == {*WHOLE}


def test_both_batches_hold_the_same_answers():
    one, other = (
        import_log(source, WHOLE[source][0], rules=FIRST_LINE).columns
        for source in ("openai-batch", "anthropic-batch")
    )
    assert one == other


def test_inspect_verdicts_are_what_inspect_s_own_scorer_read():
    displayed = {"AB": {"A": "candidate_1", "B": "candidate_2"}}
    displayed["BA"] = {"A": "candidate_2", "B": "candidate_1"}
    paths = [FIXTURES / "inspect-pairs.json"]
    log = json.loads(paths[0].read_text(encoding="utf-8"))
    expected = {
        (s["metadata"]["item"], s["metadata"]["prompt"], s["metadata"]["order"], s["epoch"] - 1): (
            displayed[s["metadata"]["order"]].get(s["scores"]["match"]["answer"], "tie")
        )
        for s in log["samples"]
    }
    for rules in (FIRST_LINE, Rules(fields={"verdict": "scores.match.answer"})):
        columns = import_log("inspect", paths, rules=rules).columns
        keys = zip(*(columns[c] for c in ("item", "prompt", "order", "repeat")), strict=True)
        assert dict(zip(keys, columns["verdict"], strict=True)) == expected


def test_inspect_targets_are_gold_in_terms_of_candidates():
    rules = Rules(parser="first-line", fields={"gold": "target"})
    columns = import_log("inspect", [FIXTURES / "inspect-pairs.eval"], rules=rules).columns
    assert set(columns["gold"]) == {"candidate_1"}
    assert set(columns["stratum"]) == {"facts"}


def test_inspect_epochs_that_came_from_the_cache_are_refused():
    paths = [FIXTURES / "inspect-cached.eval"]
    with pytest.raises(DuplicateCallsError, match="8 of 12 calls are copies") as error:
        import_log("inspect", paths, rules=FIRST_LINE)
    assert "CachePolicy(per_epoch=True)" in str(error.value)
    assert "inspect-cached.eval!samples/" in str(error.value)
    (survey,) = import_log("inspect", paths, rules=FIRST_LINE, drop_copies=True).survey.judges
    assert survey.repeats == (1, 1)
    assert survey.identified == ()


def test_promptfoo_runs_that_read_the_cache_are_refused():
    paths = [FIXTURES / f"promptfoo-{name}.json" for name in ("fresh", "cached")]
    with pytest.raises(DuplicateCallsError, match=r"8 of 16 calls .*\n.*promptfoo-cached"):
        import_log("promptfoo", paths, rules=FIRST_LINE)
    kept = import_log("promptfoo", paths, rules=FIRST_LINE, drop_copies=True)
    assert kept.columns == import_log("promptfoo", paths[:1], rules=FIRST_LINE).columns


def test_promptfoo_names_items_by_their_variables_where_nothing_else_does(tmp_path):
    document = json.loads((FIXTURES / "promptfoo-repeats.json").read_text(encoding="utf-8"))
    for row in document["results"]["results"]:
        del row["vars"]["item"]
    path = tmp_path / "out.json"
    path.write_text(json.dumps(document))
    calls, _ = read_calls("promptfoo", [path], FIRST_LINE)
    assert len({c.item for c in calls}) == 4, "the two orders of an item show different variables"


def test_promptfoo_errors_are_left_out_and_failed_assertions_are_not(tmp_path):
    row = {"provider": {"id": "j"}, "prompt": {"label": "p"}, "vars": {"item": "i"}}
    rows = [
        {**row, "response": {"output": "A"}, "failureReason": 1, "error": "expected B"},
        {**row, "response": {"error": "429"}, "failureReason": 2, "error": "429"},
        {**row, "response": {"output": {"winner": "B"}}, "failureReason": 0},
    ]
    path = tmp_path / "out.jsonl"
    path.write_text("".join(f"{json.dumps(r)}\n" for r in rows))
    calls, left_out = read_calls("promptfoo", [path], Rules(parser="regex:([AB])\\b"))
    assert [c.verdict for c in calls] == ["A", "B"]
    assert left_out == [f"{path}:2: 429"]


def test_lm_eval_filters_repeat_the_same_responses_and_are_read_once():
    lines = LM_EVAL[0].read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["filter"] for line in lines} == {"first", "second"}
    calls, _ = read_calls("lm-eval", LM_EVAL[:1], FIRST_LINE)
    assert len(calls) == len(lines) // 2 * REPEATS


def test_lm_eval_likelihoods_are_no_draws(tmp_path):
    path = tmp_path / "samples_x_2026-01-01T00-00-00.000.jsonl"
    line = {"doc_id": 0, "doc": {}, "resps": [[["-1.5", "False"]], [["-2.5", "True"]]]}
    path.write_text(json.dumps(line))
    with pytest.raises(NotIdentifiedError, match="generate_until"):
        read_calls("lm-eval", [path], FIRST_LINE)


def batch_line(custom_id="i/p/AB/0", **body):
    content = {"id": "r", "model": "m", **body}
    return {"custom_id": custom_id, "response": {"status_code": 200, "body": content}}


def batch(tmp_path, source, *lines, **options):
    path = tmp_path / "out.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return read_calls(source, [path], FIRST_LINE, **options)


def choice(text, reason="stop"):
    return {"message": {"content": text}, "finish_reason": reason}


def test_choices_of_one_request_are_draws_of_their_own(tmp_path):
    line = batch_line(choices=[choice("A"), choice("B"), choice("A")])
    calls, _ = batch(tmp_path, "openai-batch", line)
    assert [c.verdict for c in calls] == ["candidate_1", "candidate_2", "candidate_1"]
    assert len({c.response_id for c in calls}) == 3
    assert {c.repeat for c in calls} == {None}


def test_text_completions_and_responses_are_read_too(tmp_path):
    parts = [{"type": "output_text", "text": "B"}]
    calls, _ = batch(
        tmp_path,
        "openai-batch",
        batch_line("i/p/AB/0", choices=[{"text": "A", "finish_reason": "stop"}]),
        batch_line("i/p/AB/1", object="response", output=[{"content": parts}]),
        batch_line(
            "i/p/AB/2",
            object="response",
            output=[{"content": parts}],
            incomplete_details={"reason": "max_output_tokens"},
        ),
    )
    assert [c.verdict for c in calls] == ["candidate_1", "candidate_2", "invalid"]
    assert calls[2].reason == "truncated"


def test_batch_errors_are_left_out_in_the_provider_s_words(tmp_path):
    _, left_out = batch(
        tmp_path,
        "openai-batch",
        {"custom_id": "i/p/0", "response": None, "error": {"message": "expired"}},
        {
            "custom_id": "i/p/1",
            "response": {"status_code": 400, "body": {"error": {"message": "too long"}}},
        },
        batch_line("i/p/2", choices=[]),
    )
    assert [text.partition(": ")[2] for text in left_out] == ["expired", "too long", "no choices"]
    _, left_out = batch(
        tmp_path,
        "anthropic-batch",
        {"custom_id": "i__p__0", "result": {"type": "canceled"}},
        {
            "custom_id": "i__p__1",
            "result": {"type": "errored", "error": {"error": {"message": "overloaded"}}},
        },
    )
    assert [text.partition(": ")[2] for text in left_out] == ["canceled", "overloaded"]


def test_custom_ids_are_split_by_named_groups(tmp_path):
    pattern = r"(?P<prompt>\w+)-(?P<item>\w+)-(?P<order>AB|BA)-(?P<repeat>\d)"
    line = batch_line("p-x7-BA-1", choices=[choice("A")])
    (call,), _ = batch(tmp_path, "openai-batch", line, custom_id=pattern)
    assert (call.item, call.prompt, call.order, call.repeat) == ("x7", "p", "BA", 1)
    with pytest.raises(TableError, match=r"out\.jsonl:1: custom_id 'p-x7-BA-1' does not match"):
        batch(tmp_path, "openai-batch", line)


@pytest.mark.parametrize(
    ("source", "pattern", "words"),
    [
        ("openai-batch", "(", "no regular expression"),
        ("openai-batch", "(?P<prompt>.+)", "no group"),
        ("openai-batch", "(?P<item>.+)-(?P<epoch>.+)", "'epoch' is no part of a call"),
        ("inspect", "(?P<item>.+)", "inspect logs have no custom_id"),
        ("helm", None, "no format 'helm'"),
    ],
)
def test_bad_patterns_are_refused(source, pattern, words):
    with pytest.raises(InputError, match=words):
        read_calls(source, [FIXTURES / "openai-batch.jsonl"], FIRST_LINE, custom_id=pattern)


def test_the_same_batch_line_twice_is_refused(tmp_path):
    lines = [batch_line(id=name, choices=[choice("A")]) for name in "ab"]
    path = tmp_path / "out.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(DuplicateCallsError, match=r"out\.jsonl:2 and .*out\.jsonl:1 are the same"):
        import_log("openai-batch", [path], rules=FIRST_LINE)


def test_a_plain_table_takes_columns_under_other_names(tmp_path):
    path = tmp_path / "raw.csv"
    path.write_text(
        "model,question_id,template,swapped,answer\n"
        "m,q1,p,no,A\nm,q1,p,yes,A\nm,q1,p,no,B\nm,q1,p,yes,B\n"
    )
    rules = Rules(
        fields={"order": "swapped", "verdict": "answer"}, orders={"no": "AB", "yes": "BA"}
    )
    columns = import_log("csv", [path], rules=rules).columns
    assert columns["verdict"] == ["candidate_1", "candidate_2", "candidate_2", "candidate_1"]
    assert columns["repeat"] == [0, 0, 1, 1]
    assert columns["item"] == ["q1"] * 4


def test_layers_are_streams_of_their_own(tmp_path):
    path = tmp_path / "raw.csv"
    rows = "".join(f"j,{layer},i,p,A\n" for layer in ("audit", "audit", "control"))
    path.write_text(f"judge,layer,item,prompt,verdict\n{rows}")
    found = import_log("csv", [path])
    assert found.columns["layer"] == ["audit", "audit", "control"]
    assert found.columns["repeat"] == [0, 1, 0]
    assert [judge.sentence.partition(":")[0] for judge in found.survey.judges] == [
        "j (audit)",
        "j (control)",
    ]
    only = import_log("csv", [path], rules=Rules(where={"layer": "audit"}))
    assert len(only.survey.judges) == 1
    with pytest.raises(TableError, match=r"no row has layer=audt .*check where"):
        import_log("csv", [path], rules=Rules(where={"layer": "audt"}))


def test_a_table_of_raw_texts_is_parsed_from_any_file(tmp_path):
    from judgelaw.tables import write_calls

    rows = {"judge": ["j"] * 2, "item": ["i"] * 2, "prompt": ["p"] * 2, "said": ["A\nok", "hm"]}
    for name in ("raw.csv.gz", "raw.jsonl", "raw.parquet"):
        write_calls(tmp_path / name, rows)
        rules = Rules(parser="first-line", fields={"text": "said"})
        columns = import_log("csv", [tmp_path / name], rules=rules).columns
        assert columns["verdict"] == ["A", "invalid"]


BACKTRACKING = r"regex:^(A|B|A+)+$"


def raw_texts(path, texts):
    rows = "".join(json.dumps({"judge": "j", "item": f"i{n}", "said": t}) + "\n" for n, t in texts)
    path.write_text(rows)
    return Rules(parser=BACKTRACKING, fields={"text": "said", "prompt": "=p"})


@pytest.mark.parametrize("ways", ["import", "analyze"])
def test_a_pattern_that_backtracks_on_some_texts_reads_the_others(tmp_path, ways):
    """Two texts that were made for it cost two seconds of processor time."""
    bad = "A" * 60 + "!"
    path = tmp_path / "raw.jsonl"
    rules = raw_texts(path, enumerate([bad, "A", bad, *"BABA"]))
    if ways == "import":
        said = import_log("csv", [path], rules=rules).columns["verdict"]
    else:
        said = parse_texts(Wishes(parser=BACKTRACKING), [bad, "A", bad + "!", "B"], displayed=False)
        said = [*said.values()]
    assert (said[0], said[2]) == ("invalid", "invalid")
    assert "invalid" not in (said[1], said[3])


def test_a_pattern_that_backtracks_on_most_texts_is_given_up(tmp_path):
    path = tmp_path / "raw.jsonl"
    rules = raw_texts(path, enumerate("A" * n + "!" for n in range(60, 70)))
    with pytest.raises(TableError, match="ran out of time on 4 of 4 texts"):
        import_log("csv", [path], rules=rules)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("raw.csv", "judge,item\nj\n", r"raw\.csv:2: 1 fields where the header has 2"),
        ("raw.csv", 'judge,item\nj,"i\n', r"raw\.csv:\d: .*quotes"),
        ("raw.csv", "item,order\ni,A\n", r"raw\.csv: no column 'verdict'"),
        ("raw.parquet", "no parquet", "no Parquet file: rename or fetch it anew"),
        ("raw.xlsx", "x", "a file of records ends in .csv"),
    ],
)
def test_bad_tables_are_named_with_their_line(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(TableError, match=words):
        import_log("csv", [tmp_path / name])


@pytest.mark.parametrize(
    ("source", "document", "words"),
    [
        ("inspect", {"results": {}}, "no inspect log: `eval.model` is missing"),
        ("inspect", {"eval": {"model": "m"}, "samples": []}, "the log holds no samples"),
        ("inspect", {"eval": {"model": "m"}, "samples": [{"id": 1}]}, "it needs id and epoch"),
        ("promptfoo", {"eval": {}}, "no promptfoo export"),
        ("promptfoo", {"results": [{"vars": {}}]}, "needs provider, prompt and vars"),
    ],
)
def test_a_log_of_another_tool_is_refused(tmp_path, source, document, words):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    with pytest.raises(TableError, match=words):
        import_log(source, [path], rules=FIRST_LINE)


def test_lines_of_another_tool_are_refused():
    with pytest.raises(TableError, match=r":1: no sample of lm-evaluation-harness"):
        import_log("lm-eval", [FIXTURES / "openai-batch.jsonl"], rules=FIRST_LINE)


def test_a_log_named_twice_is_refused():
    with pytest.raises(InputError, match="named twice"):
        import_log("inspect", [FIXTURES / "inspect-pairs.eval"] * 2, rules=FIRST_LINE)


def sample(**given):
    output = {"choices": [{"message": {"content": "A"}, "stop_reason": "stop"}], "completion": "A"}
    return {"id": 1, "epoch": 1, "output": output, **given}


def inspect_log(tmp_path, *samples):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {"model": "m", "task": "t"}, "samples": samples}))
    return path


def test_inspect_samples_that_failed_are_left_out(tmp_path):
    path = inspect_log(
        tmp_path,
        sample(error={"message": "out of memory"}),
        sample(epoch=2),
        sample(epoch=3, output={"choices": [], "error": "refused"}),
    )
    calls, left_out = read_calls("inspect", [path], FIRST_LINE)
    assert len(calls) == 1
    assert [text.rpartition(": ")[2] for text in left_out] == ["out of memory", "refused"]


def test_inspect_texts_kept_apart_are_put_back(tmp_path):
    said = [{"type": "reasoning", "reasoning": "B"}, {"type": "text", "text": "attachment://h"}]
    choices = [{"message": {"content": said}, "stop_reason": "stop"}]
    made = sample(output={"choices": choices}, attachments={"h": "B\nsince ..."})
    (call,), _ = read_calls("inspect", [inspect_log(tmp_path, made)], FIRST_LINE)
    assert call.verdict == "B"


def test_inspect_cache_reads_without_ids_are_copies(tmp_path):
    events = [{"event": "model", "cache": "read"}]
    path = inspect_log(tmp_path, *(sample(epoch=e, events=events) for e in (1, 2)))
    with pytest.raises(DuplicateCallsError, match=r"1 of 2 calls .*\n.*epoch 2: read from a cache"):
        import_log("inspect", [path], rules=FIRST_LINE)


def test_inspect_keeps_old_response_ids_of_the_raw_reply(tmp_path):
    events = [{"event": "model", "call": {"response": {"id": "resp-7"}}}]
    (call,), _ = read_calls("inspect", [inspect_log(tmp_path, sample(events=events))], FIRST_LINE)
    assert call.response_id == "resp-7"
