"""A Spark frame is counted where it lies, and gives the tensor that a file gives."""

import json
import shutil

import pyarrow as pa
import pytest

from judgelaw.cli import main
from judgelaw.errors import DuplicateCallsError, InputError, TableError
from judgelaw.tables import read_tensor, read_tensors, write_calls
from support.calls import assert_same, columns, slow, table, write_csv

sql = pytest.importorskip("pyspark.sql", reason="needs the extra spark")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of the gateway to Java
]


@pytest.fixture(scope="module")
def spark():
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        # Code for a query takes longer to write and compile than a hundred rows to count.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    session = sql.SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def frame(spark, rows):
    """Hand rows over as an Arrow table: Spark starts a Python of its own to unpack a list."""
    return spark.createDataFrame(pa.Table.from_pylist(rows))


def test_a_spark_frame_equals_the_slow_count(spark):
    rows = [
        row | {"layer": layer} for layer in "ab" for row in table(items=2, prompts=1, repeats=40)
    ]
    tensors = read_tensors(frame(spark, rows))
    assert list(tensors) == [("a", "j"), ("b", "j")]
    expected = slow([row for row in rows if row["layer"] == "b"])
    assert_same(tensors["b", "j"], expected, but=("judge", "layer"))


def test_a_duplicate_is_named(spark):
    rows = table(items=1, prompts=1, orders=("AB",))
    with pytest.raises(DuplicateCallsError, match="repeat 1 has 2 rows"):
        read_tensor(frame(spark, [*rows, rows[1]]))


@pytest.mark.parametrize("name", ["calls.csv.gz", "calls.jsonl", "calls.parquet", "folder"])
@pytest.mark.usefixtures("spark")
def test_a_path_counted_by_spark_is_the_same_bit_for_bit(tmp_path, name):
    rows = table(items=6, prompts=2, repeats=3)
    rows = [row | {"item": row["item"] + ', "quoted"\nline'} for row in rows]
    if name == "folder":
        path = tmp_path / name
        path.mkdir()
        for part in range(2):
            write_calls(path / f"{part}.parquet", columns(rows[part::2]))
    else:
        path = tmp_path / name
        write_calls(path, columns(rows))
    ours, theirs = (read_tensor(path, engine=engine) for engine in ("duckdb", "spark"))
    assert_same(theirs, ours)


def test_labels_of_a_partitioned_folder_stay_text(spark, tmp_path):
    """Judges 007 and 7 are two, and the session is left as it was."""
    inference = "spark.sql.sources.partitionColumnTypeInference.enabled"
    before = spark.conf.get(inference)
    for judge in ("007", "7"):
        rows = [{k: v for k, v in row.items() if k != "judge"} for row in table()]
        write_calls(tmp_path / f"judge={judge}" / "part.parquet", columns(rows))
    theirs = read_tensors(tmp_path, engine="spark")
    assert list(theirs) == list(read_tensors(tmp_path)) == [(None, "007"), (None, "7")]
    assert spark.conf.get(inference) == before


@pytest.mark.usefixtures("spark")
def test_a_run_folder_and_capitals_are_read_as_by_duckdb(tmp_path):
    write_calls(tmp_path / "calls.parquet", columns(table()))
    write_calls(tmp_path / "manifest.parquet", {"call_id": ["x"]})
    capitals = write_csv(tmp_path / "CALLS.CSV", table())
    for source in (tmp_path, capitals):
        assert_same(read_tensor(source, engine="spark"), read_tensor(source))


@pytest.mark.usefixtures("spark")
def test_the_command_line_counts_with_spark(tmp_path, capsys):
    path = tmp_path / "calls.parquet"
    write_calls(path, columns(table(items=6, prompts=2, repeats=3)))
    answers = []
    for engine in ("duckdb", "spark"):
        options = ("--engine", engine, "--draws", "20", "--permutations", "0", "--json", "-")
        with pytest.raises(SystemExit) as stop:
            main(["analyze", str(path), *options])
        assert not stop.value.code
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["judges"] == answers[1]["judges"]


@pytest.mark.usefixtures("spark")
def test_a_path_that_spark_cannot_read_is_named(tmp_path):
    with pytest.raises(TableError, match=r"nothing\.parquet"):
        read_tensor(tmp_path / "nothing.parquet", engine="spark")


def test_spark_reads_paths_only():
    with pytest.raises(InputError, match="leave engine out"):
        read_tensor({"item": []}, engine="spark")
