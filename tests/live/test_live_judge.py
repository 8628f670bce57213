"""A model judges the answers: the path from the schema to the results, over a real server."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from faults import FaultProxy

FACT = {"id": "name", "kind": "name", "value": "Ada Byron", "stated_at": 0, "probe_at": [4]}


def test_judgements_are_had_over_http_and_kept(proxy: FaultProxy, tmp_path: Path) -> None:
    """The schema holds the model to its form; a second run asks nothing. Right or wrong is the model's affair."""
    said = ("My name is Ada Byron.", "Hello Ada.", "Is there a charge?", "No.", "Who is it for?", "You.")
    roles = ("user", "assistant") * 3
    messages = [{"role": role, "content": content} for role, content in zip(roles, said, strict=True)]
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"id": "c", "messages": messages, "facts": [FACT]}) + "\n", encoding="utf-8")
    where = ("--base-url", proxy.base_url, "--llm-cache", str(tmp_path / "cache"))

    def run() -> bytes:
        command = [sys.executable, "-m", "ctxmode_cli", "replay", str(log), "--mode", "full"]
        live = ("--answer", "--judge-model", "gpt-4o-mini", *where, "--format", "json")
        return subprocess.run([*command, *live], capture_output=True, check=True).stdout

    first = run()
    asked: list[dict[str, Any]] = list(proxy.requests)
    assert len(asked) == 2
    assert "response_format" not in asked[0]
    assert asked[1]["response_format"]["json_schema"]["schema"]["required"] == ["right"]
    answered = json.loads(first)["modes"]["full"]["recall"]["answered"]
    assert (answered["probes"], answered["unanswered"], answered["judge"]) == (1, 0, "gpt-4o-mini")
    assert run() == first
    assert len(proxy.requests) == 2
