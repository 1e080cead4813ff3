"""Studies that ask with rewordings: what they declare, what rules draw, what is frozen of it."""

import json
from collections import Counter

import pytest

from judgelaw.errors import InputError, IntegrityError, StudyChangedError, StudyError
from judgelaw.study import (
    REWORDINGS,
    Approvals,
    Draw,
    extend,
    freeze,
    load_study,
    open_run,
    read_draws,
    source_of,
    survey,
    write_draws,
)
from judgelaw.study.passages import Labels
from judgelaw.study.reword_rules import lists
from judgelaw.study.wording_draws import used, varied
from servers.rewording import TEMPLATE
from servers.study import chat_judge, simulated_judge, write_study

ALL = {"order": True, "numbering": True, "wrappers": True}
SYNONYMS = {"A": ["First"], "B": ["Second"], "TIE": ["DRAW"]}
GERMAN = (
    "Entscheide, welche Antwort besser ist.\n{instruction}\n{candidate_a}\n{candidate_b}\n"
    "Antworte mit A, B oder TIE."
)


def rewording(**fields):
    given = {"policy": "generator", "grammar": "reworded", "count": 4, "text": TEMPLATE}
    if not fields.keys() & {"rules", "model"}:
        fields["rules"] = ALL
    return {k: v for k, v in {**given, **fields}.items() if v is not None}


def study(folder, judges=None, **fields):
    prompts = rewording(**fields)
    return write_study(folder, judges or [simulated_judge()], prompts=prompts)


def templates(folder, **fields):
    return survey(load_study(study(folder, **fields))).templates


def refused(folder, judges=None, **fields):
    with pytest.raises(StudyError) as caught:
        survey(load_study(study(folder, judges, **fields)))
    return str(caught.value)


def test_the_same_seed_gives_the_same_prompts_and_more_only_add(tmp_path):
    few = templates(tmp_path / "a", count=4)
    many = templates(tmp_path / "b", count=40)
    assert few == many[:4]
    assert [t.id for t in few] == ["r001", "r002", "r003", "r004"]
    assert len({t.sha256 for t in many}) > 20
    assert templates(tmp_path / "c", seed=12) != few
    assert templates(tmp_path / "d", seed=11) == few, "the study's own seed is the default"


def test_placeholders_labels_and_the_reply_survive_in_every_draw(tmp_path):
    for template in templates(tmp_path, count=60):
        assert template.parts[1::2] == ("instruction", "candidate_a", "candidate_b")
        assert "Reply with A, B or TIE on the first line. Do not explain." in template.text
        assert Counter(Labels(("A", "B", "TIE")).count(template.text)) == {"A": 3, "B": 3, "TIE": 2}


def test_every_choice_is_drawn_evenly_and_by_itself(tmp_path):
    source = source_of(load_study(study(tmp_path)).study)
    made = [draw.made for draw, _ in zip(source.by_rule(), range(3000), strict=False)]
    styles = Counter(m["wrapper"]["style"] for m in made)
    orders = Counter(tuple(m["order"][0]) for m in made)
    marks = Counter(m["numbering"][0] for m in made)
    assert (len(styles), len(orders), len(marks)) == (8, 6, 6)
    for counts in (styles, orders, marks):
        expected = 3000 / len(counts)
        assert sum((n - expected) ** 2 / expected for n in counts.values()) < 3 * len(counts)
    together = Counter((m["wrapper"]["style"], m["numbering"][0]) for m in made)
    assert min(together.values()) > 3000 / 48 / 2, "no choice hangs on another"


def test_duplicates_stay_and_share_no_calls(tmp_path):
    """A law of two texts: draws repeat, and each is asked by calls of its own."""
    path = study(
        tmp_path, rules={}, count=8, alternatives=[["Which one is better?", "Which wins?"]]
    )
    run = freeze(load_study(path), tmp_path / "run")
    hashes = Counter(t.sha256 for t in run.templates.values())
    assert sum(hashes.values()) == 8
    assert len(hashes) == 2
    calls = list(run.iter_calls())
    assert len(calls) == 8 * 2 * 2 * 2
    assert len({c.call_id for c in calls}) == len({c.seed for c in calls}) == len(calls)
    (wins,) = (t for t in run.templates.values() if t.id == "r001")
    assert ("Which wins?" in wins.text) != ("Which one is better?" in wins.text)


def test_labels_get_other_words_which_the_judge_reads(tmp_path):
    loaded = load_study(study(tmp_path, rules={"labels": SYNONYMS}, count=12))
    drawn = survey(loaded).templates
    assert {("First" in t.text, "[Candidate A]" in t.text) for t in drawn} == {
        (True, False),
        (False, True),
    }
    assert all(("First" in t.text) == ("DRAW" in t.text) for t in drawn), "words go together"
    labels = loaded.study.judges[0].parser.labels
    assert labels == {
        "A": "A",
        "B": "B",
        "TIE": "TIE",
        "First": "A",
        "Second": "B",
        "DRAW": "TIE",
    }


@pytest.mark.parametrize("parser", [{"json": "winner"}, {"regex": r"(\w+)"}])
def test_other_parsers_read_them_too(tmp_path, parser):
    judge = chat_judge("http://127.0.0.1:1/v1", parser=parser)
    loaded = load_study(study(tmp_path, [judge], rules={"labels": SYNONYMS}))
    assert loaded.study.judges[0].parser.labels["Second"] == "B"


def test_words_that_a_judge_cannot_read_are_refused(tmp_path):
    judge = chat_judge("http://127.0.0.1:1/v1", parser={"regex": "(A|B|TIE)"})
    said = refused(tmp_path / "a", [judge], rules={"labels": SYNONYMS})
    assert "'First', the pattern of judge chat does not read it as 'A'" in said
    said = refused(tmp_path / "b", rules={"labels": {"A": ["x"], "B": ["X"], "TIE": ["D"]}})
    assert "'X', stands for 'A' too" in said
    said = refused(tmp_path / "c", rules={"labels": {"A": ["x", "y"], "B": ["z"]}})
    assert "must have as many words for every label" in said
    said = refused(tmp_path / "d", rules={"labels": {"C": ["x"]}})
    assert "'C', judge sim answers with A, B, TIE; name one" in said


def test_a_language_is_one_more_template(tmp_path):
    study(tmp_path)
    (tmp_path / "de.txt").write_text(GERMAN)
    for given in ("de.txt", GERMAN):
        drawn = templates(tmp_path, rules={"languages": {"de": given}}, count=20)
        assert {t.text for t in drawn} == {TEMPLATE, GERMAN}
    said = refused(tmp_path, rules={"languages": {"de": "only {instruction}"}})
    assert "prompts.rules.languages.de: names other placeholders" in said
    said = refused(tmp_path, rules={"languages": {"de": "none.txt"}})
    assert "'none.txt', No such file or directory; name a file" in said


def test_lists_of_labels_keep_their_sequence():
    labels = Labels(("1", "2", "A", "B"))
    assert lists("1. bad\n2. good", labels) == []
    assert lists("- A: the first\n- B: the second", labels) == []
    (found,) = lists("x\n- one\n  goes on\n- two\n\n- apart", labels)
    assert found.entries == ("one\n  goes on", "two")


@pytest.mark.parametrize(
    "text",
    [
        "Judge by these, the most important first:\n\n- one\n- two",
        "Criteria in order of importance:\n- one\n- two",
        "Go through these steps:\n1. one\n2. two",
        "How to judge:\n- First look at one\n- Then look at two",
    ],
)
def test_a_list_whose_sequence_means_something_keeps_it(tmp_path, text):
    """Another order would be another rubric, and no check of a text could see it."""
    labels = Labels(("A", "B"))
    (found,) = lists(text, labels)
    assert found.in_sequence
    free = "\n\nAlso:\n- three\n- four\n- five\n"
    assert [listing.in_sequence for listing in lists(text + free, labels)] == [True, False]
    asked = "{instruction}\n{candidate_a}\n{candidate_b}\nReply with A, B or TIE."
    drawn = templates(tmp_path / "a", text=f"{text}{free}{asked}", rules={"order": True}, count=30)
    assert all(text in template.text for template in drawn)
    assert len({template.sha256 for template in drawn}) == 6
    said = refused(tmp_path / "b", text=f"{text}\n{asked}", rules={"order": True})
    assert "its lists are in a sequence, which another order would change" in said


def test_a_list_that_says_nothing_of_a_sequence_is_free():
    labels = Labels(("A", "B"))
    text = "The first answer is A. Judge in this order.\n\nCriteria:\n- one\n- two"
    assert [listing.in_sequence for listing in lists(text, labels)] == [False]
    assert [listing.in_sequence for listing in lists(TEMPLATE, labels)] == [False]


def test_a_scale_is_not_counted_with_its_own_numbers(tmp_path):
    """Where labels are numbers, entries of lists are not numbered."""
    text = "Rate it.\n- clear\n- short\n{instruction}\n{candidate}\nReply with 1, 2 or 3."
    prompts = rewording(text=text, rules={"numbering": True}, count=40)
    law = simulated_judge(law={"verdicts": {"1": 0.5, "3": 0.5}})
    path = write_study(tmp_path, [law], prompts=prompts, task="pointwise", scale=[1, 2, 3])
    (tmp_path / "items.jsonl").write_text('{"id": "i", "instruction": "q", "candidate_1": "a"}\n')
    drawn = survey(load_study(path)).templates
    assert {t.text[9:11] for t in drawn} == {"- ", "* ", "• ", "(a"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rules": None, "model": None}, "must name model or rules"),
        ({"rules": {}}, "empty, every draw would be the same"),
        ({"rules": {"order": True}, "text": "{candidate_a} or {candidate_b}?"}, "has no list"),
        ({"text": "Which? {candidate_a}"}, "does not name {candidate_b}"),
        ({"template": "x.txt"}, "must give text or template"),
        ({"among": 9}, "chooses a varied set, which is no sample"),
        ({"policy": "census", "among": 2}, "2, is fewer than count (4)"),
        ({"keep": ["no such words"]}, "'no such words', is not in the template"),
        ({"instruction": "Do it."}, "is for a model, and rules reword here"),
        ({"alternatives": [["Which one is better?"]]}, "and at least one other"),
        ({"alternatives": [["is", "was"]]}, "'is', stands 3 times in the template"),
        ({"alternatives": [["Which one is better?", "A or B?"]]}, "names other labels"),
        ({"alternatives": [["Which one is better?", "{x}?"]]}, "without braces"),
        ({"model": "nobody"}, "'nobody', must be a judge of the study (sim)"),
        ({"model": "sim"}, "answers from a law and cannot reword"),
        ({"model": {"name": "x", "provider": "openai-chat"}}, "prompts.model"),
        ({"counts": 3}, "unknown key; did you mean count?"),
    ],
)
def test_what_breaks_a_rule_is_refused(tmp_path, fields, words):
    if fields.get("rules", 1) is None:
        path = write_study(tmp_path, [simulated_judge()], prompts=rewording(rules=ALL))
        data = json.loads(path.read_text())
        del data["prompts"]["rules"]
        path.write_text(json.dumps(data))
        with pytest.raises(StudyError) as caught:
            load_study(path)
        said = str(caught.value)
    else:
        said = refused(tmp_path, **fields)
    assert words in said
    assert "study.yaml:" in said


def test_a_template_with_nothing_to_reword_is_refused(tmp_path):
    text = "Reply with A or B.\n{instruction}\n{candidate_a}\n{candidate_b}"
    judge = chat_judge("http://127.0.0.1:1/v1")
    assert "nothing in it may be reworded" in refused(tmp_path, [judge], text=text, model="chat")


def test_a_model_needs_its_draws_before_the_study_runs(tmp_path):
    judge = chat_judge("http://127.0.0.1:1/v1")
    said = refused(tmp_path, [judge], model="chat")
    assert "no rewordings were drawn yet; run `judgelaw reword STUDY`" in said


def test_a_run_keeps_the_draws_and_grows_by_extend(tmp_path):
    path = study(tmp_path)
    run = freeze(load_study(path), tmp_path / "run")
    text = (run.path / REWORDINGS).read_text()
    assert [json.loads(line).get("prompt") for line in text.splitlines()[1:-1]] == [*run.templates]
    facts = run.rewordings
    assert (facts.by, facts.policy, facts.used, facts.lost) == ("rules", "generator", 4, 0)
    before = [call.call_id for call in run.iter_calls()]
    grown = extend(run.path, prompts=7)
    assert list(grown.templates) == [f"r{n:03d}" for n in range(1, 8)]
    assert [call.call_id for call in grown.iter_calls()][: len(before)] == before
    assert open_run(run.path).rewordings.used == 7
    assert freeze(load_study(path), run.path).count == grown.count, "the same study resumes"


def test_another_generator_is_another_run(tmp_path):
    freeze(load_study(study(tmp_path)), tmp_path / "run")
    with pytest.raises(StudyChangedError, match=r"prompts\.seed: 11 -> 12"):
        freeze(load_study(study(tmp_path, seed=12)), tmp_path / "run")


def test_draws_that_were_changed_are_found(tmp_path):
    draw = Draw(number=1, parts=("x", "candidate_a", "y"))
    write_draws(tmp_path, {"seed": 1}, [draw])
    assert read_draws(tmp_path, {"seed": 1}) == (draw,)
    with pytest.raises(IntegrityError, match=r"another generator than the study declares \(seed"):
        read_draws(tmp_path, {"seed": 2})
    file = tmp_path / "draws.jsonl"
    file.write_text(file.read_text().replace('["x"', '["z"'))
    with pytest.raises(IntegrityError, match="draw 1 is not the text that was drawn"):
        read_draws(tmp_path, {"seed": 1})
    file.write_text("no JSON")
    with pytest.raises(IntegrityError, match="cannot be read"):
        read_draws(tmp_path, {"seed": 1})


def draws(*texts):
    return [Draw(number=n, parts=t and (t,)) for n, t in enumerate(texts, 1)]


def said(**by_text):
    """Approvals of draws by their text."""
    by_draw = zip(draws(*by_text), by_text.values(), strict=True)
    return Approvals(said={draw.wording: frozenset(labels) for draw, labels in by_draw})


SAME, STRIKE = "same meaning", "strike"


def test_what_people_strike_is_left_out_draw_by_draw():
    """The first that are approved, in the sequence of the draws: what is left is a sample too."""
    drawn = draws("a", "b", None, "c", "a", "d")
    approvals = said(a=[SAME], b=[STRIKE, SAME], c=[""], d=[SAME])
    found = used(drawn, count=3, approved=True, approvals=approvals)
    assert [d.template.id for d in found] == ["r001", "r005", "r006"]
    with pytest.raises(InputError, match="3 rewordings can be used, 2 more were struck by people"):
        list(used(drawn, count=4, approved=True, approvals=approvals))


def test_what_nobody_read_is_not_passed_over():
    with pytest.raises(InputError, match="r002 was read by nobody"):
        list(used(draws("a", "b", "c"), count=2, approved=True, approvals=said(a=[SAME], c=[SAME])))


def test_refused_draws_are_passed_over_and_duplicates_are_not():
    found = used(draws("a", None, "a", "b"), count=2, approved=False, approvals=Approvals())
    assert [d.template.id for d in found] == ["r001", "r003"]
    with pytest.raises(InputError, match="3 rewordings can be used; draw more"):
        list(used(draws("a", None, "a", "b"), count=4, approved=False, approvals=Approvals()))


def test_a_varied_set_holds_each_text_once_and_the_farthest_first():
    drawn = draws("the cat sat", "the cat sat", "the cat sits", "a dog ran off", "the cat sat down")
    assert [d.number for d in varied(drawn, 2)] == [1, 4]
    assert [d.number for d in varied(drawn, 4)] == [1, 3, 4, 5]
    with pytest.raises(InputError, match="5 draws hold 4 different texts"):
        varied(drawn, 5)


def test_a_varied_set_is_a_census(tmp_path):
    path = study(tmp_path, policy="census", count=3, among=20)
    run = freeze(load_study(path), tmp_path / "run")
    assert len(run.templates) == 3
    assert (run.rewordings.policy, run.rewordings.drawn) == ("census", 20)
    with pytest.raises(InputError, match="adding prompts to a census"):
        extend(run.path, prompts=4)
