"""A model is asked for the facts, with exactly what each mode would have sent."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from faults import FaultProxy

FACT = {"id": "name", "kind": "name", "value": "Ada Byron", "stated_at": 0, "probe_at": [4]}


def test_answers_are_had_over_http_and_kept(proxy: FaultProxy, tmp_path: Path) -> None:
    """One call for each mode; a second run makes none and prints the same bytes. Right or wrong is the model's affair."""
    said = ("My name is Ada Byron.", "Hello Ada.", "Is there a charge?", "No.", "Who is it for?", "You.")
    roles = ("user", "assistant") * 3
    messages = [{"role": role, "content": content} for role, content in zip(roles, said, strict=True)]
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"id": "c", "messages": messages, "facts": [FACT]}) + "\n", encoding="utf-8")
    where = ("--base-url", proxy.base_url, "--llm-cache", str(tmp_path / "cache"))

    def run() -> bytes:
        command = [sys.executable, "-m", "ctxmode_cli", "compare", str(log), "--modes", "full,zero", "--answer"]
        return subprocess.run([*command, *where, "--format", "json"], capture_output=True, check=True).stdout

    first = run()
    asked: list[dict[str, Any]] = list(proxy.requests)
    assert len(asked) == 2
    assert [len(request["messages"]) for request in asked] == [6, 2]
    answered = json.loads(first)["modes"]["full"]["recall"]["answered"]
    assert (answered["probes"], answered["unanswered"]) == (1, 0)
    assert run() == first
    assert len(proxy.requests) == 2
