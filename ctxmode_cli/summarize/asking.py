"""What the live callers of this room have in common: how a question is put, and what can be wrong with its answer."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

from ctxmode_cli.llm import Completion
from ctxmode_cli.tokens.counter import TokenCounter

_CODE_DIGITS = 8
_FAULTS = {
    "length": "is cut off at its limit",
    "content_filter": "is held back by a filter",
    "refusal": "is a refusal",
}
"""Ends of an answer that make it none."""


class Question(NamedTuple):
    """What is sent in a call."""

    messages: Sequence[Mapping[str, Any]]
    prompt_tokens: int
    """Of the whole call."""
    tools: Sequence[Mapping[str, Any]] = ()


class Tally(Counter[str]):
    """Counts that several threads add to."""

    def __init__(self) -> None:
        super().__init__()
        self._counting = Lock()

    def count(self, what: str) -> None:
        """One more of it."""
        with self._counting:
            self[what] += 1


def question(instructions: str, data: Mapping[str, str], counter: TokenCounter) -> Question:
    """Instructions, then data between tags as one message of a user's.

    Args:
        instructions: What the model is told to do.
        data: Texts by what they are.
        counter: That of the model which is asked.
    """
    told = between_tags(data)
    tokens = counter.generated("system", counter.text(instructions))
    tokens += counter.generated("user", counter.text(told)) + counter.REPLY_TOKENS
    messages = [{"role": "system", "content": instructions}, {"role": "user", "content": told}]
    return Question(messages, tokens)


def between_tags(data: Mapping[str, str]) -> str:
    """Texts by what they are, each between tags that nothing in them can close; empty ones are left out."""
    code = absent_code("\n".join(data.values()))
    return "\n".join(f"<{name}-{code}>\n{text}\n</{name}-{code}>" for name, text in data.items() if text)


def absent_code(text: str) -> str:
    """A code that does not occur in a text, and is always the same for it."""
    data = text.encode("utf-8", "surrogatepass")
    digests = (hashlib.sha256(b"%d %b" % (attempt, data)).hexdigest() for attempt in count())
    return next(code for code in (digest[:_CODE_DIGITS] for digest in digests) if code not in text)


def answer_fault(answer: Completion) -> str | None:
    """Why an answer is none, whatever was asked; None where it is one."""
    if answer.finish in _FAULTS:
        return _FAULTS[answer.finish]
    return None if answer.text.strip() else "is empty"
