"""A chat service: each request goes on with its session, and what the manager builds is what goes to the model."""

from collections.abc import Callable
from typing import Any

from ctxmode_cli import (
    ContextConfig,
    ExtractiveSummarizer,
    MemorySessionStore,
    OverBudgetError,
    Sessions,
    TokenCounter,
)

CONFIG = ContextConfig(mode="summary", model="gpt-4o", max_tokens=8000)
summarizer = ExtractiveSummarizer(TokenCounter.for_model(CONFIG.model))
sessions = Sessions(MemorySessionStore(ttl_s=3600), CONFIG, summarizer)


def reply(session_id: str, user_input: str, call_model: Callable[[list[dict[str, Any]]], str]) -> str:
    """Answer one user message; a session's messages never meet another's."""
    with sessions.open(session_id) as manager:
        if not manager.history.messages:
            manager.append({"role": "system", "content": "You answer the customers of a bookshop."})
        try:
            messages = manager.build_request_messages(user_input)
        except OverBudgetError as error:
            return f"Please shorten your message by {error.over_by} tokens."
        text = call_model(messages)
        manager.append({"role": "assistant", "content": text})
    return text
