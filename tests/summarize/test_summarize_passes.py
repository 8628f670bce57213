"""Facts said at the beginning of a long session, pass after pass of a rolling summary."""

import pytest

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

COUNTER = TokenCounter.for_model("gpt-4o")
SAID = (
    ("My name is Ann Lee. My order number is SO-20931.", "Please ship it to 48 Rose Street, Leeds."),
    ("Call me at 555-0142 if needed. My budget is $320.", "I don't want any pet recommendations."),
    ("Deliver it on 2026-12-24, please.", "I am a gold member."),
)
FACTS = (
    "Ann Lee",
    "SO-20931",
    "48 Rose Street",
    "555-0142",
    "$320",
    "pet recommendations",
    "2026-12-24",
    "gold member",
)


@pytest.mark.parametrize("strategy", ["rolling", "rebuild"])
def test_facts_of_the_first_turns_outlast_every_pass(strategy: str) -> None:
    """Eight facts in three turns, 48 turns of filler: each is still sent at every request, and the summary stays bounded."""
    config = ContextConfig(
        mode="summary", summary_strategy=strategy, summary_threshold=2, summary_every=2, summary_target_tokens=250
    )
    manager = ContextManager(config, summarizer=ExtractiveSummarizer(COUNTER))
    fillers = [(f"Well, what else is there to see around here, number {turn}?", "") for turn in range(48)]
    calls = 0
    for number, parts in enumerate([*SAID, *fillers]):
        manager.append({"role": "user", "content": " ".join(parts).strip()})
        context = manager.build_context()
        calls += context.summary_call is not None
        if number >= len(SAID):
            sent = "\n".join(message["content"] for message in context.messages(manager.history))
            assert [fact for fact in FACTS if fact not in sent] == [], number
        assert COUNTER.text(manager.summary or "") <= 250
        manager.append({"role": "assistant", "content": f"There is a walk along the river, {number} minutes long."})
    assert calls >= 15
