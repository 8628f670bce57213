"""Runs a command beside an endpoint that always says the same: `python reports/article/saying.py TEXT COMMAND …`.

The endpoint is OpenAI-compatible, on loopback, and there for the command alone: it stands in for a model that writes the
summary, so that what the summary says is known.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@contextmanager
def endpoint(text: str) -> Iterator[str]:
    """An endpoint whose answer to everything is `text`; its base URL."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    answer = {"id": "said", "object": "chat.completion", "created": 0, "model": "none", "choices": [choice]}
    body = json.dumps(answer).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def main(text: str, command: list[str]) -> int:
    """The command's exit code; what the endpoint said is not kept for other runs."""
    if command[:1] == ["ctxmode"]:
        command = [sys.executable, "-m", "ctxmode_cli", *command[1:]]
    with endpoint(text) as url, tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "CTXMODE_BASE_URL": url, "CTXMODE_LLM_CACHE": cache}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
