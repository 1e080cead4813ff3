"""A column `date`: part of what makes a call, and the latest one is read unless told."""

import pytest

from judgelaw.errors import DuplicateCallsError, TableError
from judgelaw.tables import read_tensor

HEADER = "judge,date,item,prompt,repeat,verdict"


def lines(*dates, verdict="a"):
    return [
        f"j,{date},i{i},p,{r},{verdict if r else 'b'}"
        for date in dates
        for i in range(2)
        for r in range(2)
    ]


def written(path, rows):
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_the_same_call_on_two_dates_is_two_calls(tmp_path):
    rows = [*lines("2026-05-10", verdict="a"), *lines("2026-05-03", verdict="b")]
    path = written(tmp_path / "t.csv", rows)
    latest = read_tensor(path)
    assert latest.counts.sum() == 4
    assert latest.counts[0, 0, 0].tolist() == [1, 1]
    early = read_tensor(path, date="2026-05-03")
    assert early.counts[0, 0, 0].tolist() == [2]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_too(tmp_path, library):
    frames = pytest.importorskip(library, reason="reads a frame of this library")
    path = written(tmp_path / "t.csv", lines("2026-05-03", "2026-05-10"))
    frame = frames.read_csv(path)
    assert read_tensor(frame).counts.sum() == 4
    if library == "polars":
        assert read_tensor(frame.lazy()).counts.sum() == 4


def test_a_call_twice_on_one_date_is_named_with_its_line(tmp_path):
    rows = [*lines("2026-05-03"), *lines("2026-05-10"), "j,2026-05-10,i0,p,0,a"]
    with pytest.raises(DuplicateCallsError, match=r"t\.csv:6, .*t\.csv:10"):
        read_tensor(written(tmp_path / "t.csv", rows))


def test_dates_whose_sequence_nobody_knows(tmp_path):
    path = written(tmp_path / "t.csv", lines("May", "June"))
    with pytest.raises(TableError, match=r"'June' is no date.*--date"):
        read_tensor(path)
    assert read_tensor(path, date="May").counts.sum() == 4
    with pytest.raises(TableError, match="no date is called 'Mai'"):
        read_tensor(path, date="Mai")


def test_one_name_for_all_is_no_matter(tmp_path):
    assert read_tensor(written(tmp_path / "t.csv", lines("first"))).counts.sum() == 4


def test_a_date_where_there_is_none(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("judge,item,prompt,repeat,verdict\nj,i,p,0,a\nj,i,p,1,b\n")
    with pytest.raises(TableError, match="no column 'date'"):
        read_tensor(path, date="2026-05-03")
