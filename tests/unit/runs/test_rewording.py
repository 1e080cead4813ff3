"""Rewordings asked of a server: seeded, checked, asked again, resumed, budgeted, never twice."""

import json
import random
from collections import Counter

import pytest
from aiohttp import web

from judgelaw.acquire.verify import verify
from judgelaw.errors import (
    BudgetReachedError,
    IncompleteRunError,
    InputError,
    ProviderRefusedError,
    StudyChangedError,
    StudyError,
)
from judgelaw.runs import RunFolder, reword_study
from judgelaw.study import ASKED, DRAWS, freeze, load_study, read_draws, source_of
from servers.provider import Provider, first, reply, reset, say
from servers.rewording import TEMPLATE, asked_text, reworded, reworder
from servers.study import chat_judge, simulated_judge, write_study

UNITS = 2
"""Passages of the template that are reworded."""


@pytest.fixture
def provider():
    with Provider(act=reworder()) as server:
        yield server


def study(folder, provider, *, prompts=None, **fields):
    """Write a study of one template, with a judge that answers in few tokens, at temperature 0."""
    judge = chat_judge(
        provider.base_url,
        system="You are a judge.",
        stop=["\n"],
        decoding={"temperature": 0, "max_tokens": 8, "top_p": 0.9},
    )
    census = {"policy": "census", "templates": [{"id": "mine", "text": TEMPLATE}]}
    return write_study(folder, [judge], prompts=prompts or census, **fields)


def draws_of(found):
    return (found.folder / DRAWS).read_bytes()


def test_each_draw_is_requests_of_its_own_with_seeds_of_their_own(tmp_path, provider):
    found = reword_study(study(tmp_path, provider), who="chat", count=6)
    bodies = [json.loads(seen.body) for seen in provider.seen]
    assert len(bodies) == 6 * UNITS
    assert len({body["seed"] for body in bodies}) == len(bodies)
    assert {draw.template.id for draw in found.kept} == {f"r00{n}" for n in range(1, 7)}
    seeds = {(asked_text(b), b["seed"]) for b in bodies}
    for draw in found.kept:
        first_literal = draw.parts[0]
        assert any(reworded(text, seed) in first_literal for text, seed in seeds)


def test_only_text_between_placeholders_is_sent(tmp_path, provider):
    """No placeholder, no item, no sentence on how to reply, nothing of the judge's own setting."""
    reword_study(study(tmp_path, provider), who="chat", count=2)
    for seen in provider.seen:
        body = json.loads(seen.body)
        (message,) = body["messages"]
        assert message["role"] == "user"
        text = asked_text(body)
        assert text in TEMPLATE
        for word in ("{", "}", "Question 0", "Reply with", "[Candidate", "Do not explain"):
            assert word not in text
        assert (body["temperature"], body["top_p"]) == (1.0, 0.9)
        assert body["max_tokens"] >= 512
        assert "stop" not in body


def test_the_same_seed_gives_the_same_draws_byte_for_byte(tmp_path, provider):
    provider.act = reworder(broken=0.3)
    one = reword_study(study(tmp_path / "a", provider), who="chat", count=8)
    two = reword_study(study(tmp_path / "b", provider), who="chat", count=8)
    assert draws_of(one) == draws_of(two)
    other = reword_study(study(tmp_path / "c", provider, seed=12), who="chat", count=8)
    assert draws_of(other) != draws_of(one)


def test_a_later_draw_adds_to_the_earlier_one(tmp_path, provider):
    """Whether drawn at once or in two steps, and whatever was refused before."""
    provider.act = reworder(broken=0.4)
    path = study(tmp_path / "a", provider)
    few = reword_study(path, who="chat", count=5)
    before = draws_of(few)
    more = reword_study(few.loaded.path, count=11)
    assert draws_of(more).startswith(before)
    assert len(more.kept) >= 11
    asked = len(provider.seen)
    assert reword_study(few.loaded.path).draws == more.draws, "fewer than there are: nothing lost"
    assert len(provider.seen) == asked
    once = reword_study(study(tmp_path / "b", provider), who="chat", count=11)
    assert draws_of(once) == draws_of(more)


def test_placeholders_labels_and_the_reply_survive_in_all(tmp_path, provider):
    provider.act = reworder(broken=0.5)
    found = reword_study(study(tmp_path, provider), who="chat", count=12)
    assert len(found.kept) == 12
    for draw in found.kept:
        assert draw.parts[1::2] == ("instruction", "candidate_a", "candidate_b")
        assert draw.template.text.count("Reply with A, B or TIE on the first line.") == 1
        assert "If candidate A and candidate B are alike, choose TIE." in draw.template.text


def test_what_is_refused_is_kept_and_asked_again_at_most_three_times(tmp_path, provider):
    provider.act = reworder(broken=0.6)
    found = reword_study(study(tmp_path, provider), who="chat", count=12)
    tries = Counter((d.number, r.passage) for d in found.draws for r in d.refused)
    assert max(tries.values()) == 4
    lost = [draw for draw in found.draws if draw.parts is None]
    assert lost
    for draw in lost:
        assert max(tries[draw.number, u] for u in (1, 2)) == 4
    assert len(provider.seen) == len({s.sha256 for s in provider.seen}), "no request twice"
    assert set(found.refused) >= {"talk", "placeholder", "no reply", "labels"}
    texts = {r.text for d in found.draws for r in d.refused}
    assert any(text.startswith("Sure! Here is") for text in texts)


def test_it_is_a_run_that_verifies_and_loses_nothing(tmp_path, provider):
    provider.act = reworder(broken=0.3)
    found = reword_study(study(tmp_path, provider), who="chat", count=6)
    folder = RunFolder(found.folder / ASKED)
    assert verify(folder.path).ok
    assert folder.totals.completed == len(provider.seen) == folder.frozen.count


def test_exact_duplicates_are_kept_and_share_no_calls(tmp_path, provider):
    provider.act = reworder(identical=1.0)
    found = reword_study(study(tmp_path, provider), who="chat", count=5)
    assert len({draw.wording for draw in found.kept}) == 1
    provider.seen.clear()
    provider.act = say("A")
    run = freeze(load_study(found.loaded.path), tmp_path / "run")
    calls = list(run.iter_calls())
    assert len(run.templates) == 5
    assert len({c.call_id for c in calls}) == len({c.seed for c in calls}) == 5 * 2 * 2 * 2


def test_a_server_that_fails_is_asked_again_and_the_same_call_goes_on(tmp_path, provider):
    provider.act = first(reset, first(reply(503), reworder()))
    path = study(tmp_path, provider, transport={"backoff_s": 0.01, "attempts": 3})
    assert len(reword_study(path, who="chat", count=4).kept) == 4
    provider.act = reply(500)
    path = study(tmp_path / "b", provider, transport={"backoff_s": 0.01, "attempts": 2})
    with pytest.raises(IncompleteRunError):
        reword_study(path, who="chat", count=4)
    provider.act = reworder()
    assert len(reword_study(path, who="chat", count=4).kept) == 4
    provider.act = reply(401)
    with pytest.raises(ProviderRefusedError):
        reword_study(study(tmp_path / "c", provider), who="chat", count=4)


def test_the_budget_holds_and_the_rest_is_asked_later(tmp_path, provider):
    path = study(tmp_path, provider, budget={"calls": 5})
    with pytest.raises(BudgetReachedError):
        reword_study(path, who="chat", count=6)
    assert len(provider.seen) == 5
    before = {seen.sha256 for seen in provider.seen}
    study(tmp_path, provider, budget={"calls": 50})
    assert len(reword_study(path, who="chat", count=6).kept) == 6
    assert len(provider.seen) == 6 * UNITS
    assert before < {seen.sha256 for seen in provider.seen}


def test_too_many_refusals_end_in_words(tmp_path, provider):
    provider.act = say("Sure! Here you are.")
    with pytest.raises(
        InputError, match=r"0 of 6 draws passed the checks, 3 are wanted; .* talk 48"
    ):
        reword_study(study(tmp_path, provider), who="chat", count=3)
    assert len(provider.seen) == 6 * UNITS * 4


def test_a_draw_is_given_up_where_one_passage_is(tmp_path, provider):
    """What is left of it is not asked again."""

    async def act(seen, request):
        body = json.loads(seen.body)
        bad = asked_text(body).startswith("You are") and body["seed"] % 2
        return await (say("Sure!") if bad else reworder())(seen, request)

    provider.act = act
    found = reword_study(study(tmp_path, provider), who="chat", count=8)
    assert len(found.kept) == 8
    assert all(r.passage == 1 for draw in found.draws for r in draw.refused)


def test_another_generator_in_the_same_folder_is_refused(tmp_path, provider):
    found = reword_study(study(tmp_path, provider), who="chat", count=3)
    text = found.loaded.path.read_text()
    found.loaded.path.write_text(text.replace("count: 3", 'count: 3\n  instruction: "Other."'))
    with pytest.raises(StudyChangedError, match="draws of another generator: instruction changed"):
        reword_study(found.loaded.path)


def test_the_study_is_written_beside_and_keeps_its_comments(tmp_path, provider):
    path = study(tmp_path, provider)
    judge = json.loads(path.read_text())["judges"][0]
    path.write_text(
        "# mine\nversion: 1\nname: small # short\nseed: 11\n"
        "items: {source: jsonl, path: items.jsonl}\n"
        "# what is asked\nprompts:\n  policy: census\n  templates:\n  - id: p\n"
        f"    text: {json.dumps(TEMPLATE)}\n\n# who\njudges:\n- {json.dumps(judge)}\n"
    )
    found = reword_study(path, who="chat", count=3)
    text = found.loaded.path.read_text()
    assert found.loaded.path == tmp_path / "study-reworded.yaml"
    assert text.startswith("# mine\nversion: 1\nname: small-reworded\nseed: 11\n")
    assert (
        "\n# what is asked\nprompts:\n  policy: generator\n  grammar: reworded\n  count: 3\n"
        in text
    )
    assert "    You are an impartial judge." in text
    assert "\n\n# who\njudges:\n" in text
    assert (
        source_of(
            load_study(path).study.model_copy(update={"prompts": found.loaded.study.prompts})
        ).parts
        == found.source.parts
    )
    again = reword_study(path, who="chat", count=4)
    assert again.loaded.path.read_text() == text.replace("count: 3", "count: 4")
    with pytest.raises(InputError, match="is there and says something else"):
        reword_study(path, who="rules", count=4)


def test_who_rewords_and_what_must_be_said(tmp_path, provider):
    path = study(tmp_path, provider)
    with pytest.raises(InputError, match="say who rewords: --with JUDGE"):
        reword_study(path)
    with pytest.raises(InputError, match=r"--with chot: no judge of the study \(chat\) \(did you"):
        reword_study(path, who="chot")
    found = reword_study(path, who="chat", count=2)
    with pytest.raises(InputError, match="says itself what is reworded"):
        reword_study(found.loaded.path, who="chat")
    several = write_study(tmp_path / "b", [chat_judge(provider.base_url)])
    with pytest.raises(InputError, match=r"has 2 prompts \(p1, p2\): say with --prompt"):
        reword_study(several, who="chat")
    with pytest.raises(InputError, match="--prompt p3: the study has p1, p2"):
        reword_study(several, who="chat", prompt="p3")
    law = write_study(
        tmp_path / "c",
        [simulated_judge()],
        prompts={"policy": "census", "templates": [{"id": "p", "text": TEMPLATE}]},
    )
    with pytest.raises(StudyError, match="answers from a law and cannot reword"):
        reword_study(law, who="sim")
    assert not (tmp_path / "c" / "study-reworded.yaml").exists(), "nothing is left behind"


def test_another_endpoint_rewords(tmp_path, provider):
    with Provider(act=say("A")) as judge:
        path = study(tmp_path, judge)
        (tmp_path / "writer.yaml").write_text(json.dumps(chat_judge(provider.base_url, name="w")))
        found = reword_study(path, who="writer.yaml", count=3)
        assert len(found.kept) == 3
        assert judge.seen == []
    assert len(provider.seen) == 3 * UNITS


FUNCTION = """
import random

def reword(call):
    said = random.Random(call.seed).choice(["impartial", "fair", "neutral"])
    return call.item["candidate"].replace("impartial", said)
"""


def test_a_python_function_rewords(tmp_path, provider):
    path = study(tmp_path, provider)
    (tmp_path / "writer_of_prompts.py").write_text(FUNCTION)
    found = reword_study(path, who="writer_of_prompts:reword", count=9)
    assert {draw.template.text.split()[3] for draw in found.kept} == {
        "impartial",
        "fair",
        "neutral",
    }
    assert provider.seen == []


def test_a_function_that_is_handed_in_rewords(tmp_path, provider):
    asked = []

    def reword(call):
        asked.append(call)
        return call.item["candidate"].replace("impartial", random.Random(call.seed).choice("xyz"))

    prompts = {"policy": "generator", "grammar": "reworded", "count": 4, "text": TEMPLATE}
    path = study(
        tmp_path, provider, prompts={**prompts, "model": {"name": "f", "provider": "python"}}
    )
    found = reword_study(path, judge=reword)
    assert len(found.kept) == 4
    assert {call.prompt for call in asked} == {"reword"}


def test_a_server_may_choose_among_alternatives_too(tmp_path, provider):
    """One request a draw; what is none of the alternatives is refused."""
    listed = [
        ["Is every fact in it correct?", "Are its facts right?"],
        ["Which one is better?", "Which wins?"],
    ]

    async def act(seen, _request):
        seed = json.loads(seen.body)["seed"]
        said = [row[seed // (n + 1) % 2] for n, row in enumerate(listed)]
        said = said[:1] if seed % 5 == 0 else said
        return web.json_response(
            {
                "id": "x",
                "model": "m",
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"content": "\n".join(said)}}
                ],
            }
        )

    provider.act = act
    prompts = {"policy": "generator", "grammar": "reworded", "count": 10, "text": TEMPLATE}
    path = study(tmp_path, provider, prompts={**prompts, "model": "chat", "alternatives": listed})
    found = reword_study(path)
    assert len(found.kept) == 10
    assert len({tuple(d.made["alternatives"]) for d in found.kept}) > 2
    assert set(found.refused) == {"alternatives"}
    sent = asked_text(json.loads(provider.seen[0].body))
    assert sent == "Is every fact in it correct?\nWhich one is better?"


def test_draws_are_read_as_they_were_written(tmp_path, provider):
    provider.act = reworder(broken=0.4)
    found = reword_study(study(tmp_path, provider), who="chat", count=6)
    assert read_draws(found.folder, found.source.generator) == found.draws
    document = found.to_json()
    assert document["kept"] == 6
    assert document["drawn"] == len(found.draws)
    assert document["refused"] == found.refused
    json.dumps(document)
