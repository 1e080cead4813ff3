"""A pooler between workers and PostgreSQL: few connections to the server, handed on all the time.

It does what PgBouncer does with `pool_mode = transaction`, and worse: the connection that a
transaction gets is drawn by chance from all that are free, and nothing of it is reset. With
`torn=True` it hands them on after every statement, in the middle of a transaction too.
"""

import random
import select
import socket
import struct
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from support.postgres import socket_path

_PROTOCOL = 196608
_ASKS = (80877103, 80877104)
"""For TLS and for GSSAPI, which it has not."""
_HELLO = struct.pack("!cii", b"R", 8, 0)
_SAID = {
    "server_version": "18.0",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
}
_READY = struct.pack("!cic", b"Z", 5, b"I")


class Pooler:
    """Listens on loopback as a PostgreSQL server would."""

    def __init__(self, url: str, *, size: int = 3, torn: bool = False, seed: int = 0) -> None:
        self._database = urlsplit(url).path.lstrip("/")
        self._torn = torn
        self._chance = random.Random(seed)
        self._free = [_server(self._database) for _ in range(size)]
        self._changed = threading.Condition()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        self.handed_on = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/{self._database}"

    def close(self) -> None:
        self._listener.close()
        with self._changed:
            for server in self._free:
                server.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = None
        try:
            _greet(client)
            while data := client.recv(65536):
                if data[:1] == b"X":
                    return
                server = self._take()
                server.sendall(data)
                self._relay(client, server)
                self._give_back(server)
                server = None
        except OSError:
            pass
        finally:
            client.close()
            if server is not None:  # it may be inside a transaction: nobody else gets it
                server.close()
                self._give_back(_server(self._database))

    def _relay(self, client: socket.socket, server: socket.socket) -> None:
        """Carry bytes until the server is ready for another client."""
        unread = b""
        while True:
            ready, _, _ = select.select([client, server], [], [])
            if client in ready:
                data = client.recv(65536)
                if not data:
                    raise OSError("the client has gone")
                server.sendall(data)
            if server in ready:
                data = server.recv(65536)
                if not data:
                    raise OSError("the server has gone")
                state, unread = _state(unread + data)
                client.sendall(data)
                if state == b"I" or (state and self._torn):
                    return

    def _take(self) -> socket.socket:
        with self._changed:
            while not self._free:
                self._changed.wait()
            self.handed_on += 1
            return self._free.pop(self._chance.randrange(len(self._free)))

    def _give_back(self, server: socket.socket) -> None:
        with self._changed:
            self._free.append(server)
            self._changed.notify()


def _state(data: bytes) -> tuple[bytes, bytes]:
    """Return the state of the last message that ends a statement, and what is not whole yet."""
    state = b""
    while len(data) >= 5:
        (length,) = struct.unpack("!i", data[1:5])
        if len(data) < 1 + length:
            break
        if data[:1] == b"Z":
            state = data[5:6]
        data = data[1 + length :]
    return (state if not data else b""), data


def _greet(client: socket.socket) -> None:
    while True:
        (length,) = struct.unpack("!i", _exactly(client, 4))
        content = _exactly(client, length - 4)
        (code,) = struct.unpack("!i", content[:4])
        if code in _ASKS:
            client.sendall(b"N")
        elif code == _PROTOCOL:
            break
        else:
            raise OSError(f"a start-up message with code {code}")
    client.sendall(_HELLO + b"".join(_parameter(*one) for one in _SAID.items()) + _READY)


def _parameter(name: str, value: str) -> bytes:
    content = f"{name}\0{value}\0".encode()
    return b"S" + struct.pack("!i", 4 + len(content)) + content


def _server(database: str) -> socket.socket:
    """Connect to the server, and read up to the moment in which it is ready."""
    server = socket.socket(socket.AF_UNIX)
    server.connect(socket_path())
    words = ("user", "postgres", "database", database, "client_encoding", "UTF8")
    content = struct.pack("!i", _PROTOCOL) + b"".join(w.encode() + b"\0" for w in words) + b"\0"
    server.sendall(struct.pack("!i", 4 + len(content)) + content)
    unread = b""
    while True:
        data = server.recv(65536)
        if not data:
            raise OSError("the server refuses the pooler")
        state, unread = _state(unread + data)
        if state:
            return server


def _exactly(one: socket.socket, count: int) -> bytes:
    data = b""
    with suppress(OSError):
        while len(data) < count and (more := one.recv(count - len(data))):
            data += more
    if len(data) < count:
        raise OSError("cut off")
    return data
