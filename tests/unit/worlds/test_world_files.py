"""World files with values of the wrong kind end in words, with the line."""

import pytest

from judgelaw.cli.simulate import read_world
from judgelaw.errors import InputError
from judgelaw.replication import simulate_custom

TWO_ITEMS = """\
laws:
  - [[[0.9, 0.1]], [[0.5, 0.5]]]
  - [[[0.2, 0.8]], [[0.5, 0.5]]]
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompts: 3\nverdicts: 5\n", r"world\.yaml:2: verdicts = 5: a list of names"),
        ("prompts: 3\nprompt_direction: x\n", r"world\.yaml:2: prompt_direction = 'x'"),
        ("prompts: 3\nitems: x\n", r"world\.yaml: items = 'x': a whole number"),
        (TWO_ITEMS + "seed: x\n", r"world\.yaml: seed = 'x': a whole number"),
    ],
)
def test_wrong_kinds_are_refused_with_their_place(text, message, tmp_path):
    path = tmp_path / "world.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_world(path, items=None, seed=None)


def test_laws_by_item_are_simulated_with_more_draws_than_items(tmp_path):
    path = tmp_path / "world.yaml"
    path.write_text(TWO_ITEMS)
    world, design = read_world(path, items=500, seed=2)
    study = simulate_custom(world, **design)
    assert (study.items, study.seed) == (500, 2)
    assert study.rows[0].truth == pytest.approx((2 * 0.2**2 + 2 * 0.15**2) / 2)
