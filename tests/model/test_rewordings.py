"""The embedded model rewords: it chooses one alternative for each sentence, under a grammar."""

import pytest

from judgelaw.runs import reword_study
from judgelaw.study import DRAWS, freeze, load_study
from servers.rewording import TEMPLATE
from servers.study import write_study
from support.model import ALONE, shallow_model, spec

pytestmark = [pytest.mark.model, pytest.mark.timeout(240)]

ALTERNATIVES = [
    ["You are an impartial judge.", "Act as a neutral judge.", "Judge without taking sides."],
    ["Is every fact in it correct?", "Are all of its facts right?"],
]
COUNT = 8


def test_it_chooses_by_seed_and_duplicates_share_no_calls(tmp_path):
    judge = spec(model_path=str(shallow_model()), **ALONE)
    prompts = {"policy": "generator", "grammar": "reworded", "count": COUNT, "text": TEMPLATE}
    prompts |= {"model": judge["name"], "alternatives": ALTERNATIVES}
    one, two = (
        reword_study(write_study(tmp_path / name, [judge], prompts=prompts)) for name in ("a", "b")
    )
    assert (one.folder / DRAWS).read_bytes() == (two.folder / DRAWS).read_bytes()
    assert one.refused == {}, "the grammar lets nothing else through"
    assert len(one.kept) == COUNT > len({draw.wording for draw in one.kept}) > 1
    for draw in one.kept:
        assert draw.parts[1::2] == ("instruction", "candidate_a", "candidate_b")
        assert "Reply with A, B or TIE on the first line. Do not explain." in draw.template.text
        said = zip(ALTERNATIVES, draw.made["alternatives"], strict=True)
        assert all(listed[place] in draw.template.text for listed, place in said)
    run = freeze(load_study(one.loaded.path), tmp_path / "run")
    calls = list(run.iter_calls())
    cells = 2 * 2 * 2
    assert len({c.call_id for c in calls}) == len({c.seed for c in calls}) == COUNT * cells
