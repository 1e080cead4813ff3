import json
from pathlib import Path

import jsonschema
import pytest

from judgelaw.study import study_schema
from judgelaw.study.problems import read_yaml

ROOT = Path(__file__).parents[3]

EXAMPLE = """\
version: 1
name: everything
seed: 1
items:
  source: llmbar
  path: llmbar
  selections: {matched: {per_stratum: 10}, broad: {complement_of: matched}}
prompts: {policy: generator, count: 4, grammar: {styles: [xml]}}
judges:
  - {name: a, preset: paper-qwen, base_url: http://h, template: x.jinja}
  - name: b
    provider: simulated
    model: m
    law: {verdicts: {tie: 1}}
    parser: {json: winner}
    grid: {temperature: [0, 1]}
layers: [{name: control, role: control, labels: 6, items: matched, judges: [a]}]
transport: {timeout: 3}
analysis: {estimator: sampled, depth: 4, seeds: {bands: 1}}
"""


@pytest.fixture(scope="module")
def validator():
    schema = study_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(json.loads(json.dumps(schema)))


def test_examples_and_every_short_form_are_valid(validator):
    studies = ("quickstart", "pairs")
    texts = [EXAMPLE, *((ROOT / f"examples/{name}/study.yaml").read_text() for name in studies)]
    for text in texts:
        assert [error.message for error in validator.iter_errors(read_yaml(text).data)] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed: 1\n", "seed: x\n"),
        ("name: everything", "nam: everything"),
        ("preset: paper-qwen", "preset: paper-llama"),
        ("role: control", "role: 'null'"),
        ("provider: simulated\n", "wire: simulated\n"),
    ],
)
def test_mistakes_are_invalid(validator, old, new):
    assert old in EXAMPLE
    assert not validator.is_valid(read_yaml(EXAMPLE.replace(old, new)).data)
