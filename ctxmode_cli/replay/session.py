"""One conversation walks in; for each mode, rows walk out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import History
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import Summarizer
from ctxmode_cli.context.record_faults import record_faults
from ctxmode_cli.context.steps.budget import OverBudgetError
from ctxmode_cli.context.validity import mode_faults
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.requests import Request, has_replies, list_requests
from ctxmode_cli.language.statements import StatementReader
from ctxmode_cli.score.harm import Harm, HarmFinder, Supersessions
from ctxmode_cli.score.position import Place, PositionProfile, find_position_profile
from ctxmode_cli.score.recall import FactPlaces, Probe, ProbePlan, probed_facts
from ctxmode_cli.simulate.charges import Charge, Simulation
from ctxmode_cli.tokens.counter import TokenCounter


class RequestRow(NamedTuple):
    """What one mode makes of one request."""

    request: int
    """0-based within the conversation."""
    turn: int
    """0-based."""
    context: Context | None
    """None for an unsendable request."""
    unsendable: str | None
    """Why it cannot be sent."""
    invalid: tuple[str, ...]
    """Validity checks that the mode's request fails; empty for every built-in mode."""


class ProbeRow(NamedTuple):
    """Whether one mode's request carries a fact that it needs."""

    request: int
    probe: Probe
    place: Place | None
    """The best of the fact's places in the prompt; None where it is not in context."""
    went: str | None
    """Where a fact went that is not in context (`FactPlaces.went`)."""


@dataclass(frozen=True, slots=True)
class ModeRows:
    """All that one mode did on one conversation."""

    requests: list[RequestRow] = field(default_factory=list)
    probes: list[ProbeRow] = field(default_factory=list)
    charges: list[Charge | None] = field(default_factory=list)
    """Of each request; None for an unsendable one."""
    harm: list[Harm] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SessionReplay:
    """One conversation, replayed through every mode on the same requests."""

    conversation: Conversation
    history: History
    """All of the conversation, measured."""
    requests: list[Request]
    completion_tokens: list[int | None]
    """Of each request's recorded reply; None for an open request."""
    modes: Mapping[str, ModeRows]
    places: FactPlaces
    """Where the facts are said that recall and harm look for."""
    probes: int
    unprobed: int
    unmatched: list[int]
    """Facts that the matcher does not find where they are said to be stated."""
    record_faults: Counter[str]
    clock: str
    """Where the times of its requests come from (`SessionCharges.clock`)."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The replay of conversations through modes: call it with one conversation after another.

    It is teacher-forced: the history of a request is what was recorded before it, the recorded replies included,
    whatever a mode would have made the model say. A mode sees nothing later, and never a label.
    """

    modes: Mapping[str, ContextConfig]
    counter: TokenCounter
    summarizer: Summarizer
    simulation: Simulation
    probe_every_turn: bool = False
    position_profile: PositionProfile = field(default_factory=partial(find_position_profile, "flat"))
    """How likely a fact is used where it stands."""

    def __call__(self, conversation: Conversation) -> SessionReplay:
        """Every request of the conversation through every mode."""
        messages = conversation.messages
        history = History(self.counter, tools=conversation.tools, one_turn_per_user_message=not has_replies(messages))
        facts = conversation.facts
        probed = probed_facts(facts, every_turn=self.probe_every_turn)
        supersessions = Supersessions.of(facts)
        places = FactPlaces(facts, messages, supersessions.wanted(probed))
        reader = StatementReader(facts, messages)
        managers = [
            (
                ContextManager(config, summarizer=self.summarizer, history=history),
                HarmFinder(facts, supersessions, places, reader),
                ModeRows(),
            )
            for config in self.modes.values()
        ]
        plan = ProbePlan(facts, places, every_turn=self.probe_every_turn)
        requests = list_requests(messages)
        turns: list[int] = []
        probes = 0
        for request in requests:
            for message in messages[len(history) : request.position]:
                history.append(message)
            turn = history.complete_turns
            turns.append(turn)
            due = plan.due(history.turns, request.position)
            probes += len(due)
            for manager, harm, rows in managers:
                row = _request_row(manager, request, turn)
                rows.requests.append(row)
                found = list(self._probe_rows(row, due, places, history)) if due else []
                rows.probes.extend(found)
                lost = [one.probe.fact for one in found if one.place is None]
                if facts and row.context is not None and (lost or row.context.summarised):
                    rows.harm.extend(harm.find(request.index, row.context, lost))
        plan.finish()
        for message in messages[len(history) :]:
            history.append(message)
        completion_tokens = [_completion_tokens(history, request) for request in requests]
        session = self.simulation.session(conversation, history, requests, turns, completion_tokens)
        for manager, _, rows in managers:
            contexts = [row.context for row in rows.requests]
            rows.charges.extend(session.charge(contexts, blocking=manager.config.summary_call == "blocking"))
        return SessionReplay(
            conversation=conversation,
            history=history,
            requests=requests,
            completion_tokens=completion_tokens,
            modes=dict(zip(self.modes, (rows for _, _, rows in managers), strict=True)),
            places=places,
            probes=probes,
            unprobed=plan.unprobed,
            unmatched=[fact for fact in places.unmatched if fact in set(probed)],
            record_faults=record_faults(messages),
            clock=session.clock,
        )

    def _probe_rows(
        self, row: RequestRow, due: Sequence[Probe], places: FactPlaces, history: History
    ) -> Iterator[ProbeRow]:
        context, profile = row.context, self.position_profile
        for probe in due:
            place = None if context is None else places.best_place(probe.fact, context, history, profile)
            went = places.went(probe.fact, context, history) if place is None else None
            yield ProbeRow(row.request, probe, place, went)


def _request_row(manager: ContextManager, request: Request, turn: int) -> RequestRow:
    try:
        context = manager.build_context()
    except OverBudgetError as error:
        return RequestRow(request.index, turn, None, error.reason, ())
    faults = mode_faults(context, manager.history, manager.budget)
    return RequestRow(request.index, turn, context, None, faults)


def _completion_tokens(history: History, request: Request) -> int | None:
    """Tokens of the reply's content and calls, without role and framing."""
    if request.is_open:
        return None
    tokens = 0
    counter = history.counter
    for position in range(request.position, request.reply_stop):
        message = history.messages[position]
        if message.role == "assistant":
            tokens += history.range_tokens(position, position + 1) - counter.overhead(message)
    return tokens
