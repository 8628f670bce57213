"""What becomes of each labelled conversation, mode by mode: for a comparison of two runs, and for reports that list all."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ctxmode_cli.replay.breakdown import utf8
from ctxmode_cli.replay.session import ModeRows, SessionReplay


class FactScore(NamedTuple):
    """The probes of one fact."""

    probes: int
    hits: int
    """Those that have it in context."""

    @property
    def is_lost(self) -> bool:
        """Whether any probe misses it."""
        return self.hits < self.probes

    def is_worse_than(self, before: "FactScore") -> bool:
        """Whether a smaller share of its probes has it than before."""
        return self.hits * before.probes < before.hits * self.probes


@dataclass(slots=True)
class ConversationScore:
    """One conversation in one mode."""

    facts: dict[str, FactScore] = field(default_factory=dict)
    """By id, the probed ones."""
    harm: int = 0
    """Stale values sent, and facts contradicted."""

    def lost_since(self, before: "ConversationScore") -> tuple[str, ...]:
        """Ids of the facts that a smaller share of their probes has than before."""
        known = sorted(self.facts.keys() & before.facts.keys())
        return tuple(fact for fact in known if self.facts[fact].is_worse_than(before.facts[fact]))


@dataclass
class ByConversation:
    """The labelled conversations of a run; those that share an id count as one."""

    modes: dict[str, dict[str, ConversationScore]] = field(default_factory=dict)
    """By mode and id, as a run folder writes it."""

    def score(self, mode: str, conversation: str) -> ConversationScore:
        """Where that conversation is counted."""
        return self.modes.setdefault(mode, {}).setdefault(conversation, ConversationScore())

    def add(self, session: SessionReplay) -> None:
        """Count one replayed conversation, unless it has nothing to score."""
        for mode, rows in session.modes.items():
            if len(session.probes) or rows.harm:
                score = self.score(mode, utf8(session.conversation.id))
                _add_rows(score, rows, [utf8(fact.id) for fact in session.conversation.facts])


def _add_rows(score: ConversationScore, rows: ModeRows, ids: list[str]) -> None:
    score.harm += len(rows.harm)
    for fact, hit in zip(rows.scores.probes.fact.tolist(), rows.scores.in_context.tolist(), strict=True):
        probes, hits = score.facts.get(ids[fact], (0, 0))
        score.facts[ids[fact]] = FactScore(probes + 1, hits + hit)


def read_by_conversation(folder: Path) -> ByConversation:
    """The same, read off a run folder.

    Raises:
        OSError: A table is missing or damaged.
    """
    found = ByConversation()
    groups = ["mode", "conversation_id", "fact_id"]
    counted = [("in_context", "count"), ("in_context", "sum")]
    for mode, conversation, fact, probes, hits in _grouped(folder / "probes.parquet", groups, counted):
        found.score(mode, conversation).facts[fact] = FactScore(probes, hits)
    for mode, conversation, harm in _grouped(folder / "harm.parquet", groups[:2], [("kind", "count")]):
        found.score(mode, conversation).harm = harm
    return found


def _grouped(path: Path, keys: list[str], aggregations: list[tuple[str, str]]) -> Iterator[tuple[Any, ...]]:
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    columns = list(dict.fromkeys([*keys, *(column for column, _ in aggregations)]))
    try:
        table: pa.Table = pq.read_table(path, columns=columns).group_by(keys).aggregate(aggregations)
    except pa.ArrowInvalid as error:
        raise OSError(str(error)) from error
    names = [*keys, *(f"{column}_{function}" for column, function in aggregations)]
    yield from zip(*(table.column(name).to_pylist() for name in names), strict=True)
