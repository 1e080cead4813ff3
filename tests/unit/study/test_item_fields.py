"""Items carry any field: into prompts, hashes, what a function is asked, and the page."""

import json
from itertools import starmap

import pytest

import judgelaw as jl
from judgelaw.acquire import acquire
from judgelaw.acquire.verify import verify
from judgelaw.errors import StudyChangedError, StudyError
from judgelaw.runs.folder import RunFolder
from judgelaw.study import extend, field_notes, freeze, load_study, open_run, payload_for, survey

ITEMS = [
    {
        "id": f"q{n}",
        "instruction": f"Question {n}",
        "candidate": "so",
        "context": [f"first of {n}", "second {instruction}"],
        "expected": "right" if n else 3,
        "empty": None,
    }
    for n in range(2)
]


def study(folder, *, items=ITEMS, text="{context}|{instruction}|{candidate}|{expected}"):
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    declared = {
        "version": 1,
        "name": "small",
        "seed": 11,
        "task": "pointwise",
        "labels": ["pass", "fail"],
        "items": {"source": "jsonl", "path": "items.jsonl"},
        "prompts": {"policy": "census", "templates": [{"id": "p1", "text": text}]},
        "repeats": 2,
        "judges": [{"name": "fn", "provider": "python"}],
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(declared))
    return load_study(path)


def test_a_prompt_shows_any_field_and_nothing_in_it_is_interpreted(tmp_path):
    frozen = freeze(study(tmp_path), tmp_path / "run")
    shown = {payload_for(frozen, call) for call in frozen.iter_calls()}
    assert shown == {
        "first of 0\n\nsecond {instruction}|Question 0|so|3",
        "first of 1\n\nsecond {instruction}|Question 1|so|right",
    }


def test_a_function_is_asked_with_every_field_under_its_own_name(tmp_path):
    heard = []
    frozen = freeze(study(tmp_path), tmp_path / "run")
    acquire(frozen, functions={"fn": lambda call: heard.append(call.item) or "pass"})
    first = next(item for item in heard if item["id"] == "q0")
    assert first == {
        "id": "q0",
        "instruction": "Question 0",
        "candidate": "so",
        "context": ["first of 0", "second {instruction}"],
        "expected": 3,
    }
    found = verify(frozen.path)
    assert found.ok, [check for check in found.checks if not check.ok]
    question = RunFolder(frozen.path).questions()["q0"]
    assert question.answers == (
        ("context", "first of 0\n\nsecond {instruction}"),
        ("expected", "3"),
        ("answer", "so"),
    )


def test_the_frozen_copy_holds_them_and_a_change_is_another_study(tmp_path):
    freeze(study(tmp_path), tmp_path / "run")
    kept = open_run(tmp_path / "run").items["q1"]
    assert kept.others == {key: ITEMS[1][key] for key in ("context", "expected")}
    changed = [{**item, "expected": "other"} for item in ITEMS]
    with pytest.raises(StudyChangedError, match=r"items.*changed \(q0, q1\)"):
        freeze(study(tmp_path, items=changed), tmp_path / "run")


def test_a_frozen_copy_of_items_can_be_the_items_of_another_study(tmp_path):
    freeze(study(tmp_path), tmp_path / "run")
    copy = (tmp_path / "run" / "inputs" / "items.jsonl").read_text()
    again = study(tmp_path, items=list(map(json.loads, copy.splitlines())))
    assert survey(again).items == tuple(open_run(tmp_path / "run").items.values())


def test_a_run_of_items_without_fields_goes_on_with_the_same_file(tmp_path):
    """As runs were frozen that left out what they did not know."""
    plain = [{key: item[key] for key in ("id", "instruction", "candidate")} for item in ITEMS]
    freeze(study(tmp_path, items=plain, text="{instruction} {candidate}"), tmp_path / "run")
    again = study(tmp_path, text="{instruction} {candidate}")
    assert freeze(again, tmp_path / "run").count == 4


def test_prompts_that_are_added_to_a_generator_show_the_same_fields(tmp_path):
    declared = json.loads(study(tmp_path).source)
    declared["prompts"] = {
        "policy": "generator",
        "count": 2,
        "grammar": "wrappers",
        "criterion": "Right?",
        "output": "pass or fail",
        "block": "{context}|{candidate}",
    }
    (tmp_path / "study.yaml").write_text(json.dumps(declared))
    frozen = freeze(load_study(tmp_path / "study.yaml"), tmp_path / "run")
    before = {template.id: template.sha256 for template in frozen.templates.values()}
    deeper = extend(tmp_path / "run", prompts=4)
    after = {template.id: template.sha256 for template in deeper.templates.values()}
    assert len(after) == 4
    assert before.items() <= after.items()
    assert all("first of" in payload_for(deeper, call) for call in deeper.iter_calls())


def test_a_field_that_an_item_lacks_is_refused_with_the_item(tmp_path):
    items = [ITEMS[0], {key: value for key, value in ITEMS[1].items() if key != "context"}]
    with pytest.raises(StudyError, match=r"'p1' names \{context\}, which 1 item of 2 .*\(q1\)"):
        survey(study(tmp_path, items=items))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{context} {candidate}", ["items: no prompt shows expected: write {expected} into"]),
        (
            "{context} {candidate} {expected} {reference}",
            ["prompt p1: {reference} is no field of the items and is sent as it stands"],
        ),
        ("{context} {candidate} {expected}", []),
    ],
)
def test_what_prompts_and_items_do_not_share_is_said_before_the_first_call(tmp_path, text, said):
    found = field_notes(survey(study(tmp_path, text=text)))
    assert all(starmap(str.startswith, zip(found, said, strict=True)))


def test_a_misspelt_field_names_the_nearest(tmp_path):
    with pytest.raises(StudyError, match=r"did you mean \{context\}"):
        survey(study(tmp_path, text="{contxt} {candidate}"))


def test_candidate_and_candidate_1_are_one_answer(tmp_path):
    old = [{**item, "candidate_1": item["candidate"]} for item in ITEMS]
    for item in old:
        del item["candidate"]
    assert survey(study(tmp_path, items=old)).items == survey(study(tmp_path)).items


def test_invalid_is_offered_at_the_front_door():
    assert jl.Invalid("what came", reason="no score").reason == "no score"
