"""The built-in modes by name."""

from functools import lru_cache

from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.context.modes.full import full
from ctxmode_cli.context.modes.sliding import Sliding
from ctxmode_cli.context.modes.summary import Summary
from ctxmode_cli.context.modes.zero import zero
from ctxmode_cli.context.plan import Mode, Summarizer
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.counter import TokenCounter


def build_mode(config: ContextConfig, summarizer: Summarizer | None) -> Mode:
    """The mode that a configuration names.

    Raises:
        CtxmodeError: The summary mode was given no summarizer.
    """
    if config.mode == ContextMode.ZERO:
        return zero
    if config.mode == ContextMode.FULL:
        return full
    low = config.sliding_turns if config.sliding_low is None else config.sliding_low
    sliding = Sliding(config.sliding_turns, low)
    if config.mode == ContextMode.SLIDING:
        return sliding
    if summarizer is None:
        raise CtxmodeError("the summary mode needs a summarizer", hint="ContextManager(config, summarizer=…)")
    return Summary(config, summarizer, _counter(config.summarising_model), sliding)


@lru_cache(maxsize=16)
def _counter(model: str) -> TokenCounter:
    """The counter of a model that summarises, the same one for every session."""
    return TokenCounter.for_model(model)
