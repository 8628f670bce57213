"""What becomes of each labelled conversation, mode by mode: for a comparison of two runs, and for reports that list all."""

from dataclasses import dataclass, field
from typing import NamedTuple

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
