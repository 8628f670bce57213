"""What the live callers of this room have in common: how a question is put, and what it takes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ctxmode_cli.language.tagged import call_messages
from ctxmode_cli.tokens.counter import TokenCounter


class Question(NamedTuple):
    """What is sent in a call."""

    messages: Sequence[Mapping[str, Any]]
    prompt_tokens: int
    """Of the whole call."""
    tools: Sequence[Mapping[str, Any]] = ()


def question(instructions: str, data: Mapping[str, str], counter: TokenCounter) -> Question:
    """Instructions, then data between tags as one message of a user's.

    Args:
        instructions: What the model is told to do.
        data: Texts by what they are.
        counter: That of the model which is asked.
    """
    messages = call_messages(instructions, data)
    tokens = sum(counter.generated(message["role"], counter.text(message["content"])) for message in messages)
    return Question(messages, tokens + counter.REPLY_TOKENS)
