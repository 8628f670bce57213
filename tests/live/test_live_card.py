"""The fact card read over a real server: what the model finds is poor, how it gets here is what is tested."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from faults import FaultProxy, status

from ctxmode_cli.context.card_facts import CardReading
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.llm import Llm
from ctxmode_cli.summarize.openai_facts import OpenAiFactExtractor
from ctxmode_cli.tokens.counter import TokenCounter

MODEL = "gpt-4o-mini"
SAID = ("My name is Ada Byron.", "Hello Ada.", "我不要花生。", "好的。", "Who is it for?", "You.")
CALLS = 2
"""Of three user messages the last is the current input."""


def read(proxy: FaultProxy, text: str, cache: Path | None = None) -> tuple[CardReading, OpenAiFactExtractor]:
    llm = Llm(MODEL, base_url=proxy.base_url, cache=cache, timeout_s=120, retries=0, per_minute=None)
    extractor = OpenAiFactExtractor(llm, TokenCounter.for_model(MODEL))
    return extractor(parse_message({"role": "user", "content": text}), 0), extractor


def test_the_server_holds_the_model_to_the_form(proxy: FaultProxy, tmp_path: Path) -> None:
    """An answer that ends is JSON of the form, and its facts are the message's; asked again, it comes from the cache."""
    for text in SAID[:3:2]:
        reading, extractor = read(proxy, text, tmp_path)
        assert reading.call is not None
        assert reading.call.completion_tokens > 0
        assert set(extractor.failures) <= {"the answer is cut off at its limit"}
        assert reading.call.failed == bool(extractor.failures)
        if not reading.call.failed:
            assert set(json.loads(reading.call.text)) == {"facts"}
        assert read(proxy, text, tmp_path)[0] == reading
    assert len(proxy.requests) == 2


def test_a_fault_costs_one_message_and_no_more(proxy: FaultProxy) -> None:
    """The call that failed is billed and counted."""
    proxy.faults.append(status(503))
    reading, extractor = read(proxy, SAID[0])
    assert reading.facts == ()
    assert reading.call is not None
    assert (reading.call.failed, reading.call.prompt_tokens > 0) == (True, True)
    [fault] = extractor.failures
    assert "503" in fault


def test_a_run_is_billed_and_ends_in_the_same_bytes(proxy: FaultProxy, tmp_path: Path) -> None:
    """Each message is asked about once for all modes; a second run makes no call."""
    roles = ("user", "assistant") * 3
    messages = [{"role": role, "content": content} for role, content in zip(roles, SAID, strict=True)]
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"id": "c", "messages": messages}) + "\n", encoding="utf-8")
    card = ("--fact-card", "--fact-card-extractor", "openai", "--modes", "full,zero")
    where = ("--base-url", proxy.base_url, "--llm-cache", str(tmp_path / "cache"), "--llm-timeout", "120")

    def run() -> bytes:
        command = [sys.executable, "-m", "ctxmode_cli", "compare", str(log), *card, *where, "--format", "json"]
        return subprocess.run(command, capture_output=True, check=True).stdout

    first = run()
    asked: list[dict[str, Any]] = list(proxy.requests)
    assert len(asked) == CALLS
    for part in json.loads(first)["modes"].values():
        assert part["card_calls"]["count"] == CALLS
        assert part["cost_usd"]["card_calls"] > 0
    assert run() == first
    assert len(proxy.requests) == CALLS
