"""Decides what the user of a session comes to next: intents, interruptions, changes of mind, and needs that fall due."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from ctxmode_cli.generate.grammar import Grammar, Intent, Remark
from ctxmode_cli.generate.script import Script
from ctxmode_cli.generate.template import Needs
from ctxmode_cli.generate.weighted import weighted_choice, weighted_range

MAX_FACTS = 12


@dataclass(slots=True)
class _Thread:
    """An intent under way."""

    intent: Intent
    next_turn: int = 0
    interrupted: bool = False

    @property
    def is_over(self) -> bool:
        return self.next_turn == len(self.intent.turns)


@dataclass(frozen=True, slots=True)
class _Due:
    """A slot that shall be needed in a turn, so that needs come soon, later and late after a fact is stated."""

    turn: int
    slot: str


class Director:
    """Leads one session from its first turn to its last.

    Args:
        grammar: Of the session's language.
        script: Takes the turns down.
        rng: The only source of chance.
    """

    def __init__(self, grammar: Grammar, script: Script, rng: Random) -> None:
        self._grammar = grammar
        self._script = script
        self._rng = rng
        self._plan: Mapping[str, Any] = grammar.plan
        self._length = weighted_range(rng, self._plan["lengths"])
        self._last_fact_turn = int(self._length * self._plan["facts_within"])
        self._facts_wanted = min(rng.randint(*self._plan["facts"]), 2 + self._length // 4)
        self._manner = weighted_choice(rng, grammar.manners, [manner.weight for manner in grammar.manners])
        self._threads: list[_Thread] = []  # the last one is under way, the others wait
        self._begun: list[Intent] = []
        self._untouched = list(grammar.intents)
        self._dues: list[_Due] = []
        self._seen_facts = 0
        self._changes = 0

    def write(self) -> None:
        """Write all turns of the session."""
        while self._script.turns < self._length - 1:
            thread, opening = self._next_thread()
            turn = thread.intent.turns[thread.next_turn]
            aside = self._remark(self._manner.aside) + self._remark(self._manner.closer)
            self._script.write_turn(turn, opening or self._remark(self._manner.opener), aside)
            thread.next_turn += 1
            self._threads = [each for each in self._threads if not each.is_over]
            self._schedule_needs()
        self._script.write_turn(self._begin(self._fitting("closing")).intent.turns[0])

    def _remark(self, remark: Remark) -> str:
        """What a user of this manner adds to a message, which is nothing most of the time."""
        return self._script.expand(remark.text) if self._rng.random() < remark.chance else ""

    @property
    def scenarios(self) -> list[str]:
        """What the session was about, in the order in which it came up."""
        return list(dict.fromkeys(intent.scenario for intent in self._begun))

    def _next_thread(self) -> tuple[_Thread, str]:
        """The intent that has the next turn, and how the user turns to it."""
        script = self._script
        self._threads = [each for each in self._threads if self._fits(each.intent.turns[each.next_turn].needs)]
        if script.turns == 0:
            return self._begin(self._stating()), script.expand(self._grammar.hello)
        if self._threads and not self._threads[-1].interrupted:
            if self._rng.random() >= self._plan["interruption"]:
                return self._threads[-1], ""
            self._threads[-1].interrupted = True
            return self._begin(self._candidates()), script.expand(self._grammar.aside)
        due = self._due_intents()
        if not due and self._threads:
            self._threads[-1].interrupted = False
            return self._threads[-1], script.expand(self._threads[-1].intent.coming_back)
        thread = self._begin(due or self._candidates())
        return thread, self._script.expand(thread.intent.coming_back) if self._comes_back(thread.intent) else ""

    def _comes_back(self, intent: Intent) -> bool:
        """Whether the user says that this belongs to something they talked about before they changed the subject."""
        *earlier, last, _ = self._begun
        known_subject = last.scenario != intent.scenario and any(each.scenario == intent.scenario for each in earlier)
        return known_subject and intent.role == "task" and self._rng.random() < self._plan["coming_back"]

    def _begin(self, intents: Sequence[Intent]) -> _Thread:
        thread = _Thread(weighted_choice(self._rng, intents, [intent.weight for intent in intents]))
        self._threads.append(thread)
        self._begun.append(thread.intent)
        self._untouched = [intent for intent in self._untouched if intent is not thread.intent]
        self._changes += thread.intent.changes_a_fact
        return thread

    def _candidates(self) -> Sequence[Intent]:
        """Intents that can begin now: new facts while the session wants more of them, otherwise anything."""
        roll = self._rng.random()
        if roll < self._plan["chat"]:
            return self._fitting("chat")
        if roll < self._plan["chat"] + self._plan["change"] and self._changing():
            return self._changing()
        if len(self._script.facts) < self._facts_wanted and self._stating():
            return self._stating()
        return self._filling()

    def _filling(self) -> Sequence[Intent]:
        """Intents without new facts: first those that no later need waits for, last small talk that was had before."""
        awaited = {due.slot for due in self._dues}
        tasks = [each for each in self._fitting("task") if not self._new_facts(each.needs)]
        chats = self._fitting("chat")
        unawaited = [each for each in tasks if not each.turns[0].answered_with & awaited]
        return unawaited or [each for each in chats if each not in self._begun] or tasks or chats

    def _due_intents(self) -> Sequence[Intent]:
        """Intents that need a fact which is due; a need that no intent can meet is forgotten."""
        for due in [each for each in self._dues if each.turn <= self._script.turns]:
            self._dues.remove(due)
            fitting = [each for each in self._fitting("task") if due.slot in each.turns[0].answered_with]
            if fitting:
                return fitting
        return ()

    def _stating(self) -> Sequence[Intent]:
        if self._script.turns > self._last_fact_turn:
            return ()
        return [each for each in self._fitting("task") if self._new_facts(each.needs) and not each.changes_a_fact]

    def _changing(self) -> Sequence[Intent]:
        if self._changes >= self._plan["max_changes"] or self._script.turns > self._last_fact_turn:
            return ()
        return [each for each in self._fitting("task") if each.changes_a_fact]

    def _fitting(self, role: str) -> Sequence[Intent]:
        """Intents of a role that can begin now; a task comes once a session, chat again only when all has been said."""
        new = [each for each in self._untouched if each.role == role and self._fits(each.needs)]
        if new or role == "task":
            return new
        return [each for each in self._grammar.intents if each.role == role and self._fits(each.needs)]

    def _fits(self, needs: Needs) -> bool:
        """Whether the session knows what is asked for, and has room for the facts that can follow."""
        known = self._script.known
        room = MAX_FACTS - len(self._script.facts)
        return needs.met_by(known) and (len(needs.may_state) <= room or len(self._new_facts(needs)) <= room)

    def _new_facts(self, needs: Needs) -> Collection[str]:
        known, slots = self._script.known, self._grammar.slots
        return [
            name for name in needs.may_state if slots[name].is_fact and (name not in known or name in needs.required)
        ]

    def _schedule_needs(self) -> None:
        """Choose when the facts of the last turn shall be needed."""
        new = self._script.facts[self._seen_facts :]
        self._seen_facts = len(self._script.facts)
        for fact in new:
            for _ in range(self._plan["needs"]):
                turn = self._script.turns + weighted_range(self._rng, self._plan["distances"])
                if turn < self._length:
                    self._dues.append(_Due(turn, fact.slot))
