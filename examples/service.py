"""A chat service: one manager a session, and what it builds is what goes to the model."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ctxmode_cli import ContextConfig, ContextManager, ExtractiveSummarizer, OverBudgetError, TokenCounter

CONFIG = ContextConfig(mode="summary", model="gpt-4o", max_tokens=8000)
COUNTER = TokenCounter.for_model(CONFIG.model)


def new_session() -> ContextManager:
    """Begin with what every request of the session carries."""
    manager = ContextManager(CONFIG, summarizer=ExtractiveSummarizer(COUNTER))
    manager.append({"role": "system", "content": "You answer the customers of a bookshop."})
    return manager


sessions: defaultdict[str, ContextManager] = defaultdict(new_session)


def reply(session_id: str, user_input: str, call_model: Callable[[list[dict[str, Any]]], str]) -> str:
    """Answer one user message; a session's messages never meet another's."""
    manager = sessions[session_id]
    try:
        messages = manager.build_request_messages(user_input)
    except OverBudgetError as error:
        return f"Please shorten your message by {error.over_by} tokens."
    text = call_model(messages)
    manager.append({"role": "assistant", "content": text})
    return text
