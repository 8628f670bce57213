"""Comparisons made of bare figures."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from assumptions import simulation
from comparisons import Build

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.replay.results import AuxiliaryCalls, Comparison, DataTotals, Histogram, ModeTotals, no_calls
from ctxmode_cli.score.position import USE_UNITS
from ctxmode_cli.score.recall import Recall
from ctxmode_cli.simulate.rates import Bill, Usage


def totals(
    tokens: int | Sequence[int] | None,
    kept: int | None = None,
    unsendable: int = 0,
    facts: int = 1000,
    *,
    cached: int = 0,
    written: int = 0,
    replies: int = 0,
    calls: Usage | None = None,
    card_calls: Usage | None = None,
    latency_ms: Sequence[int] | None = None,
) -> ModeTotals:
    """What a mode's requests add up to.

    Args:
        tokens: Of its requests; None where none can be sent.
        kept: Of how many facts it keeps.
        unsendable: Requests that it cannot send.
        facts: How many there are.
        cached: Prompt tokens of all requests that are read from the cache.
        written: And that are written to it.
        replies: Tokens of all replies.
        calls: What one summary call is billed.
        card_calls: And one call for the fact card.
        latency_ms: Of its requests; as many as they have tokens where none are given.
    """
    sizes = [] if tokens is None else [tokens] if isinstance(tokens, int) else list(tokens)
    usage = Usage(sum(sizes) - cached - written, cached, written, replies)
    made = {"summary": calls, "card": card_calls}
    auxiliary = {
        purpose: AuxiliaryCalls(1, 0, usage.prompt, usage.completion, bill=Bill({0: usage}))
        for purpose, usage in made.items()
        if usage is not None
    }
    return ModeTotals(
        requests=len(sizes) + unsendable,
        unsendable=Counter({"input": unsendable} if unsendable else {}),
        prompt_tokens=Histogram(Counter(sizes)),
        bill=Bill({0: usage} if sizes else {}),
        latency_ms=Histogram(Counter(sizes if latency_ms is None else latency_ms)),
        calls=no_calls() | auxiliary,
        recall=Recall()
        if kept is None
        else Recall(Counter({1: kept}), Counter({1: facts}), Counter({1: kept * USE_UNITS})),
    )


@pytest.fixture
def build() -> Build:
    """A comparison of modes given as arguments of `totals`, on two conversations, at 3 USD per million prompt tokens."""

    def compare(
        *,
        baseline: str | None = None,
        data: dict[str, Any] | None = None,
        changed: dict[str, Any] | None = None,
        **modes: Any,
    ) -> Comparison:
        parts = {
            name: part if isinstance(part, ModeTotals) else totals(**part) if isinstance(part, dict) else totals(*part)
            for name, part in modes.items()
        }
        probes = max(part.recall.probes for part in parts.values())
        counts = {"conversations": 2, "requests": 2, "facts": probes, "probes": probes}
        configs = {name: ContextConfig(mode=name) for name in parts}
        first = baseline or next(iter(parts))
        described = DataTotals(**(counts | (data or {})))
        compared = Comparison("gpt-4o", "o200k_base", 128_000, 0, first, configs, described, parts, [], simulation())
        return replace(compared, **(changed or {}))

    return compare
