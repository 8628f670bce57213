"""Recall of what was said early: the offline summary against a sliding window of the same size.

Recall is in context, over the probes that come more than ten turns after their fact was said; each fact weighs alike.
Windows of whole turns are replayed two turns apart, and recall is interpolated to the summary's mean tokens a request.

DATA is a name of `SETTINGS`, also with `:unseen`: conversations that no weight of the summary was chosen on.

Usage: python benchmarks/early_recall.py [CONVERSATIONS] [DATA …]
"""

import sys
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ctxmode_cli.commands.config_file import ConfigFile
from ctxmode_cli.commands.options import ReplayOptions
from ctxmode_cli.commands.simulation import simulation_of
from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.files import Reading, sample
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.generate.sessions import generate_sessions
from ctxmode_cli.replay.session import ModeRows, Replay
from ctxmode_cli.score.recall import Recall
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

SHARED = Path(__file__).resolve().parents[2] / "shared" / "datasets"
EARLY = 10
"""A probe is early where more turns than this lie between saying and needing."""
SEED = 0
UNSEEN_SEED = 7
"""Of generated sessions."""
SEEN, SEEN_FIRST = 64, 40
"""Weights were chosen on a seeded sample of so many conversations of a file, and on so many at its beginning."""


class Setting(NamedTuple):
    """How one set of conversations is replayed."""

    summary: ContextConfig
    windows: range
    """Turns of the sliding windows; the widest sends more than the summary does."""


LONG = Setting(ContextConfig(mode="summary"), range(4, 41, 2))
SHORT = Setting(
    ContextConfig(mode="summary", summary_threshold=3, summary_every=2, summary_target_tokens=300), range(1, 22, 2)
)
SETTINGS = {"interleaved_en": LONG, "interleaved_zh": LONG, "generated_en": SHORT, "generated_zh": SHORT}


class Point(NamedTuple):
    """One mode on one set of conversations."""

    tokens: float
    """Mean prompt tokens a request."""
    recall: float


class Tally:
    """Counts of one mode, added up over conversations."""

    def __init__(self) -> None:
        self._tokens = self._requests = 0
        self._early = Recall()

    def add(self, rows: ModeRows) -> None:
        """Count one conversation."""
        sent = [row.context.prompt_tokens for row in rows.requests if row.context is not None]
        self._tokens += sum(sent)
        self._requests += len(sent)
        scores = rows.scores
        early = scores.probes.age_turns > EARLY
        self._early += Recall.of_facts(scores.probes.fact[early], scores.in_context[early], scores.units[early])

    @property
    def facts(self) -> int:
        """Facts with an early probe."""
        return self._early.facts

    @property
    def point(self) -> Point:
        """Where this mode stands."""
        return Point(self._tokens / self._requests, float(self._early.value or 0))


def conversations(name: str, count: int) -> list[Conversation]:
    """A seeded sample of a file, or so many generated sessions; of unseen ones where the name says so."""
    name, _, unseen = name.partition(":")
    if name.startswith("generated_"):
        seed = UNSEEN_SEED if unseen else SEED
        records = enumerate(generate_sessions(count, seed, (name.removeprefix("generated_"),)))
        return [parse_conversation(record, where=name, default_id=str(number)) for number, record in records]
    recorded = list(Reading([str(SHARED / f"{name}.jsonl.gz")]).conversations())
    if unseen:
        seen = {one.id for one in (*sample(recorded, SEEN, SEED), *recorded[:SEEN_FIRST])}
        recorded = [one for one in recorded if one.id not in seen]
    return sample(recorded, count, SEED)


def tallies(chosen: Iterable[Conversation], configs: dict[str, ContextConfig]) -> dict[str, Tally]:
    """Replay conversations through modes, and count."""
    counter = TokenCounter.for_model("gpt-4o")
    simulation = simulation_of("gpt-4o", configs.values(), ReplayOptions(cache_rules="none"), ConfigFile())
    replay = Replay(configs, counter, ExtractiveSummarizer(counter), simulation)
    counted = {name: Tally() for name in configs}
    for conversation in chosen:
        for name, rows in replay(conversation).modes.items():
            counted[name].add(rows)
    return counted


def at_tokens(tokens: float, curve: Iterable[Point]) -> float:
    """Recall of a sliding window that sends so many tokens, between the two windows next to it."""
    for below, above in pairwise(sorted(curve)):
        if below.tokens <= tokens <= above.tokens:
            share = (tokens - below.tokens) / (above.tokens - below.tokens)
            return below.recall + share * (above.recall - below.recall)
    raise ValueError(f"no windows around {tokens:.0f} tokens")


def main(count: int, names: list[str]) -> None:
    """Print a row for each set of conversations."""
    columns = (
        "data",
        "early facts",
        "tokens a request",
        "summary",
        "sliding, same size",
        "difference",
        "with the card",
    )
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name in names:
        setting = SETTINGS[name.partition(":")[0]]
        windows = {f"{turns}": ContextConfig(mode="sliding", sliding_turns=turns) for turns in setting.windows}
        with_card = replace(setting.summary, fact_card=True)
        modes = {"summary": setting.summary, "with_card": with_card, **windows}
        counted = tallies(conversations(name, count), modes)
        tally, carded = counted.pop("summary"), counted.pop("with_card").point
        tokens, recall = tally.point
        sliding = at_tokens(tokens, [other.point for other in counted.values()])
        gained = f"{100 * (recall - sliding):+.1f} points"
        card = f"{carded.recall:.1%} for {carded.tokens:,.0f} tokens"
        cells = (name, f"{tally.facts:,}", f"{tokens:,.0f}", f"{recall:.1%}", f"{sliding:.1%}", gained, card)
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int(next(iter(sys.argv[1:]), 60)), sys.argv[2:] or list(SETTINGS))
