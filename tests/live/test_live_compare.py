"""A whole comparison whose summaries the model writes, with the server killed in the middle."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from faults import FaultProxy, Handler, kill, pass_on
from model_server import ModelServer

SAID = (
    ("My name is Ada Byron and my parcel is P-2071.", "Thank you, Ada. I see parcel P-2071."),
    ("It must not be left with a neighbour.", "Noted: never with a neighbour."),
    ("Please send it to Leeds on 5 May.", "It goes to Leeds on 5 May."),
    ("Is there a charge?", "No, that is free."),
    ("Will someone call me before?", "Yes, the driver calls."),
    ("Good. Anything else you need?", "No, thank you, Ada."),
)
CALLS = 4
"""One turn stays verbatim and each further one is a refresh: of six requests the third is the first with a summary."""


class Run(NamedTuple):
    """What one run of the program printed, and what it asked the endpoint."""

    out: bytes
    err: str
    asked: list[dict[str, Any]]

    @property
    def summary(self) -> dict[str, Any]:
        return json.loads(self.out)["modes"]["summary"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    messages = [
        {"role": role, "content": content}
        for turn in SAID
        for role, content in zip(("user", "assistant"), turn, strict=True)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"id": "parcel", "messages": messages}) + "\n", encoding="utf-8")
    return path


def compare(log: Path, proxy: FaultProxy, cache: Path) -> Run:
    settings = ("--modes", "full,summary", "--summary-threshold", "1", "--summary-every", "0")
    live = ("--summarizer", "openai", "--summary-model", "gpt-4o-mini", "--summary-target-tokens", "100")
    where = ("--base-url", proxy.base_url, "--llm-cache", str(cache), "--llm-retries", "0", "--format", "json")
    before = len(proxy.requests)
    result = subprocess.run(
        [sys.executable, "-m", "ctxmode_cli", "compare", str(log), *settings, *live, *where],
        capture_output=True,
        check=True,
    )
    return Run(result.stdout, result.stderr.decode("utf-8"), proxy.requests[before:])


def test_a_run_whose_server_was_killed_is_made_whole_by_the_next(
    log: Path, proxy: FaultProxy, server: ModelServer, tmp_path: Path
) -> None:
    """What failed is a step down, counted; the next run asks only for what is missing, and ends in the same bytes."""
    whole = compare(log, proxy, tmp_path / "whole")
    assert len(whole.asked) == whole.summary["summary_calls"]["count"] == CALLS
    assert whole.summary["summary_calls"]["failed"] < CALLS

    def back(handler: Handler) -> None:
        server.start()
        pass_on(handler)

    # The first summary is had, the second dies with the server, the third finds none; the fourth finds it again.
    proxy.faults.extend([pass_on, kill(server), pass_on, back])
    broken = compare(log, proxy, tmp_path / "cache")
    failed = broken.summary["summary_calls"]["failed"]
    assert len(broken.asked) == broken.summary["summary_calls"]["count"] == CALLS
    assert failed in {2, 3}  # the model itself may fail at the fourth
    assert broken.summary["stepped_down"] == {"sliding": failed}
    assert f"summaries that could not be had: {failed}, since " in broken.err
    assert "Connection error" in broken.err

    resumed = compare(log, proxy, tmp_path / "cache")
    assert resumed.out == whole.out
    assert resumed.asked == whole.asked[1:]

    again = compare(log, proxy, tmp_path / "cache")
    assert again.out == whole.out
    assert again.asked == []
