"""Frames of Spark and Dask come through narwhals, and give the tensor that a file gives."""

import gc

import pandas as pd
import pyarrow as pa
import pytest

import judgelaw as jl
from judgelaw.errors import DuplicateCallsError, TableError
from judgelaw.tables import read_tensor, read_tensors
from support.calls import assert_same, slow, table, write_csv

sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed")
sc = pytest.importorskip("pyspark", reason="Spark is not installed")
dataframe = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
# Sockets of the gateway to Java.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


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
    gateway = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    sc.SparkContext._gateway = sc.SparkContext._jvm = None
    del session, gateway
    gc.collect()  # its sockets are let go of here, and not in somebody else's test


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


def test_a_spark_query_is_a_table(spark):
    """What a query of Spark renames and keeps is read as any table is."""
    rows = table(items=4, prompts=2, repeats=3)
    renamed = frame(spark, rows).withColumnRenamed("verdict", "winner").where("item <> 'i3'")
    expected = read_tensor(pa.Table.from_pylist([row for row in rows if row["item"] != "i3"]))
    assert_same(read_tensor(renamed, columns={"verdict": "winner"}), expected)


def test_an_error_of_spark_is_ours(spark):
    broken = frame(spark, table()).selectExpr("*", "raise_error('no disk') AS stratum")
    with pytest.raises(TableError, match="its engine answered"):
        read_tensor(broken)


@pytest.mark.parametrize("parts", [1, 3])
def test_a_dask_frame_equals_the_slow_count(parts):
    rows = table(items=6, prompts=2, repeats=3)
    lazy = dataframe.from_pandas(pd.DataFrame(rows), npartitions=parts)
    assert_same(read_tensor(lazy), slow(rows), but=("judge", "layer"))


def test_a_duplicate_in_two_parts_of_a_dask_frame_is_named():
    rows = table(items=1, prompts=1, orders=("AB",))
    lazy = dataframe.from_pandas(pd.DataFrame([*rows, rows[1]]), npartitions=2)
    with pytest.raises(DuplicateCallsError, match="repeat 1 has 2 rows"):
        read_tensor(lazy)


def test_a_dask_frame_is_analysed_as_its_file_is(tmp_path):
    rows = table(items=6, prompts=2, repeats=3)
    lazy = dataframe.from_pandas(pd.DataFrame(rows), npartitions=2)
    few = {"draws": 20, "permutations": 0}
    theirs = jl.analyze(lazy, **few).to_json()["judges"]
    assert (
        theirs
        == jl.analyze(str(write_csv(tmp_path / "calls.csv", rows)), **few).to_json()["judges"]
    )
