"""What the labelling server takes, and what it says to what it does not take."""

import http.client
import json

import pytest

from judgelaw.live import LabelBook, label_server, read_labelling


@pytest.fixture
def send(tmp_path):
    """Serve two items, and give a function that posts bytes as the page does."""
    items = tmp_path / "items.jsonl"
    items.write_text("".join(json.dumps({"id": f"i{n}", "text": "t"}) + "\n" for n in range(2)))
    labelling = read_labelling(items, labels=["pass", "fail"])
    with (
        LabelBook(tmp_path / "labels.csv") as book,
        label_server(labelling, book, labeller="ann").beside() as address,
    ):

        def post(path, body, kind="application/json"):
            connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
            headers = {"Origin": f"http://127.0.0.1:{address.port}", "Content-Type": kind}
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.request("POST", f"/{address.token}/{path}", body, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, text

        post.book = book
        yield post


def given(**more):
    return {"labeller": "ann", "item": "i0", "label": "pass", **more}


@pytest.mark.parametrize(
    "body",
    [b"[" * 30_000, b'{"a":' * 20_000, b"\xff", b"", b"[]", b"NaN", b"null", b"1" * 10_000],
    ids=range(8),
)
def test_what_is_no_object_is_answered_in_words(send, body, capfd):
    assert send("api/label", body) == (400, "send one JSON object")
    assert send("api/undo", body) == (400, "send one JSON object")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("charset", ["rot13", "idna", "hex", "no-such", "utf-7", "\\"])
def test_a_charset_means_nothing(send, charset, capfd):
    status, _ = send("api/label", given(), f"application/json; charset={charset}")
    assert status == 200
    assert capfd.readouterr() == ("", "")


def test_a_note_is_kept_whole_or_refused_in_words(send):
    long = "word, " * 3_000 + "end"
    assert send("api/label", given(note=long))[0] == 200
    assert send.book.of("ann")["i0"].note == long
    status, text = send("api/label", given(item="i1", note="x" * 20_001))
    assert status == 400
    assert "the note has 20,001 characters, 20,000 are kept: shorten it" in text
    assert set(send.book.of("ann")) == {"i0"}


def test_the_same_label_twice_is_one_and_another_is_refused(send):
    assert send("api/label", given(note="n"))[0] == 200
    assert send("api/label", given(note="n"))[0] == 200
    status, text = send("api/label", given(label="fail", note="n"))
    assert status == 409
    assert json.loads(text)["done"] == 1
    for _ in range(2):
        status, text = send("api/undo", {"labeller": "ann", "item": "i0"})
        assert (status, json.loads(text)["next"]["item"]) == (200, "i0")


def test_a_disk_that_refuses_is_said_and_what_others_wrote_too(send, monkeypatch):
    with monkeypatch.context() as full:

        def refuse(*_):
            raise OSError(28, "No space left on device")

        full.setattr("os.fsync", refuse)
        status, text = send("api/label", given())
    assert status == 503
    assert "No space left on device" in json.loads(text)["error"]
    assert send("api/label", given())[0] == 200
    send.book.path.unlink()
    status, text = send("api/label", given(item="i1"))
    assert "put back 1 label" in json.loads(text)["news"][0]
    assert send.book.path.read_text().count("pass") == 2
