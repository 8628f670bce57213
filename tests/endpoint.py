"""A scripted OpenAI-compatible endpoint on loopback: real HTTP, answers as a test wants them."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-5fa1c0ffee"


@dataclass
class Reply:
    """What the endpoint says to one request."""

    text: str | None = "- fine"
    finish: str | None = "stop"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    refusal: str | None = None
    wait_s: float = 0.0
    body: bytes | None = None
    """Sent as it is, whatever the rest says."""
    broken: bool = False
    """Whether a stream ends before it is whole."""

    def encoded(self) -> bytes:
        if self.body is not None:
            return self.body
        if self.status != 200:
            return json.dumps({"error": {"message": f"scripted {self.status}", "code": None}}).encode()
        message = {"role": "assistant", "content": self.text, "refusal": self.refusal}
        return json.dumps(self._shell("chat.completion", {"message": message, "finish_reason": self.finish})).encode()

    def streamed(self) -> Iterator[bytes]:
        text = self.text or ""
        for part in (text[: len(text) // 2], text[len(text) // 2 :]):
            yield self._event({"delta": {"content": part, "refusal": None}, "finish_reason": None})
        if not self.broken:
            yield self._event({"delta": {"refusal": self.refusal}, "finish_reason": self.finish})
            yield b"data: [DONE]\n\n"

    def _event(self, choice: dict[str, Any]) -> bytes:
        return b"data: " + json.dumps(self._shell("chat.completion.chunk", choice)).encode() + b"\n\n"

    @staticmethod
    def _shell(kind: str, choice: dict[str, Any]) -> dict[str, Any]:
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        choice = {"index": 0, "logprobs": None, **choice}
        return {"id": "c", "object": kind, "created": 0, "model": "m", "choices": [choice], "usage": usage}


Script = Callable[[dict[str, Any], int], Reply]
"""Given a request's body and how many came before it."""


@dataclass
class Endpoint:
    """A running endpoint, and all that it was sent."""

    url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def times(self) -> Counter[str]:
        """How often each request came."""
        return Counter(json.dumps(body, sort_keys=True) for body in self.bodies)


@contextmanager
def endpoint(script: Script | Iterable[Reply] = ()) -> Iterator[Endpoint]:
    """An endpoint that answers by a script: a function, or replies in turn, the last of them again and again."""
    say = script if callable(script) else _in_turn(list(script) or [Reply()])
    lock = threading.Lock()
    leaving = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(running.bodies)
                running.bodies.append(body)
                running.headers.append({name.lower(): value for name, value in self.headers.items()})
            reply = say(body, number)
            leaving.wait(reply.wait_s)
            try:
                self._answer(reply, streamed=body.get("stream", False) and reply.status == 200)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client did not wait

        def _answer(self, reply: Reply, *, streamed: bool) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if streamed:
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for event in reply.streamed():
                    self.wfile.write(event)
                self.close_connection = True
                return
            content = reply.encoded()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    running = Endpoint(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield running
    finally:
        leaving.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _in_turn(replies: list[Reply]) -> Script:
    return lambda _body, number: replies[min(number, len(replies) - 1)]


def wait_until(true: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for another thread to have done something."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)
