"""A reverse proxy on loopback, as nginx is set up: another server under a path of its own."""

import http.client
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_OWN = {"connection", "transfer-encoding", "server", "date", "content-length"}


@contextmanager
def proxy(prefix: str, *, keeps_host: bool):
    """Serve `prefix` of a port of its own.

    Args:
        prefix: the path under which the other server is shown.
        keeps_host: whether the Host header goes on as the browser sent it.

    Yields:
        The proxy, with `port`, `behind` (the port of the other server, to be set) and `log`: what
        it would write into its log, and every Referer that it saw.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        close_connection = True

        def log_message(self, *_):
            """Write no log."""

        def forward(self):
            server = self.server
            server.log.append((self.command, self.path, self.headers.get("Referer")))
            if server.behind is None or not self.path.startswith(prefix):
                self.send_error(502 if server.behind is None else 404)
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            other = http.client.HTTPConnection("127.0.0.1", server.behind, timeout=30)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in {"host", *_OWN}}
            headers["Host"] = self.headers["Host"] if keeps_host else f"127.0.0.1:{server.behind}"
            headers |= {"X-Forwarded-Host": self.headers["Host"], "X-Forwarded-Proto": "http"}
            other.request(self.command, "/" + self.path.removeprefix(prefix), body, headers)
            answer = other.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _OWN:
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            with suppress(ConnectionError):  # the reader has left
                while part := answer.read1(1 << 16):  # events come one by one, and without end
                    self.wfile.write(part)
            other.close()

        do_GET = do_POST = forward  # noqa: N815 - the names that the library calls

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.behind, server.log = None, []
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        server.port = server.server_address[1]
        yield server
        server.shutdown()
        thread.join()
