"""Comparisons made of bare figures."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from assumptions import simulation

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.replay.results import Comparison, DataTotals, Histogram, ModeTotals
from ctxmode_cli.score.recall import Recall

Build = Callable[..., Comparison]


def totals(
    tokens: int | list[int] | None, kept: int | None = None, unsendable: int = 0, facts: int = 1000
) -> ModeTotals:
    """A mode whose requests have these tokens, and that keeps so many of a thousand facts."""
    sizes = [] if tokens is None else [tokens] if isinstance(tokens, int) else tokens
    return ModeTotals(
        requests=len(sizes) + unsendable,
        unsendable=Counter({"input": unsendable} if unsendable else {}),
        prompt_tokens=Histogram(Counter(sizes)),
        recall=Recall() if kept is None else Recall(Counter({1: kept}), Counter({1: facts})),
    )


@pytest.fixture
def build() -> Build:
    """A comparison of modes given as (tokens, facts kept of a thousand, unsendable requests)."""

    def compare(*, baseline: str | None = None, data: dict[str, Any] | None = None, **modes: Any) -> Comparison:
        parts = {name: part if isinstance(part, ModeTotals) else totals(*part) for name, part in modes.items()}
        probes = max(part.recall.probes for part in parts.values())
        counts = {"conversations": 2, "requests": 2, "facts": probes, "probes": probes}
        configs = {name: ContextConfig(mode=name) for name in parts}
        first = baseline or next(iter(parts))
        described = DataTotals(**(counts | (data or {})))
        return Comparison("gpt-4o", "o200k_base", 128_000, 0, first, configs, described, parts, [], simulation())

    return compare
