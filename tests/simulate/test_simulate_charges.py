"""What requests are charged and how long they take: worked out by hand on a conversation of six-token messages."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from assumptions import PROFILE, RULE, simulation
from dialogues import counter, dialogue

from ctxmode_cli.context.card_facts import CardReading, FactExtractor
from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import AuxiliaryCall
from ctxmode_cli.context.plan import SummaryError, SummaryRequest, SummaryResult
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_conversation, parse_message
from ctxmode_cli.conversation.requests import list_requests
from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.simulate.charges import Charge, Provider, Simulation, request_times
from ctxmode_cli.simulate.prices import Price, PriceTier
from ctxmode_cli.simulate.rates import Usage


class Told:
    """A summarizer whose summary is always the same, and whose prompt always has a hundred tokens."""

    def __init__(self, *, fails_after: int | None = None) -> None:
        self._fails_after = fails_after

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        del request
        if self._fails_after is not None:
            raise SummaryError("no", prompt_tokens=self._fails_after)
        return SummaryResult("yes", counter().text("yes"), 100)


def session(
    script: str,
    assumed: Simulation,
    summarizer: Told | None = None,
    extractors: Mapping[str, FactExtractor] = MappingProxyType({}),
    **settings: Any,
) -> SessionReplay:
    config = ContextConfig(**({"mode": "full"} | settings))
    record = {"id": "one", "messages": dialogue(script)}
    replay = Replay({"mode": config}, counter(), summarizer or Told(), assumed, extractors=extractors)
    return replay(parse_conversation(record, where="here", default_id="1"))


def charges(script: str, assumed: Simulation, summarizer: Told | None = None, **settings: Any) -> list[Charge | None]:
    return session(script, assumed, summarizer, **settings).modes["mode"].charges


def test_usage_and_latency_by_hand() -> None:
    """Prompts are 6 + 6 + 3 and 4 x 6 + 3 tokens, replies 2; of the second the first's 12 are read, the rest is written.

    The first takes 0.5 s + 15 x 0.001 s + one gap of 0.01 s, the second 0.5 s + (27 - 12) x 0.001 s + 0.01 s.
    """
    assert charges("s u a u a", simulation()) == [
        Charge(Usage(uncached=0, cached=0, written=15, completion=2), 0, 525),
        Charge(Usage(uncached=0, cached=12, written=15, completion=2), 0, 525),
    ]


def test_a_prompt_below_the_minimum_pays_the_input_price() -> None:
    """The minimum is that of the whole prompt, the opening of the reply included."""
    rule = replace(RULE, minimum=15)
    assumed = simulation(providers={"gpt-4o": Provider.of(None, rule)})
    assert [charge and charge.usage for charge in charges("s u a", assumed)] == [Usage(written=15, completion=2)]
    rule = replace(RULE, minimum=16)
    assumed = simulation(providers={"gpt-4o": Provider.of(None, rule)})
    assert [charge and charge.usage for charge in charges("s u a", assumed)] == [Usage(uncached=15, completion=2)]


def test_an_open_request_has_input_and_no_time() -> None:
    """Nobody knows how long a reply would have been."""
    assert charges("u a u", simulation())[-1] == Charge(Usage(cached=0, uncached=0, written=21), 0, None)


def test_an_unsendable_request_has_no_charge() -> None:
    """What is not sent costs nothing and takes no time."""
    assert charges("u a", simulation(), mode="zero", max_tokens=5) == [None]


def test_a_request_is_charged_at_the_tier_of_its_own_size() -> None:
    """The tier goes by all prompt tokens, cached ones too; at exactly the limit the lower one holds."""
    tiers = (PriceTier(0, Decimal(1), Decimal(1)), PriceTier(21, Decimal(2), Decimal(2)))
    provider = Provider.of(Price("any", "", tiers, "", ""), RULE)
    assumed = simulation(providers={"gpt-4o": provider})
    got = charges("u a u a u a", assumed)
    assert [(charge.usage.prompt, charge.tier) for charge in got if charge] == [(9, 0), (21, 0), (33, 1)]


SUMMARISED: dict[str, Any] = {"mode": "summary", "summary_threshold": 0, "summary_every": 0}


def test_a_summary_call_is_charged_apart() -> None:
    """At its own model, from no cache and into none; in the background it does not make its request wait."""
    first, second = charges("u a u a", simulation(), **SUMMARISED)
    assert first
    assert first.calls == ()
    assert second
    assert second.calls == (Charge(Usage(uncached=100, completion=1), 0, 600),)
    note = counter().generated("system", 1)
    assert second.usage.prompt == note + 6 + 3
    assert second.latency_ms == round(1000 * (0.5 + 0.001 * second.usage.prompt + 0.01))


def test_a_blocking_summary_call_makes_its_request_wait() -> None:
    """Its own time is added to the request's."""
    background, blocking = (
        charges("u a u a", simulation(), summary_call=call, **SUMMARISED)[1] for call in ("background", "blocking")
    )
    assert background
    assert blocking
    assert blocking == background._replace(latency_ms=(background.latency_ms or 0) + 600)


def test_a_card_call_is_charged_apart_and_waited_for_by_nobody() -> None:
    """What it reads was said a turn before; a blocking summary beside it is waited for, and it is not."""

    def reads(message: Message, position: int) -> CardReading:
        del message
        return CardReading((), AuxiliaryCall("card", "gpt-4o-mini", 200, 5, message=position))

    def charged(**more: Any) -> Charge:
        extractors = {"gpt-4o-mini": reads}
        charge = charges("u a u a", simulation(), extractors=extractors, fact_card=True, **SUMMARISED, **more)[1]
        assert charge
        return charge

    background, blocking = charged(), charged(summary_call="blocking")
    card = Charge(Usage(uncached=200, completion=5), 0, 740)
    assert background.calls == (card, card, Charge(Usage(uncached=100, completion=1), 0, 600))
    assert blocking == background._replace(latency_ms=(background.latency_ms or 0) + 600)


def test_a_failed_call_is_charged_what_it_sent() -> None:
    """A call that failed before anything was sent costs nothing and takes no time."""
    sent, unsent = (charges("u a u a", simulation(), Told(fails_after=tokens), **SUMMARISED)[1] for tokens in (50, 0))
    assert sent
    assert unsent
    assert sent.calls == (Charge(Usage(uncached=50), 0, 550),)
    assert unsent.calls == (Charge(Usage(), 0, 0),)


def test_noise_is_the_same_for_every_mode() -> None:
    """Modes are compared under the same noise, so that what differs is what they send."""
    noisy = simulation(profile=replace(PROFILE, noise_sigma=0.5, per_token_s=0.0))
    one = [charge and charge.latency_ms for charge in charges("u a u a u a", noisy, mode="zero")]
    assert one == [charge and charge.latency_ms for charge in charges("u a u a u a", noisy, mode="full")]
    assert len(set(one)) == len(one)
    other = [charge and charge.latency_ms for charge in charges("u a u a u a", replace(noisy, seed=1), mode="full")]
    assert one != other


def timed(*times: str | None) -> list[Message]:
    messages = dialogue("u a u a u a")
    for message, time in zip(messages, times, strict=True):
        if time is not None:
            message["ts"] = time
    return [parse_message(message) for message in messages]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (("1970-01-01T00:00:00Z", None, "1970-01-01T00:01:00+00:00", None, "1970-01-01 00:02:00", None), [0, 60, 120]),
        ((None, "1970-01-01T00:00:05Z", None, "1970-01-01T00:01:00Z", None, None), [5, 5, 60]),
        (("1970-01-01T00:01:00Z", None, "1970-01-01T00:00:00Z", None, None, None), [60, 60, 60]),
        (("1970-01-01T08:00:00+08:00", *(None,) * 5), [0, 0, 0]),
    ],
    ids=["each", "replies only", "never falling", "zones"],
)
def test_times_of_requests(times: tuple[str | None, ...], expected: list[int]) -> None:
    """The newest time before the request; before the first, the first; one without a zone is UTC."""
    messages = timed(*times)
    assert request_times(messages, list_requests(messages), [0, 1, 2], 7.0) == (expected, "recorded")


def test_without_times_turns_are_as_far_apart_as_said() -> None:
    """Requests of one turn are made at the same moment; where nothing is said, the cache is always warm."""
    messages = timed(*(None,) * 6)
    requests = list_requests(messages)
    assert request_times(messages, requests, [0, 0, 1], 7.5) == ([0.0, 0.0, 7.5], "think_time")
    assert request_times(messages, requests, [0, 0, 1], None) == ([0.0, 0.0, 0.0], "none")


def test_what_is_too_old_is_not_read() -> None:
    """With a gap between turns as long as the entry's life it is read, with a longer one it is not."""
    assumed = simulation(providers={"gpt-4o": Provider.of(None, replace(RULE, lifetime_s=60.0))}, think_time_s=60.0)
    assert [charge.usage.cached for charge in charges("s u a u a", assumed) if charge] == [0, 12]
    slower = replace(assumed, think_time_s=60.5)
    assert [charge.usage.cached for charge in charges("s u a u a", slower) if charge] == [0, 0]


def test_a_shared_scope_reads_the_system_message_at_once() -> None:
    """The first request of a session finds what all sessions share."""
    rule = replace(RULE, minimum=6)
    assumed = simulation(providers={"gpt-4o": Provider.of(None, rule)}, warm_system=True)
    assert [charge.usage.cached for charge in charges("s u a u a", assumed) if charge] == [6, 12]
