"""ctxmode: replay recorded conversations through each context mode and measure what each would have sent.

The public API is what `__all__` names. Each name is imported from its room when it is first asked for, so that
`ctxmode --help` need not load a tokenizer.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "CardFact",
    "ContextConfig",
    "ContextManager",
    "ContextMode",
    "CtxmodeError",
    "ExitCode",
    "ExtractiveSummarizer",
    "MemorySessionStore",
    "OverBudgetError",
    "RedisSessionStore",
    "Run",
    "SessionStore",
    "Sessions",
    "Summarizer",
    "SummaryError",
    "SummaryRequest",
    "SummaryResult",
    "TokenCounter",
    "open_run",
]

if TYPE_CHECKING:
    from ctxmode_cli.context.card import CardFact
    from ctxmode_cli.context.config import ContextConfig, ContextMode
    from ctxmode_cli.context.manager import ContextManager
    from ctxmode_cli.context.plan import Summarizer, SummaryError, SummaryRequest, SummaryResult
    from ctxmode_cli.context.redis_sessions import RedisSessionStore
    from ctxmode_cli.context.sessions import MemorySessionStore, Sessions, SessionStore
    from ctxmode_cli.context.steps.budget import OverBudgetError
    from ctxmode_cli.errors import CtxmodeError, ExitCode
    from ctxmode_cli.replay.stored import Run, open_run
    from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
    from ctxmode_cli.tokens.counter import TokenCounter
else:  # hidden from type checkers, to which any name would exist otherwise
    from importlib import import_module

    _ROOMS = {
        "CardFact": "context.card",
        "ContextConfig": "context.config",
        "ContextManager": "context.manager",
        "ContextMode": "context.config",
        "CtxmodeError": "errors",
        "ExitCode": "errors",
        "ExtractiveSummarizer": "summarize.extractive",
        "MemorySessionStore": "context.sessions",
        "OverBudgetError": "context.steps.budget",
        "RedisSessionStore": "context.redis_sessions",
        "Run": "replay.stored",
        "SessionStore": "context.sessions",
        "Sessions": "context.sessions",
        "Summarizer": "context.plan",
        "SummaryError": "context.plan",
        "SummaryRequest": "context.plan",
        "SummaryResult": "context.plan",
        "TokenCounter": "tokens.counter",
        "open_run": "replay.stored",
    }

    def __getattr__(name: str) -> object:
        if name not in _ROOMS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
