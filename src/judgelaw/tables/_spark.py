"""Calls at a path that Spark reads and counts: files that one machine does not hold."""

import os
import shutil
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from judgelaw.tables._lazy import LazyCalls
    from judgelaw.tables._open import Mapped

_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


@contextmanager
def spark_calls(source: Any, columns: "Mapped") -> "Iterator[LazyCalls]":
    """Open a path in the session there is, or in one of our own that ends with the job."""
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(
            f"engine = 'spark' reads paths, not a {type(source).__name__}: a frame is counted by "
            "its own engine, so leave engine out"
        )
    import narwhals as nw  # noqa: PLC0415 - files need no frame library

    from judgelaw.tables._lazy import LazyCalls, engine_errors  # noqa: PLC0415 - same
    from judgelaw.tables._open import laid_out  # noqa: PLC0415 - same

    place = os.fspath(source)
    with ExitStack() as jobs:
        with engine_errors(place):
            frame = nw.from_native(_frame(jobs.enter_context(_session()), place))
            layout = laid_out(frame, columns, place)
        yield LazyCalls(frame=frame, table=place, layout=layout)


@contextmanager
def _session() -> "Iterator[SparkSession]":
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            "engine = 'spark' needs pyspark: pip install 'judgelaw[spark]'"
        ) from error
    if running := SparkSession.getActiveSession():
        yield running
        return
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise MissingExtraError(
            "engine = 'spark' needs Java, and there is no java on the PATH: install a Java "
            "runtime of version 17 or later, or set JAVA_HOME"
        )
    # Master, memory and the rest come from spark-submit or spark-defaults.conf, as for any job.
    spark = SparkSession.builder.appName("judgelaw").getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def _frame(spark: "SparkSession", place: str) -> "DataFrame":
    """Read by the ending of the name; a folder, a glob or anything else is Parquet."""
    plain = place.lower().removesuffix(".gz")
    if plain.endswith(".csv"):
        # Every field as text, as our own reader has it; quotes are doubled, and may hold newlines.
        return spark.read.csv(place, header=True, escape='"', multiLine=True, inferSchema=False)
    if plain.endswith((".jsonl", ".ndjson")):
        return spark.read.json(place, primitivesAsString=True)
    calls = Path(place) / "calls.parquet"
    with _text_partitions(spark):
        return spark.read.parquet(str(calls) if calls.exists() else place)  # a run holds others too


@contextmanager
def _text_partitions(spark: "SparkSession") -> "Iterator[None]":
    """Keep the labels in names of folders as they are: Spark makes 7 of judge=007."""
    before = spark.conf.get(_INFERENCE)
    spark.conf.set(_INFERENCE, "false")
    try:
        yield
    finally:
        spark.conf.set(_INFERENCE, before or "true")
