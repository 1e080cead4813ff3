"""Probes end to end: a judge behind HTTP that falls for an expert's name is found out."""

import json

from aiohttp import web

from judgelaw.cli import program
from servers.provider import Provider, chat_body
from servers.several import choosing_study
from servers.study import chat_judge, write_study


async def gullible(seen, _request):
    """Choose the answer that an expert wrote; roll dice by the seed otherwise."""
    body = json.loads(seen.body)
    shown = body["messages"][-1]["content"].split("\n")
    expert = next((i for i, line in enumerate(shown) if "domain expert" in line), None)
    text = "AB"[hash(body["seed"] * 2654435761) % 997 % 2]
    if expert is not None:
        text = "B" if any(line in ("one", "two") for line in shown[:expert]) else "A"
    return web.json_response(chat_body(text, number=seen.total))


def test_an_expert_s_name_is_found_to_pull_and_nothing_else(tmp_path, capsys):
    with Provider(gullible) as server:
        study = write_study(
            tmp_path,
            [chat_judge(server.base_url, seed="sent")],
            items=10,
            repeats=4,
            probes=["authority", "identity", "typos"],
            gate={"probes": {"authority": 0.1}},
        )
        assert program._run(["audit", str(study), "--out", str(tmp_path / "run")]) == 0
        asked = len(server.seen)
        assert program._run(["audit", str(study), "--out", str(tmp_path / "run")]) == 0
        assert len(server.seen) == asked
    assert asked == 10 * 2 * 2 * 4 * (1 + 2 + 2)  # `typos` has no longer word to change
    found = json.loads((tmp_path / "run" / "results" / "analysis.json").read_text())
    probes = found["judges"]["chat"]["probes"]
    assert set(probes) == {"authority", "identity"}
    assert probes["authority"]["real"]
    assert probes["authority"]["shift"]["estimate"] > 0.4
    assert not probes["identity"]["real"]
    assert "adding an expert's name moves" in capsys.readouterr().out
    assert program._run(["verify", str(tmp_path / "run")]) == 0
    assert program._run(["gate", str(tmp_path / "run")]) == 1


async def gullible_of_four(seen, _request):
    """Choose the candidate that an expert wrote; roll dice by the seed otherwise."""
    body = json.loads(seen.body)
    shown = body["messages"][-1]["content"].split("CANDIDATE ")[1:]
    expert = next((part[0] for part in shown if "domain expert" in part), None)
    text = expert or "ABCD"[hash(body["seed"] * 2654435761) % 997 % 4]
    return web.json_response(chat_body(text, number=seen.total))


def test_each_of_four_candidates_is_probed_in_turn(tmp_path, capsys):
    with Provider(gullible_of_four) as server:
        judges = [chat_judge(server.base_url, seed="sent")]
        probes = ["authority", "identity"]
        study = choosing_study(tmp_path, judges, items=6, repeats=2, probes=probes)
        assert program._run(["audit", str(study), "--out", str(tmp_path / "run")]) == 0
        asked = len(server.seen)
    assert asked == 6 * 2 * 4 * 2 * (1 + 4 + 4)
    found = json.loads((tmp_path / "run" / "results" / "analysis.json").read_text())
    probes = found["judges"]["chat"]["probes"]
    assert probes["authority"]["real"]
    # One of four by the dice, always by the expert's name.
    assert abs(probes["authority"]["shift"]["estimate"] - 0.75) < 0.1
    assert not probes["identity"]["real"]
    assert "adding an expert's name moves" in capsys.readouterr().out
