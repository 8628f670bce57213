"""A proxy on loopback that hands requests on to the real server, unless a fault is due."""

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from model_server import ModelServer

CUT_AFTER = 300
"""Bytes of a body that come through; in a stream, its first events."""


class FaultProxy(ThreadingHTTPServer):
    """Counts what it is asked; `faults` says what becomes of the next requests, one each, and then all pass."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, upstream_port: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream_port = upstream_port
        self.faults: deque[Fault] = deque()
        self.requests: list[dict[str, Any]] = []
        """The bodies of all requests, as they came in."""
        self.closing = threading.Event()
        """Set at the end, so that no request hangs longer than the proxy is there."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    """One request: a fault, or what the server says, byte for byte."""

    protocol_version = "HTTP/1.1"
    server: FaultProxy
    body: bytes

    def do_POST(self) -> None:
        self.close_connection = True
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append(json.loads(self.body))
        fault = self.server.faults.popleft() if self.server.faults else pass_on
        fault(self)

    def log_message(self, *_: object) -> None:
        """Says nothing: tests look at what was asked."""

    @contextmanager
    def asked(self) -> Iterator[socket.socket]:
        """The connection to the server, once it has the request."""
        head = f"{self.command} {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(self.body)}\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.server.upstream_port)) as upstream:
            upstream.sendall(head.encode("ascii") + self.body)
            yield upstream

    def answered(self) -> Iterator[bytes]:
        """The server's answer as it comes in; nothing where no server listens."""
        with suppress(ConnectionError), self.asked() as upstream:
            while received := upstream.recv(65536):
                yield received


Fault = Callable[[Handler], None]


def pass_on(handler: Handler) -> None:
    """No fault: what the server sends goes on at once, so that a stream stays one."""
    for received in handler.answered():
        handler.wfile.write(received)


def status(code: int, **headers: str) -> Fault:
    """An error of the endpoint; a header's underscores stand for hyphens."""

    def answer(handler: Handler) -> None:
        body = json.dumps({"error": {"message": f"made up: {code}", "type": "test"}}).encode("ascii")
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Connection", "close")
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def hang(handler: Handler) -> None:
    """The request is taken and never answered."""
    handler.server.closing.wait()


def cut(handler: Handler) -> None:
    """The connection ends in the middle of the answer, after its head and a part of its body."""
    received = b""
    for part in handler.answered():
        received += part
        head, _, body = received.partition(b"\r\n\r\n")
        if len(body) > CUT_AFTER:
            handler.wfile.write(head + b"\r\n\r\n" + body[:CUT_AFTER])
            return


def kill(server: ModelServer) -> Fault:
    """The server dies with the request in its hands; the client hears of it when it can be started again."""

    def strike(handler: Handler) -> None:
        with handler.asked():
            server.kill()

    return strike


@contextmanager
def fault_proxy(upstream_port: int) -> Iterator[FaultProxy]:
    """A proxy for as long as the block lasts."""
    with FaultProxy(upstream_port) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.closing.set()
            proxy.shutdown()
            thread.join()
