"""Summaries that fill their target."""

import pytest

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import Summarizer, SummaryRequest, SummaryResult
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.generate.filler import TurnSize, filler_session
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.summarize.full_length import FullLengthSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

COUNTER = TokenCounter.for_model("gpt-4o")


def calls(summarizer: Summarizer, target: int, **settings: object) -> list[tuple[int, int, str]]:
    """Prompt and completion tokens and text of each call in a session of 20 turns of 8 and 18 tokens and framing."""
    config = ContextConfig(
        mode="summary", summary_threshold=2, summary_every=4, summary_target_tokens=target, **settings
    )
    manager = ContextManager(config, summarizer=summarizer)
    found = []
    for message in filler_session("s", 20, TurnSize(0, 8, 18)).messages:
        manager.append(message)
        context = manager.build_context() if message.role == "user" else None
        if context is not None and context.summary_call is not None:
            found.append(
                (context.summary_call.prompt_tokens, context.summary_call.completion_tokens, context.summary_call.text)
            )
    return found


def test_a_summary_fills_its_target_once_there_is_enough_to_tell() -> None:
    """Five turns of (4 + 8) + (4 + 18) tokens are told in 170, the next summary tells those 170 and 170 more."""
    made = calls(FullLengthSummarizer(ExtractiveSummarizer(COUNTER)), 300)
    assert [completion for _, completion, _ in made] == [170, 300, 300]
    assert [COUNTER.text(text) for *_, text in made] == [170, 300, 300]


def test_the_call_is_charged_as_the_other_summarizer_charges_it() -> None:
    """Instructions, last summary and messages: the first call alike, each later one with the filled summary in it."""
    filled = calls(FullLengthSummarizer(ExtractiveSummarizer(COUNTER)), 300)
    extractive = calls(ExtractiveSummarizer(COUNTER), 300)
    assert filled[0][0] == extractive[0][0]
    assert [prompt - filled[0][0] for prompt, *_ in filled[1:]] == [4 + 170, 4 + 300]


def test_the_same_words_said_again_are_told_in_a_new_text() -> None:
    """A turn that is drawn twice may end two refreshes; the last summary tells them apart."""
    summarizer = FullLengthSummarizer(lambda _: SummaryResult("", 0, 7))
    message = parse_message({"role": "assistant", "content": "Goodbye."})
    texts = {
        summarizer(SummaryRequest(previous, [message], 100, 50, COUNTER)).text for previous in (None, "a b", "a c")
    }
    assert len(texts) == 3


@pytest.mark.parametrize("strategy", ["rolling", "rebuild"])
def test_every_summary_is_a_new_text(strategy: str) -> None:
    """No summary is taken for the last one by a prompt cache."""
    made = calls(FullLengthSummarizer(ExtractiveSummarizer(COUNTER)), 100, summary_strategy=strategy)
    assert len({text for *_, text in made}) == len(made) == 3
