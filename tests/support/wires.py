"""A TCP line on loopback that can be cut, refused or silenced at any moment, and mended."""

import socket
import threading
from abc import ABC, abstractmethod
from contextlib import suppress


class Wire(ABC):
    """Carries bytes between whoever connects to `port` and a server."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._refusing = False
        self._flowing = threading.Event()
        self._flowing.set()
        self.swallow_replies = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @abstractmethod
    def connect(self) -> socket.socket:
        """Connect to the server."""

    def cut(self) -> None:
        """Drop every connection; new ones are still accepted."""
        for one in list(self._open):
            self._drop(one)

    def refuse(self) -> None:
        """Drop every connection, and new ones too until the line is mended."""
        self._refusing = True
        self.cut()

    def silence(self) -> None:
        """Hold every byte back, both ways, and say nothing: a partition, until it is mended."""
        self._flowing.clear()

    def mend(self) -> None:
        """Accept connections again, and let bytes through."""
        self._refusing = False
        self._flowing.set()

    def close(self) -> None:
        self._listener.close()
        self.mend()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                client.close()
                continue
            try:
                backend = self.connect()
            except OSError:
                client.close()
                continue
            self._open |= {client, backend}
            for source, sink, replies in ((client, backend, False), (backend, client, True)):
                threading.Thread(
                    target=self._pump, args=(source, sink, replies), daemon=True
                ).start()

    def _pump(self, source, sink, replies) -> None:
        try:
            while data := source.recv(65536):
                self._flowing.wait()
                if replies and self.swallow_replies.is_set():
                    # What the server did is done; the client never hears of it.
                    self.swallow_replies.clear()
                    break
                sink.sendall(data)
        except OSError:
            pass
        self._flowing.wait()
        self._drop(source)
        self._drop(sink)

    def _drop(self, one: socket.socket) -> None:
        self._open.discard(one)
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


class TcpWire(Wire):
    """A line to a server on loopback."""

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        super().__init__()

    def connect(self) -> socket.socket:
        return socket.create_connection(self._server, timeout=None)
