"""One Parquet file in SQL."""

import glob
from os import PathLike


def one_file(path: str | PathLike[str]) -> str:
    """Return the SQL that scans one file.

    DuckDB would take brackets in a path for a pattern, and a folder `judge=x` for a column.
    """
    literal = glob.escape(str(path)).replace("'", "''")
    return f"read_parquet('{literal}', hive_partitioning=false)"
