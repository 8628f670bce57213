"""What one mode's requests in one session are charged, and how long each takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from ctxmode_cli.context.context import AuxiliaryCall, Context
from ctxmode_cli.context.history import History
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.requests import Request
from ctxmode_cli.simulate.cache_rules import CacheRule
from ctxmode_cli.simulate.latency import LatencyProfile, noise_factors
from ctxmode_cli.simulate.prices import Price
from ctxmode_cli.simulate.prompt_cache import PromptCache, WireForms
from ctxmode_cli.simulate.rates import Rates, Usage


class Charge(NamedTuple):
    """What one call takes."""

    usage: Usage
    tier: int
    """Of its model's rates; 0 where they are unknown."""
    latency_ms: int | None
    """Simulated; None for an open request. A request's includes a summary call that blocks it."""
    calls: "tuple[Charge, ...]" = ()
    """Those of the calls that were made for the request."""


@dataclass(frozen=True, slots=True)
class Provider:
    """What one model's calls are charged by."""

    price: Price | None
    """None where no price is known."""
    rule: CacheRule
    rates: Rates | None
    """What the two come to."""

    @classmethod
    def of(cls, price: Price | None, rule: CacheRule) -> Self:
        """A provider of these."""
        return cls(price, rule, None if price is None else price.rates(rule))

    def charge(
        self,
        prompt: int,
        cached: int,
        completion: int,
        latency_ms: int | None,
        calls: "tuple[Charge, ...]" = (),
        *,
        writes: bool = True,
    ) -> Charge:
        """The charge of one call.

        Args:
            prompt: Its prompt tokens.
            cached: Those of them that are read from the cache.
            completion: Tokens of its reply.
            latency_ms: How long it takes.
            calls: The charges of the calls that were made for it.
            writes: Whether what is not read is written to the cache, where the prompt is long enough.
        """
        usage = Usage.of_call(prompt, cached, completion, writes=writes and self.rule.writes(prompt))
        tier = 0 if self.rates is None else self.rates.tier(prompt)
        return Charge(usage, tier, latency_ms, calls)


@dataclass(frozen=True, slots=True)
class Simulation:
    """What is assumed of the provider and the service: the same for every mode."""

    model: str
    """Of the sessions' requests."""
    providers: Mapping[str, Provider]
    """By model: the sessions' own and those that the modes call beside it."""
    profile: LatencyProfile
    seed: int = 0
    """Of the latency's noise."""
    warm_system: bool = False
    """Whether tool schemas and leading system messages are in the cache when a session starts."""
    think_time_s: float | None = None
    """Seconds between turns of a session that has no times; None: its cache is always warm."""

    def session(
        self,
        conversation: Conversation,
        history: History,
        requests: Sequence[Request],
        turns: Sequence[int],
        completion_tokens: Sequence[int | None],
    ) -> "SessionCharges":
        """What the modes share on one conversation.

        Args:
            conversation: Its messages have the times.
            history: All of its messages, counted.
            requests: Its requests.
            turns: Number of each request's turn.
            completion_tokens: Of each request's recorded reply; None for an open request.
        """
        times, kind = request_times(conversation.messages, requests, turns, self.think_time_s)
        noise = noise_factors(self.profile, self.seed, conversation.id, len(requests))
        replies = [
            _Reply(now, request.reply_stop, tokens, factor)
            for now, request, tokens, factor in zip(times, requests, completion_tokens, noise, strict=True)
        ]
        return SessionCharges(self, history, replies, kind, WireForms(history))


class _Reply(NamedTuple):
    """What the modes share on one request."""

    now: float
    """Seconds."""
    stop: int
    """One past its last message."""
    completion_tokens: int | None
    noise: float


@dataclass(frozen=True, slots=True)
class SessionCharges:
    """Charges one session's requests, mode by mode."""

    simulation: Simulation
    history: History
    replies: Sequence[_Reply]
    clock: str
    """Where the times come from: `recorded`, `think_time`, or `none` for a cache that is always warm."""
    forms: WireForms

    def charge(self, contexts: Sequence[Context | None], *, blocking: bool) -> list[Charge | None]:
        """The charge of each of a mode's requests; None for an unsendable one.

        Args:
            contexts: One for each request.
            blocking: Whether a request waits for the summary call that is made for it.
        """
        simulation = self.simulation
        provider, profile = simulation.providers[simulation.model], simulation.profile
        cache = PromptCache(provider.rule, self.history, forms=self.forms, warm_system=simulation.warm_system)
        charges: list[Charge | None] = []
        for context, reply in zip(contexts, self.replies, strict=True):
            if context is None:
                charges.append(None)
                continue
            calls = tuple([self._call(call, cache, reply) for call in context.calls])
            prompt, completion = context.prompt_tokens, reply.completion_tokens
            # A prompt too short to be written can neither read anything nor be read.
            cached = cache.read(context.pieces, reply.now, reply.stop) if provider.rule.writes(prompt) else 0
            latency = None
            if completion is not None:
                latency = round(1000 * profile.seconds(prompt, cached, completion) * reply.noise)
                if blocking:
                    latency += _waited(context.calls, calls)
            charges.append(provider.charge(prompt, cached, completion or 0, latency, calls))
        return charges

    def _call(self, call: AuxiliaryCall, cache: PromptCache, reply: _Reply) -> Charge:
        """A call beside the request: behind the session's own prefix it reads that from the cache, else nothing.

        A call that stands alone is not written to the cache either, since none follows that could read it.
        """
        prompt, completion = call.prompt_tokens, call.completion_tokens
        if not prompt:  # it failed before anything was sent
            return Charge(Usage(), 0, 0)
        provider = self.simulation.providers[call.model]
        is_cached = call.prefix is not None and provider.rule.writes(prompt)
        cached = cache.read(call.prefix or (), reply.now) if is_cached else 0
        latency = round(1000 * self.simulation.profile.seconds(prompt, cached, completion) * reply.noise)
        return provider.charge(prompt, cached, completion, latency, writes=is_cached)


def _waited(calls: Sequence[AuxiliaryCall], charges: Sequence[Charge]) -> int:
    """Milliseconds that a request waits for its summary; what is read for the card was said a turn before."""
    return sum(charge.latency_ms or 0 for call, charge in zip(calls, charges, strict=True) if call.purpose == "summary")


def request_times(
    messages: Sequence[Message], requests: Sequence[Request], turns: Sequence[int], think_time_s: float | None
) -> tuple[list[float], str]:
    """When each request was made, in seconds, never falling, and where that comes from (`SessionCharges.clock`).

    It is the time of the newest message before the request that has one; before the first of these, the first's.
    """
    recorded = [(position, message.time) for position, message in enumerate(messages) if "ts" in message.recorded]
    known = [(position, time) for position, time in recorded if time is not None]
    if not known:
        if think_time_s is None:
            return [0.0] * len(requests), "none"
        return [turn * think_time_s for turn in turns], "think_time"
    times = []
    index, now = 0, known[0][1]
    for request in requests:
        while index < len(known) and known[index][0] < request.position:
            now = max(now, known[index][1])
            index += 1
        times.append(now)
    return times, "recorded"
