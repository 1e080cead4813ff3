"""Calls tables with criteria: each is read by itself, and named where it is not there."""

import pytest

import judgelaw as jl
from judgelaw.errors import DuplicateCallsError, TableError
from judgelaw.tables import read_tensors

HEAD = "judge,criterion,item,prompt,repeat,verdict\n"


@pytest.fixture
def table(tmp_path):
    def written(rows, head=HEAD):
        path = tmp_path / "calls.csv"
        path.write_text(head + "".join(f"{row}\n" for row in rows))
        return path

    return written


def rows(judge, criterion, words):
    return [
        f"{judge},{criterion},i{i},p,{r},{words[(i + r) % len(words)]}"
        for i in range(3)
        for r in range(2)
    ]


@pytest.fixture
def two(table):
    return table(
        rows("j", "score", "123") + rows("j", "safe", ["yes", "no"]) + rows("k", "safe", ["no"])
    )


def test_each_criterion_has_an_alphabet_of_its_own(two):
    found = read_tensors(two)
    assert list(found) == [(None, "j · safe"), (None, "k · safe"), (None, "j · score")]
    assert found[None, "j · score"].verdicts == ("1", "2", "3")
    assert found[None, "j · safe"].verdicts == ("no", "yes")
    assert found[None, "j · safe"].judge == "j"


def test_criteria_and_judges_are_named_as_answers_name_them(two):
    assert [name for _, name in read_tensors(two, criteria=["safe"])] == ["j · safe", "k · safe"]
    assert [name for _, name in read_tensors(two, judges=["j"])] == ["j · safe", "j · score"]
    assert [name for _, name in read_tensors(two, judges=["j · score"])] == ["j · score"]
    tensor = jl.VerdictTensor.from_table(two, judge="j", criterion="score")
    assert (tensor.judge, tensor.criterion) == ("j", "score")
    assert jl.VerdictTensor.from_table(two, judge="k").criterion == "safe"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"criterion": "scor"},
            r"no criterion is called 'scor' \(did you mean 'score'\?\): it has 'safe'",
        ),
        ({"judge": "j"}, r"holds 2 criteria, 'safe', 'score', and none is named: pass criterion"),
        ({"judge": "m"}, r"no judge is called 'm': it has 'j', 'j · safe'"),
        ({"criterion": "safe"}, r"holds 2 judges, 'j', 'k', and none is named"),
    ],
)
def test_what_is_not_there_is_refused_by_name(two, asked, said):
    with pytest.raises(TableError, match=said):
        jl.VerdictTensor.from_table(two, **asked)


def test_a_criterion_is_part_of_the_key_of_a_call(table):
    twice = rows("j", "safe", ["yes"])
    with pytest.raises(DuplicateCallsError):
        read_tensors(table(twice + twice[:1]))
    assert len(read_tensors(table(twice + rows("j", "kind", ["yes"])))) == 2


def test_a_table_without_criteria_is_read_as_before(table):
    plain = table(["j,i0,p,0,a", "j,i0,p,1,b"], "judge,item,prompt,repeat,verdict\n")
    assert list(read_tensors(plain)) == [(None, "j")]
    with pytest.raises(TableError, match="has no column 'criterion': leave criterion out"):
        read_tensors(plain, criteria=["safe"])


def test_a_verdict_of_no_criterion_is_the_judges_own(table):
    both = table(rows("j", "", ["a", "b"]) + rows("j", "safe", ["yes", "no"]))
    found = read_tensors(both)
    assert list(found) == [(None, "j"), (None, "j · safe")]
    document = jl.analyze(both, permutations=0, draws=50).to_json()
    assert document["judges"]["j"]["outcomes"] == {"a": 3, "b": 3}
    assert document["judges"]["j"]["criteria"]["safe"]["outcomes"] == {"no": 3, "yes": 3}
