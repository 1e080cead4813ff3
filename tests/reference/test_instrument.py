"""The frozen prompt instrument against the hashes that the paper publishes."""

import hashlib

import pytest

from judgelaw.errors import IntegrityError
from judgelaw.study import Item, instruction_blocks, payload
from judgelaw.study.prompts import CRITERION, OUTPUT, check, paper_six

PUBLISHED = {
    "e3_eq_01": "6150eee260e2",
    "e3_eq_02": "b4e2abdb3f5d",
    "e3_eq_03": "4105ee21ae39",
    "e3_eq_04": "98e73dac4b44",
    "e3_eq_05": "71d0213e8079",
    "e3_eq_06": "6e860cf9dbc6",
}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", PUBLISHED)
def test_instruction_blocks_have_the_published_hashes(name):
    assert sha256(instruction_blocks()[name])[:12] == PUBLISHED[name]


def test_criterion_and_output_suffix_have_the_published_hashes():
    assert sha256(CRITERION) == "6150eee260e2392e9688cfc22ff81ad52cdf70110c9aa07d51fda9f1d6019ccd"
    assert sha256(OUTPUT) == "50636ab1327cc4d0b739793bc82e9b974e7c67fdde2f8c461a03e0fd80378cde"


def test_the_rendered_prompt_is_laid_out_as_published():
    """One newline before the item, two before the output suffix, which ends with one."""
    item = Item(
        id="1", stratum=None, instruction="I", candidate_1="one", candidate_2="two", gold=None
    )
    text = payload(paper_six()[1], item, "BA")
    assert text == (
        "PAIRWISE JUDGMENT\n\n" + CRITERION + "\nUSER INSTRUCTION:\nI\n\n"
        "CANDIDATE A:\ntwo\n\nCANDIDATE B:\none\n\n" + OUTPUT
    )


def test_only_the_wrapper_differs_between_the_six():
    texts = [template.text for template in paper_six()]
    ends = {text[text.index("USER INSTRUCTION:") :] for text in texts}
    assert len(texts) == len(set(texts)) == 6
    assert len(ends) == 1


def test_an_altered_instrument_is_refused():
    with pytest.raises(IntegrityError, match="e3_eq_02 hashes to"):
        check("e3_eq_02", "PAIRWISE JUDGEMENT\n\n" + CRITERION, PUBLISHED["e3_eq_02"])
