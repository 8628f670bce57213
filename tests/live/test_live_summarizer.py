"""The live summarizer over a real server: what the model says is poor, how it gets here is what is tested."""

from pathlib import Path

import pytest
from faults import FaultProxy, status

from ctxmode_cli.context.context import Recorded
from ctxmode_cli.context.history import History
from ctxmode_cli.context.plan import SessionPrefix, SummaryError, SummaryRequest
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.llm import Llm
from ctxmode_cli.summarize.openai import OpenAiSummarizer
from ctxmode_cli.summarize.wording import wording
from ctxmode_cli.tokens.counter import TokenCounter

MODEL = "gpt-4o-mini"
COUNTER = TokenCounter.for_model(MODEL)
TARGET = 100
"""Tokens, title included."""
TOOL = {"type": "function", "function": {"name": "track", "parameters": {"type": "object", "properties": {}}}}


def message(role: str, content: str) -> Message:
    return parse_message({"role": role, "content": content})


ENGLISH = (
    message("user", "My name is Ada Byron and my parcel is P-2071."),
    message("assistant", "Thank you, Ada. I see parcel P-2071."),
    message("user", "It must not be left with a neighbour."),
    message("assistant", "Noted: never with a neighbour."),
)
CHINESE = (message("user", "我叫王小明，不能吃花生。"), message("assistant", "好的。"))


def request(*messages: Message, prefix: SessionPrefix | None = None) -> SummaryRequest:
    return SummaryRequest(None, messages, sum(map(COUNTER.message, messages)), TARGET, COUNTER, prefix)


def behind_prefix() -> SummaryRequest:
    """The call goes behind the session's own messages, with the session's tools."""
    history = History(COUNTER, tools=[TOOL])
    for one in ENGLISH:
        history.append(one)
    held = Recorded("history", 0, len(ENGLISH), history.range_tokens(0, len(ENGLISH)))
    return request(*ENGLISH, prefix=SessionPrefix((held,), history))


def summarizer(proxy: FaultProxy, cache: Path | None = None) -> OpenAiSummarizer:
    llm = Llm(MODEL, base_url=proxy.base_url, cache=cache, timeout_s=60, retries=0, per_minute=None)
    return OpenAiSummarizer({MODEL: llm}, COUNTER)


def test_a_summary_is_had_and_kept(proxy: FaultProxy, tmp_path: Path) -> None:
    """It bears its title and holds its target; asked again it comes from the cache, the same in everything."""
    asked = request(*ENGLISH)
    summary = summarizer(proxy, tmp_path)(asked)
    assert summary.text.startswith(wording("en").title)
    assert len(summary.text) > len(wording("en").title) + 1
    assert summary.text_tokens <= TARGET
    assert summarizer(proxy, tmp_path)(asked) == summary
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("asked", [request(*CHINESE), behind_prefix()], ids=["Chinese", "behind the prefix"])
def test_the_server_takes_every_form_of_the_call(asked: SummaryRequest, proxy: FaultProxy) -> None:
    """Each is answered with a summary within its target, with the session's tools where they go along."""
    assert 0 < summarizer(proxy)(asked).text_tokens <= TARGET
    [body] = proxy.requests
    assert body.get("tools", []) == ([TOOL] if asked.prefix else [])


def test_a_fault_costs_one_summary_and_no_more(proxy: FaultProxy) -> None:
    """The call that failed is billed and counted; the next one is had."""
    ask = summarizer(proxy)
    proxy.faults.append(status(503))
    with pytest.raises(SummaryError, match="503") as failed:
        ask(request(*ENGLISH))
    assert failed.value.prompt_tokens > 0
    assert ask(request(*ENGLISH)).prompt_tokens == failed.value.prompt_tokens
    assert sum(ask.failures.values()) == 1
