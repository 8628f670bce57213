"""One conversation walks in; for each mode, rows walk out."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from ctxmode_cli.context.card_facts import FactExtractor, extract_card_facts
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
from ctxmode_cli.score.answers import Answering, Examination
from ctxmode_cli.score.harm import Harm, HarmFinder, Supersessions
from ctxmode_cli.score.position import PositionProfile, find_position_profile
from ctxmode_cli.score.recall import FactPlaces, probed_facts
from ctxmode_cli.score.scores import Asked, Judge, Probes, Scores
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


@dataclass(frozen=True, slots=True)
class ModeRows:
    """All that one mode did on one conversation."""

    requests: list[RequestRow]
    charges: list[Charge | None]
    """Of each request; None for an unsendable one."""
    scores: Scores
    harm: list[Harm]


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
    probes: Probes
    places: FactPlaces
    """Where the facts are said that recall and harm look for."""
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
    answering: Answering | None = None
    """Who is asked for facts; None for nobody."""
    extractors: Mapping[str, FactExtractor] = field(default_factory=dict)
    """By the mode's summarising model, who reads facts for its card; where none is named it goes by rules."""

    def __call__(self, conversation: Conversation) -> SessionReplay:
        """Every request of the conversation through every mode."""
        messages = conversation.messages
        history = History(self.counter, tools=conversation.tools, one_turn_per_user_message=not has_replies(messages))
        managers = [
            ContextManager(
                config,
                summarizer=self.summarizer,
                extractor=self.extractors.get(config.summarising_model, extract_card_facts),
                history=history,
            )
            for config in self.modes.values()
        ]
        rows: list[list[RequestRow]] = [[] for _ in managers]
        requests = list_requests(messages)
        turns: list[int] = []
        asked: list[Asked] = []
        for request in requests:
            for message in messages[len(history) : request.position]:
                history.append(message)
            turns.append(history.complete_turns)
            if not asked or asked[-1].turn_start != history.turn_start:
                asked.append(Asked(request.index, history.turn_start, request.position))
            for manager, made in zip(managers, rows, strict=True):
                made.append(_request_row(manager, request, turns[-1]))
        for message in messages[len(history) :]:
            history.append(message)
        completion_tokens = [_completion_tokens(history, request) for request in requests]
        session = self.simulation.session(conversation, history, requests, turns, completion_tokens)
        facts = conversation.facts
        probed = probed_facts(facts, every_turn=self.probe_every_turn)
        supersessions = Supersessions.of(facts)
        places = FactPlaces(facts, messages, supersessions.wanted(probed))
        probes = Probes.of(facts, places, asked, history.turns, every_turn=self.probe_every_turn)
        judge = Judge(probes, places, history, self.position_profile)
        examine = Examination.of(conversation, probes, self.answering)
        reader = StatementReader(facts, messages)
        modes = {}
        for (name, config), made in zip(self.modes.items(), rows, strict=True):
            contexts = [row.context for row in made]
            charges = session.charge(contexts, blocking=config.summary_call == "blocking")
            probed_in = [contexts[request.request] for request in asked]
            scores = replace(judge(probed_in), answered=examine(probed_in, history))
            harm = HarmFinder(facts, supersessions, places, reader)(contexts, scores)
            modes[name] = ModeRows(made, charges, scores, harm)
        return SessionReplay(
            conversation=conversation,
            history=history,
            requests=requests,
            completion_tokens=completion_tokens,
            modes=modes,
            probes=probes,
            places=places,
            unmatched=sorted(set(places.unmatched).intersection(probed)),
            record_faults=record_faults(messages),
            clock=session.clock,
        )


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
