"""`check --probe` and a run of a judge that was asked for token probabilities."""

import json
from math import log

import pytest

import judgelaw as jl
from judgelaw.cli import program
from judgelaw.ledger import LEDGER_NAME, SqliteView
from servers.provider import Provider, chat_body, reply, say
from servers.study import simulated_judge, write_study

TOP = {"A": 0.6, "B": 0.25, "T": 0.1}


def listed() -> dict:
    """A chat reply with the tokens that might have stood in the place of its only one."""
    top = [{"token": text, "logprob": log(p), "bytes": None} for text, p in TOP.items()]
    body = chat_body("A")
    body["choices"][0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    return body


def asked(folder, act, **fields) -> tuple[int, dict, list[bytes]]:
    with Provider(act) as provider:
        judge = {
            "name": "j",
            "provider": "openai-chat",
            "base_url": provider.base_url,
            "model": "m",
            "logprobs": 20,
            **fields,
        }
        study = write_study(folder, [judge])
        out = folder / "check.json"
        code = program._run(["check", str(study), "--probe", "--json", str(out)])
        seen = [each.body for each in provider.seen]
    (probe,) = json.loads(out.read_text())["probes"]
    return code, probe["probabilities"], seen


def test_the_probe_says_which_token_decides_and_what_the_others_are(tmp_path, capsys):
    code, found, seen = asked(tmp_path, reply(200, listed()))
    assert code == 0
    assert found["status"] == "decided"
    assert (found["token"], found["text"], found["begun"]) == (0, "A", ["T"])
    assert found["verdicts"] == pytest.approx({"candidate_1": 0.6, "candidate_2": 0.25})
    assert found["missing"] == pytest.approx(0.15)
    assert json.loads(seen[0])["top_logprobs"] == 20
    out = capsys.readouterr().out
    assert "token probabilities: token 1 ('A') decides" in out
    assert "'T' begin a label of several tokens, and count as missing" in out


def test_a_provider_that_returns_none_is_told_apart_from_one_that_refuses(tmp_path):
    code, found, _ = asked(tmp_path, say("A"))
    assert (code, found["status"]) == (0, "none")
    assert "the provider ignores it" in found["words"]
    refusal = {"error": {"message": "top_logprobs must be at most 5", "type": "invalid_request"}}
    code, found, _ = asked(tmp_path, reply(400, refusal))
    assert (code, found["status"]) == (5, "refused")
    assert "ask for fewer, or leave logprobs out" in found["words"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"provider": "anthropic"}, "returns no token probabilities"),
        ({"decoding": {"top_p": 0.9}}, "changes the law after token probabilities are taken"),
        ({"decoding": {"temperature": 1.5}}, "above 1 tokens that are not listed gain mass"),
        ({"decoding": {"top_logprobs": 5}}, "the judge says logprobs: 20"),
    ],
)
def test_what_no_reply_could_answer_is_refused_in_the_study(tmp_path, capsys, fields, words):
    judge = {
        "name": "j",
        "provider": "openai-chat",
        "base_url": "http://h",
        "model": "m",
        "logprobs": 20,
        **fields,
    }
    assert program._run(["check", str(write_study(tmp_path, [judge]))]) == 2
    assert words in capsys.readouterr().err


def test_prompts_in_a_row_are_for_judges_on_this_machine(tmp_path, capsys):
    judge = {"name": "j", "provider": "openai-chat", "base_url": "http://h", "model": "m"}
    assert program._run(["check", str(write_study(tmp_path, [judge], schedule="prompts"))]) == 2
    assert "may drift meanwhile" in capsys.readouterr().err


def test_a_run_keeps_them_beside_the_reply_and_in_its_table(tmp_path, capsys):
    study = write_study(tmp_path, [simulated_judge(logprobs=20)], items=8, repeats=2)
    run = tmp_path / "run"
    assert program._run(["audit", str(study), "--out", str(run)]) == 0
    capsys.readouterr()
    tensor = jl.VerdictTensor.from_table(run)
    law = {"candidate_1": 0.5, "candidate_2": 0.3, "tie": 0.1, "invalid": 0.1}
    assert tensor.soft == pytest.approx(
        0 * tensor.soft + [law[verdict] for verdict in tensor.verdicts], abs=1e-8
    )
    with SqliteView(run / LEDGER_NAME) as view:
        judged = list(view.judged())
    assert all(len(json.loads(each.tokens)[0][2]) == 4 for each in judged)
    assert program._run(["verify", str(run), "--recompute"]) == 0
    document = json.loads((run / "results" / "analysis.json").read_text())
    assert document["judges"]["sim"]["soft"]["missing"] < 1e-6
    page = (run / "report.html").read_text()
    assert "Sampled verdicts and token probabilities" in page


def test_columns_are_absent_where_nobody_asked(tmp_path):
    study = write_study(tmp_path, [simulated_judge()], items=2)
    assert program._run(["run", str(study), "--out", str(tmp_path / "run")]) == 0
    assert jl.VerdictTensor.from_table(tmp_path / "run").soft is None
    import duckdb

    table = duckdb.read_parquet(str(tmp_path / "run" / "calls.parquet"))
    assert not [name for name in table.columns if name.startswith("p_") or name == "missing"]


def test_evidence_is_chosen_on_the_command_line(tmp_path, capsys):
    table = tmp_path / "calls.jsonl"
    p = {"p_yes": 0.5, "p_no": 0.5}
    rows = [
        {"judge": "j", "item": f"i{i}", "prompt": f"p{k}", "repeat": r, "verdict": v, **p}
        for i in range(6)
        for k in range(2)
        for r, v in enumerate(("yes", "no"))
    ]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for soft, evidence in (("auto", "soft"), ("only", "soft"), ("never", "sampled")):
        asked = ["analyze", str(table), "--permutations", "0", "--soft", soft, "--json", "-"]
        assert program._run(asked) == 0
        found = json.loads(capsys.readouterr().out)["judges"]["j"]
        assert found["evidence"] == evidence
        assert found["components"]["call"]["evidence"] == evidence
    assert program._run(["analyze", str(table), "--permutations", "0", "--details"]) == 0
    assert "side by side" in capsys.readouterr().out
    plain = [{k: v for k, v in row.items() if not k.startswith("p_")} for row in rows]
    table.write_text("".join(json.dumps(row) + "\n" for row in plain))
    assert program._run(["analyze", str(table), "--soft", "only"]) == 2
    assert "no token probabilities" in capsys.readouterr().err
