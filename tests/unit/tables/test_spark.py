"""A Spark frame is counted where it lies, and gives the tensor that a file gives."""

import shutil

import pytest

from judgelaw.errors import DuplicateCallsError
from judgelaw.tables import read_tensor, read_tensors
from support.calls import assert_same, slow, table

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
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    session = sql.SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def frame(spark, rows):
    names = list(rows[0])
    return spark.createDataFrame([tuple(row[name] for name in names) for row in rows], names)


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
