"""Tables in an object store: S3 spoken by moto on loopback."""

import pytest

from judgelaw.errors import TableError
from judgelaw.tables import read_tensor, write_calls
from support.calls import assert_same, columns, slow, table

s3fs = pytest.importorskip("s3fs", reason="needs the extra s3")
server = pytest.importorskip("moto.server", reason="needs moto[server]")
pytestmark = pytest.mark.usefixtures("own_database")  # a store is made known to a database


@pytest.fixture(scope="module")
def endpoint():
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"http://{host}:{port}"
    moto.stop()


@pytest.fixture
def bucket(endpoint, monkeypatch):
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    store = s3fs.S3FileSystem()
    if not store.exists("calls"):
        store.mkdir("calls")
    yield store
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize("suffix", [".parquet", ".csv.gz", ".jsonl"])
def test_a_file(bucket, tmp_path, suffix):
    write_calls(tmp_path / f"one{suffix}", columns(table()))
    bucket.put(str(tmp_path / f"one{suffix}"), f"calls/one{suffix}")
    assert_same(read_tensor(f"s3://calls/one{suffix}"), slow(table()), but=("judge",))


def test_a_folder_and_a_glob(bucket, tmp_path):
    rows = table(items=6)
    for part in range(3):
        write_calls(tmp_path / f"{part}.parquet", columns(rows[part::3]))
        bucket.put(str(tmp_path / f"{part}.parquet"), f"calls/run/{part}.parquet")
    for source in ("s3://calls/run", "s3://calls/run/*.parquet"):
        assert_same(read_tensor(source), slow(rows), but=("judge",))


@pytest.mark.usefixtures("bucket")
def test_what_is_not_there():
    for source in ("s3://calls/none.parquet", "s3://calls/none.csv", "s3://nowhere/x/*.parquet"):
        with pytest.raises(TableError, match=source.replace("*", r"\*")):
            read_tensor(source)


@pytest.mark.usefixtures("bucket")
def test_credentials_that_are_missing(monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(TableError, match=r"s3://calls/one.parquet"):
        read_tensor("s3://calls/one.parquet")
