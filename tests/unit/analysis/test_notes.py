"""What happened to a table on its way in stands among the warnings of its analysis."""

from judgelaw.analysis import analyze
from judgelaw.tables import read_tensors, write_calls


def test_verdicts_that_were_read_by_meaning_are_said_to_be(tmp_path):
    cells = [(i, p, r) for i in "abc" for p in "pq" for r in range(2)]
    columns = {
        "judge": ["j"] * len(cells),
        "item": [i for i, _, _ in cells],
        "prompt": [p for _, p, _ in cells],
        "repeat": [r for _, _, r in cells],
        "verdict": ["Candidate_1" if r else "TIE" for _, _, r in cells],
    }
    write_calls(tmp_path / "calls.csv", columns)
    found = analyze(read_tensors(tmp_path / "calls.csv"), draws=20, permutations=0)
    (judge,) = found.judges.values()
    assert any("without regard to case" in warning for warning in judge.warnings)
    assert list(judge.warnings) == found.to_json()["judges"]["j"]["warnings"]
