"""How many facts a rolling summary still tells, round by round, and how long it is.

Of the facts with a label's probe that were said in what is summarised so far, and still hold: the share that the
summary tells. Every conversation that has so many rounds counts alike.

Usage: python benchmarks/summary_rounds.py [CONVERSATIONS] [FIGURE.svg]
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import vl_convert
from early_recall import conversations

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.history import History
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.requests import list_requests
from ctxmode_cli.language.matching import FactMatcher
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

ROUNDS = 30
SETTINGS = {
    "interleaved_en": ContextConfig(mode="summary", summary_every=2),
    "interleaved_zh": ContextConfig(mode="summary"),
}
"""English conversations are shorter: refreshed more often, they have 30 rounds too."""


class Round(NamedTuple):
    """One summary of one conversation."""

    kept: float | None
    """Share of the facts; None where none was said yet."""
    tokens: int


def rounds(conversation: Conversation, config: ContextConfig, counter: TokenCounter) -> Iterator[Round]:
    """Every summary of a conversation, in turn."""
    manager = ContextManager(config, summarizer=ExtractiveSummarizer(counter), history=History(counter))
    facts = [fact for fact in conversation.facts if fact.probe_at]
    matcher = FactMatcher(facts)
    for request in list_requests(conversation.messages):
        for message in conversation.messages[len(manager.history) : request.position]:
            manager.append(message)
        context = manager.build_context()
        if context.summary_call is None:
            continue
        said = {
            number
            for number, fact in enumerate(facts)
            if fact.stated_at < context.summarised and (fact.superseded_at or request.position) >= request.position
        }
        [told] = matcher.facts_in_each([context.summary_call.text])
        yield Round(len(said & told) / len(said) if said else None, counter.text(context.summary_call.text))


def by_round(name: str, count: int) -> Iterator[list[Round]]:
    """The conversations' summaries of each round."""
    counter = TokenCounter.for_model("gpt-4o")
    made = [list(rounds(conversation, SETTINGS[name], counter)) for conversation in conversations(name, count)]
    for number in range(ROUNDS):
        yield [one[number] for one in made if number < len(one)]


def figure(curves: dict[str, Sequence[float]]) -> dict[str, Any]:
    """The share kept by round: a Vega-Lite chart with a line for each set of conversations."""
    points = [
        {"data": name, "round": number, "kept": share}
        for name, shares in curves.items()
        for number, share in enumerate(shares, 1)
    ]
    kept = {"field": "kept", "type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"format": "%"}}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": points},
        "width": 560,
        "height": 240,
        "mark": "line",
        "encoding": {
            "x": {"field": "round", "type": "quantitative", "title": "round of the summary"},
            "y": {**kept, "title": "facts kept"},
            "color": {"field": "data", "type": "nominal", "sort": list(curves), "title": None},
        },
        "config": {"background": "white"},
    }


def main(count: int, path: str | None) -> None:
    """Print some rounds of each set of conversations, and draw all of them."""
    print("| data | round | conversations | facts kept | longest summary, tokens |\n|---|---|---|---|---|")
    curves = {}
    for name in SETTINGS:
        table = list(by_round(name, count))
        curves[name] = [mean(one.kept for one in made if one.kept is not None) for made in table]
        for number in (1, 5, 10, 20, 30):
            made = table[number - 1]
            longest = max(one.tokens for one in made)
            print(f"| {name} | {number} | {len(made)} | {curves[name][number - 1]:.0%} | {longest} |", flush=True)
    if path is not None:
        Path(path).write_text(vl_convert.vegalite_to_svg(figure(curves)), encoding="utf-8")


if __name__ == "__main__":
    main(int(next(iter(sys.argv[1:]), 60)), next(iter(sys.argv[2:]), None))
