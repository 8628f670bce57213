"""The real server as a process of its own, which can be killed and started again on the same port."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

SCRIPT = Path(__file__).with_name("serve.py")


@dataclass(slots=True)
class ModelServer:
    """A model behind an OpenAI-compatible endpoint on loopback."""

    port: int = 0
    """Chosen at the first start, kept at the next ones."""
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Returns once the model is loaded and the port is open; a server that already runs is left alone."""
        if self.process is not None:
            return
        # Threads that spin while they wait would take the cores from whoever asks.
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=environment,
        )
        assert self.process.stdout is not None
        address = self.process.stdout.readline()
        assert address, "the server ended before it was ready"
        self.port = urlsplit(address.strip()).port or 0

    def kill(self) -> None:
        """Ends it at once, in the middle of whatever it does."""
        if self.process is None:
            return
        self.process.kill()
        # Waits, and closes the pipes.
        self.process.communicate()
        self.process = None
