"""What a replay adds up to: raw counts that add, and ratios that are derived from them."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import NamedTuple, Self

from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.context.context import CALL_PURPOSES, AuxiliaryCall
from ctxmode_cli.language.explain import why_missing
from ctxmode_cli.language.matching import message_text
from ctxmode_cli.replay.breakdown import Breakdown, short
from ctxmode_cli.replay.by_conversation import ByConversation
from ctxmode_cli.replay.harm_totals import HarmTotals
from ctxmode_cli.replay.session import ModeRows, Replay, SessionReplay
from ctxmode_cli.replay.statistics import FIXED_POINT, Interval, Replicates, Sums
from ctxmode_cli.replay.turns import BreakEven, ByTurn, TurnPoint, break_evens
from ctxmode_cli.replay.verdict import Verdict
from ctxmode_cli.score.position import USE_UNITS, PositionProfile, find_position_profile
from ctxmode_cli.score.recall import Recall
from ctxmode_cli.score.scores import FAILED
from ctxmode_cli.simulate.charges import Charge, Simulation
from ctxmode_cli.simulate.rates import Bill

MAX_LISTED = 10
"""Cases that a note names; beyond that it only counts."""
_USE_UNIT = FIXED_POINT // USE_UNITS


@dataclass
class Histogram:
    """Counts of whole-number measurements: exact, and it adds up, so that a percentile needs no list of them."""

    counts: Counter[int] = field(default_factory=Counter)

    def __iadd__(self, other: "Histogram") -> Self:
        self.counts.update(other.counts)
        return self

    @property
    def size(self) -> int:
        """How many measurements there are."""
        return self.counts.total()

    @property
    def total(self) -> int:
        """Their sum."""
        return sum(value * count for value, count in self.counts.items())

    @property
    def mean(self) -> Fraction | None:
        """Their mean; None without any."""
        return Fraction(self.total, self.size) if self.counts else None

    def percentile(self, percent: int) -> int | None:
        """The smallest measurement that at least `percent` % of them do not exceed (nearest rank)."""
        return self.percentiles([percent])[0] if self.counts else None

    def percentiles(self, percents: Sequence[int]) -> list[int]:
        """Several of them, where there are any measurements."""
        values = sorted(self.counts)
        up_to = list(accumulate(self.counts[value] for value in values))
        return [values[bisect_left(up_to, -(-up_to[-1] * percent // 100))] for percent in percents]


@dataclass
class AuxiliaryCalls:
    """Calls of one purpose that a mode made beside its requests; each is billed."""

    count: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unseen_tokens: int = 0
    bill: Bill = field(default_factory=Bill)

    def add(self, call: AuxiliaryCall, charge: Charge) -> None:
        """Count one call."""
        billed = Bill({charge.tier: charge.usage})
        self += AuxiliaryCalls(1, call.failed, call.prompt_tokens, call.completion_tokens, call.unseen_tokens, billed)

    def __iadd__(self, other: "AuxiliaryCalls") -> Self:
        self.count += other.count
        self.failed += other.failed
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.unseen_tokens += other.unseen_tokens
        self.bill += other.bill
        return self


def no_calls() -> dict[str, AuxiliaryCalls]:
    """Counts of calls by purpose, before any is made."""
    return {purpose: AuxiliaryCalls() for purpose in CALL_PURPOSES}


@dataclass
class ModeTotals:
    """What one mode's requests add up to."""

    requests: int = 0
    trimmed: int = 0
    """Requests that the budget forced a cut in."""
    unsendable: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)
    stepped_down: Counter[str] = field(default_factory=Counter)
    """Requests that fell back to a simpler mode, by that mode."""
    prompt_tokens: Histogram = field(default_factory=Histogram)
    """Of sendable requests."""
    bill: Bill = field(default_factory=Bill)
    """Of its requests alone."""
    latency_ms: Histogram = field(default_factory=Histogram)
    """Simulated; of sendable requests with a known reply."""
    calls: dict[str, AuxiliaryCalls] = field(default_factory=no_calls)
    """Beside its requests, by purpose."""
    recall: Recall = field(default_factory=Recall)
    answered: Recall = field(default_factory=Recall)
    """Of the probes that a model answered; its hits are the right answers."""
    unanswered: int = 0
    """Probes that a model was asked, and whose answer could not be had."""
    by_turn: ByTurn = field(default_factory=ByTurn)

    def __iadd__(self, other: "ModeTotals") -> Self:
        self.requests += other.requests
        self.trimmed += other.trimmed
        self.unsendable.update(other.unsendable)
        self.invalid.update(other.invalid)
        self.stepped_down.update(other.stepped_down)
        self.prompt_tokens += other.prompt_tokens
        self.bill += other.bill
        self.latency_ms += other.latency_ms
        self._add_calls(other.calls)
        self.recall += other.recall
        self.answered += other.answered
        self.unanswered += other.unanswered
        self.by_turn += other.by_turn
        return self

    @property
    def cached_share(self) -> Fraction | None:
        """The share of all prompt tokens that is read from the cache; None without any."""
        return Fraction(self.bill.total.cached, self.bill.total.prompt) if self.bill.total.prompt else None

    def add(self, rows: ModeRows) -> "SessionPart":
        """Count the rows of one conversation, and say what of it has a spread over conversations."""
        contexts = [row.context for row in rows.requests if row.context is not None]
        self.requests += len(rows.requests)
        self.unsendable.update(row.unsendable for row in rows.requests if row.unsendable is not None)
        self.invalid.update(check for row in rows.requests for check in row.invalid)
        tokens = [context.prompt_tokens for context in contexts]
        self.prompt_tokens.counts.update(tokens)
        self.trimmed += sum([context.trimmed for context in contexts])
        self.stepped_down.update(context.stepped_down for context in contexts if context.stepped_down is not None)
        self.by_turn.add(rows.requests, rows.charges)
        charges = [charge for charge in rows.charges if charge is not None]
        bill, calls = Bill(), no_calls()
        bill.add((charge.tier, charge.usage) for charge in charges)
        self.bill += bill
        for context, charge in zip(contexts, charges, strict=True):
            for call, charged in zip(context.calls, charge.calls, strict=True):
                calls[call.purpose].add(call, charged)
        self._add_calls(calls)
        latencies = [charge.latency_ms for charge in charges if charge.latency_ms is not None]
        self.latency_ms.counts.update(latencies)
        scores = rows.scores
        recall = Recall.of_facts(scores.probes.fact, scores.in_context, scores.units)
        self.recall += recall
        has_answer = scores.answered >= 0
        right = scores.answered[has_answer] > 0
        answered = Recall.of_facts(scores.probes.fact[has_answer], right, scores.units[has_answer])
        self.answered += answered
        self.unanswered += int((scores.answered == FAILED).sum())
        return SessionPart(tokens, latencies, bill, calls, recall, answered)

    def _add_calls(self, calls: Mapping[str, AuxiliaryCalls]) -> None:
        for purpose, part in calls.items():
            self.calls[purpose] += part


class SessionPart(NamedTuple):
    """What one mode takes in one conversation, as far as a measure with an interval rests on it."""

    tokens: Sequence[int]
    """Of each sendable request."""
    latencies: Sequence[int]
    """Milliseconds of each sendable request with a known reply."""
    bill: Bill
    calls: Mapping[str, AuxiliaryCalls]
    recall: Recall
    answered: Recall


@dataclass
class DataTotals:
    """What the replayed data is made of; the same for every mode."""

    conversations: int = 0
    requests: int = 0
    open_requests: int = 0
    facts: int = 0
    probes: int = 0
    unprobed: int = 0
    record_faults: Counter[str] = field(default_factory=Counter)
    clocks: Counter[str] = field(default_factory=Counter)
    """Conversations by where the times of their requests come from: `recorded`, `think_time`, `none`."""
    uncounted_parts: Counter[str] = field(default_factory=Counter)
    """Content parts that no published rule counts, by type."""
    unmatched_facts: int = 0
    unmatched_listed: list[str] = field(default_factory=list)
    """The first of them, as `conversation: fact "value" (why)`."""

    def add(self, session: SessionReplay) -> None:
        """Count one conversation."""
        conversation = session.conversation
        self.conversations += 1
        self.requests += len(session.requests)
        self.open_requests += sum(request.is_open for request in session.requests)
        self.facts += len(conversation.facts)
        self.probes += len(session.probes)
        self.unprobed += session.probes.unprobed
        self.record_faults.update(session.record_faults)
        self.clocks[session.clock] += 1
        self.unmatched_facts += len(session.unmatched)
        for index in session.unmatched[: MAX_LISTED - len(self.unmatched_listed)]:
            fact = conversation.facts[index]
            why = why_missing(fact, message_text(conversation.messages[fact.stated_at]))
            self.unmatched_listed.append(f'{short(conversation.id)}: {short(fact.id)} "{short(fact.value)}" ({why})')
        for message in conversation.messages:
            if isinstance(message.content, list):
                self.uncounted_parts.update(session.history.counter.uncounted_parts(message))


class Totals:
    """All that a replay counts, conversation by conversation.

    Args:
        replay: Whose sessions are added: it knows what their tokens cost, and the seed of the bootstrap.
    """

    def __init__(self, replay: Replay) -> None:
        self.data = DataTotals()
        self.modes: dict[str, ModeTotals] = {}
        self.breakdowns: dict[str, Breakdown] = {}
        """By mode: what is lost."""
        self.harm: dict[str, HarmTotals] = {}
        """By mode."""
        self.replicates = Replicates(replay.simulation.seed)
        self._replay = replay

    def add(self, session: SessionReplay) -> None:
        """Count one replayed conversation."""
        self.data.add(session)
        sums = {}
        for name, rows in session.modes.items():
            part = self.modes.setdefault(name, ModeTotals()).add(rows)
            sums[name] = self._sums(name, part)
            self.breakdowns.setdefault(name, Breakdown()).add(session.conversation, rows.scores)
            self.harm.setdefault(name, HarmTotals()).add(session.conversation, rows.harm)
        self.replicates.add(session.conversation.id, sums)

    def _sums(self, name: str, part: SessionPart) -> Sums:
        """What the bootstrap weighs of one conversation."""
        config, simulation = self._replay.modes[name], self._replay.simulation
        recall, answered = part.recall, part.answered
        costs = [cost_of(part.bill, part.calls, simulation, config, cached=cached) for cached in (True, False)]
        cost, uncached = (0 if cost is None else round(cost.total * FIXED_POINT) for cost in costs)
        return Sums(
            sessions=1,
            cost=cost,
            cost_uncached=uncached,
            requests=len(part.tokens),
            tokens=sum(part.tokens),
            replied=len(part.latencies),
            latency_ms=sum(part.latencies),
            facts=recall.facts,
            in_context=_hits(recall),
            used=sum(use * _USE_UNIT // count for count, use in recall.use_by_probes.items()),
            answered_facts=answered.facts,
            answered=_hits(answered),
        )


def _hits(recall: Recall) -> int:
    """The facts' shares of hits, in fixed point."""
    return sum(hits * FIXED_POINT // count for count, hits in recall.hits_by_probes.items())


class AnswersFrom(NamedTuple):
    """Where the answers of recall (answered) come from, and who grades them."""

    model: str
    endpoint: str
    per_conversation: int
    """Most probes of a conversation that it is asked."""
    judge: str | None = None
    """The model that grades, at the same endpoint; None for the matcher."""

    @property
    def graded(self) -> str:
        """How the answers were graded, in words."""
        return "graded by the matcher" if self.judge is None else f"judged by {self.judge}"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of the data was asked for: conversations, probes, and how many bad records were to be borne."""

    limit: int | None = None
    """Only the first so many conversations; None: all."""
    sample: int | None = None
    """A seeded sample of so many conversations; None: all."""
    probes: str = "labelled"
    """"labelled" or "all"."""
    on_error: str = "fail"
    """"fail" or "skip"."""
    max_errors: int | None = None
    """None: any number."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a mode costs, in USD."""

    requests: Decimal
    calls: Mapping[str, Decimal]
    """Those beside the requests, by purpose."""

    @property
    def total(self) -> Decimal:
        """All calls included."""
        return sum(self.calls.values(), self.requests)


def cost_of(
    bill: Bill, calls: Mapping[str, AuxiliaryCalls], simulation: Simulation, config: ContextConfig, *, cached: bool
) -> Cost | None:
    """What a mode's requests and the calls beside them cost, with the prompt cache or without it.

    None where a price that it takes is unknown.
    """
    requests = _billed(bill, simulation, simulation.model, cached=cached)
    costs = {}
    for purpose, part in calls.items():
        cost = _billed(part.bill, simulation, config.summarising_model, cached=cached)
        if cost is None:
            return None
        costs[purpose] = cost
    return None if requests is None else Cost(requests, costs)


def _billed(bill: Bill, simulation: Simulation, model: str, *, cached: bool) -> Decimal | None:
    if not any(bill.total):
        return Decimal(0)
    rates = simulation.providers[model].rates
    if rates is None:
        return None
    return bill.cost(rates) if cached else bill.cost_uncached(rates)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A finished comparison: what was asked, what was read, and what it adds up to."""

    model: str
    encoding: str
    window: int
    """Tokens of the model's context window."""
    seed: int
    baseline: str
    configs: Mapping[str, ContextConfig]
    """By mode name, the baseline first."""
    data: DataTotals
    modes: Mapping[str, ModeTotals]
    sources: list[tuple[str, str]]
    """Name and sha256 of each input."""
    simulation: Simulation
    skipped: int = 0
    """Records that were left out as faulty."""
    selection: Selection = Selection()
    sessions_per_day: int | None = None
    """For the daily cost; None where none was asked for."""
    position_profile: PositionProfile = field(default_factory=partial(find_position_profile, "flat"))
    """What recall (modelled) rests on."""
    replicates: Replicates = field(default_factory=Replicates)
    """What the intervals are read off."""
    breakdowns: Mapping[str, Breakdown] = field(default_factory=dict)
    """By mode: what is lost."""
    harm: Mapping[str, HarmTotals] = field(default_factory=dict)
    """By mode."""
    endpoint: str | None = None
    """Where the models are that made summaries or read facts for the card; None where no model was called for either."""
    asked_for: Collection[str] = ()
    """The purposes of the calls beside the requests that went there."""
    answers_from: AnswersFrom | None = None
    """None where no model was asked for facts."""
    by_conversation: ByConversation | None = None
    """None where nobody asked for each conversation."""
    gate: Verdict | None = None
    """None where nothing was to be checked."""

    def cost(self, mode: str, *, cached: bool = True) -> Cost | None:
        """What a mode costs, with the prompt cache or without it.

        None where a price that it takes is unknown, or where none of its requests can be sent: that is not cheap.
        """
        totals = self.modes[mode]
        if not totals.prompt_tokens.size:
            return None
        return cost_of(totals.bill, totals.calls, self.simulation, self.configs[mode], cached=cached)

    def relative_cost(self, mode: str, *, cached: bool = True) -> Fraction | None:
        """A mode's cost over the baseline's, all calls included; None where either is unknown."""
        cost, baseline = (self.cost(name, cached=cached) for name in (mode, self.baseline))
        if cost is None or baseline is None or not baseline.total:
            return None
        return Fraction(cost.total) / Fraction(baseline.total)

    def session_cost(self, mode: str, *, cached: bool = True) -> Fraction | None:
        """A mode's mean cost of a session, in USD; None where its cost is unknown."""
        cost = self.cost(mode, cached=cached)
        return None if cost is None else Fraction(cost.total) / self.data.conversations

    def daily_cost(self, mode: str) -> Fraction | None:
        """A mode's cost of a day, in USD; None where its cost is unknown, or no number of sessions is given."""
        a_session = self.session_cost(mode)
        return None if a_session is None or self.sessions_per_day is None else a_session * self.sessions_per_day

    def by_turn(self, mode: str) -> list[TurnPoint]:
        """What a mode takes in sessions of 1, 2, … turns, as far as enough of the data's have so many."""
        totals = self.modes[mode]

        def cost(bill: Bill, calls_bill: Bill, cached: bool) -> Decimal | None:
            calls = {"all": AuxiliaryCalls(bill=calls_bill)}
            found = cost_of(bill, calls, self.simulation, self.configs[mode], cached=cached)
            return found.total if found is not None and totals.prompt_tokens.size else None  # nothing sent is not cheap

        return totals.by_turn.points(cost)

    def break_evens(self) -> Iterator[BreakEven]:
        """From which turn on each mode is cheaper than each other one, where the costs of both are known."""
        points = {mode: self.by_turn(mode) for mode in self.modes}
        costs = {mode: [point.cost for point in part] for mode, part in points.items()}
        return break_evens(costs, {mode: [point.cost_uncached for point in part] for mode, part in points.items()})

    @property
    def others(self) -> list[str]:
        """The modes that are related to the baseline."""
        return [name for name in self.modes if name != self.baseline]

    def value(self, mode: str, measure: str) -> Fraction | None:
        """A mode's figure by its path in the JSON, one of `statistics.MEASURES`; None where it is unknown."""
        totals = self.modes[mode]
        if measure.startswith("cost_usd."):
            return self.session_cost(mode, cached=measure == "cost_usd.per_session")
        latency_ms = totals.latency_ms.mean
        return {
            "recall.in_context": totals.recall.value,
            "recall.modelled": totals.recall.modelled,
            "recall.answered": totals.answered.value,
            "tokens.mean": totals.prompt_tokens.mean,
            "latency_s.mean": None if latency_ms is None else latency_ms / 1000,
        }[measure]

    def interval(self, mode: str, measure: str) -> Interval | None:
        """A mode's figure with its 95 % interval; None without the figure, or with fewer than two conversations."""
        return self.replicates.interval(mode, measure, self.value(mode, measure))

    def difference(self, mode: str, measure: str) -> Interval | None:
        """A mode's figure less the baseline's, with its 95 % interval; None as for `interval`."""
        value, baseline = self.value(mode, measure), self.value(self.baseline, measure)
        if value is None or baseline is None:
            return None
        return self.replicates.difference(mode, self.baseline, measure, value - baseline)

    def normalised_recall(self, mode: str) -> Fraction | None:
        """Recall in context between the floor and the ceiling: (mode - zero) / (full - zero); None without both.

        The floor is the mode whose base is zero, the ceiling the one whose base is full.
        """
        zero, full = (mode_of_base(self.configs, base) for base in (ContextMode.ZERO, ContextMode.FULL))
        if zero is None or full is None:
            return None
        value, floor, ceiling = (self.modes[name].recall.value for name in (mode, zero, full))
        if value is None or floor is None or ceiling is None or ceiling == floor:
            return None
        return (value - floor) / (ceiling - floor)


def mode_of_base(configs: Mapping[str, ContextConfig], base: ContextMode) -> str | None:
    """The mode with this base: the one that goes by its name, else the first; None without any."""
    names = [name for name, config in configs.items() if config.mode == base]
    return base if base in names else next(iter(names), None)
