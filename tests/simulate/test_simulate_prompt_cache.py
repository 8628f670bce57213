"""What is read from the prompt cache: worked out by hand, and compared with the definition taken word by word."""

from dataclasses import replace
from decimal import Decimal

import pytest
from dialogues import (
    Digest,
    counter,
    dialogue,
    history_of,
    messages_of,
    mode_settings,
    record_messages,
    tool_schemas,
    unhurried,
)
from hypothesis import given
from hypothesis import strategies as st
from slow_cache import SlowCache

from ctxmode_cli.context.config import ContextMode
from ctxmode_cli.context.context import Context, Piece
from ctxmode_cli.context.history import History, Note, Recorded
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.steps.budget import OverBudgetError
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.conversation.requests import list_requests
from ctxmode_cli.simulate.cache_rules import CacheRule
from ctxmode_cli.simulate.charges import Provider
from ctxmode_cli.simulate.prices import Price, PriceTier
from ctxmode_cli.simulate.prompt_cache import PromptCache

EVERYTHING = CacheRule("everything", minimum=0)
BREAKPOINT = replace(EVERYTHING, match="breakpoint")
# A message of dialogue() such as "u0" has 3 tokens of framing, 1 of its role and 2 of its text.
EACH = 6


def ranges(*spans: tuple[int, int]) -> list[Piece]:
    return [Recorded("history", start, stop, 0) for start, stop in spans]


def note(text: str, role: str = "system") -> Note:
    return Note("summary", role, text, counter().generated(role, counter().text(text)))


def reads(history: History, *requests: list[Piece], rule: CacheRule = EVERYTHING, warm: bool = False) -> list[int]:
    cache = PromptCache(rule, history, warm_system=warm)
    return [cache.read(pieces) for pieces in requests]


def test_messages_have_six_tokens() -> None:
    """The unit of the figures below."""
    assert history_of(messages_of("s u a")).tokens_before == [0, EACH, 2 * EACH, 3 * EACH]


def test_a_growing_history_reads_the_request_before() -> None:
    """The first request is cold; each later one reads all of the last, not the reply that came since."""
    history = history_of(messages_of("s u a u a u"))
    assert reads(history, ranges((0, 2)), ranges((0, 4)), ranges((0, 6))) == [0, 2 * EACH, 4 * EACH]


@pytest.mark.parametrize("rule", [EVERYTHING, BREAKPOINT], ids=lambda rule: rule.match)
def test_a_rule_may_have_the_reply_in_the_cache(rule: CacheRule) -> None:
    """Then a later request reads the reply too, whose end is a breakpoint."""
    history = history_of(messages_of("s u a u a u a"))
    cache = PromptCache(replace(rule, reply_cached=True), history)
    got = [cache.read(ranges((0, stop)), reply_stop=stop + 1) for stop in (2, 4, 6)]
    assert got == [0, 3 * EACH, 5 * EACH]


def test_a_reply_is_cached_behind_its_own_request() -> None:
    """A question that was asked before is followed by both answers, each where it was given."""
    history = history_of(messages_of("s u a u a u a u", u1="hi", u3="hi"))
    cache = PromptCache(replace(EVERYTHING, reply_cached=True), history)
    asked = [ranges((0, 2)), ranges((0, 1), (3, 4)), ranges((0, 1), (3, 6)), ranges((0, 3), (5, 6))]
    got = [cache.read(pieces, reply_stop=pieces[-1].stop + 1) for pieces in asked]
    hi = history.range_tokens(1, 2)
    assert got == [0, EACH + hi, 2 * EACH + hi, 2 * EACH + hi]


def test_a_window_that_slides_leaves_the_system_message() -> None:
    """Where the history starts at another message, only what stands before it is shared."""
    history = history_of(messages_of("s u a u a u"))
    assert reads(history, ranges((0, 1), (1, 4)), ranges((0, 1), (3, 6))) == [0, EACH]


def test_equal_messages_are_the_same_wherever_they_stood() -> None:
    """A window that starts at a message equal to the one before it goes on as far as both say the same."""
    history = history_of(messages_of("u a u a u", u0="hi", u2="hi", a1="yes", a3="yes", u4="bye"))
    assert reads(history, ranges((0, 3)), ranges((2, 5))) == [0, history.range_tokens(2, 4)]


def test_an_earlier_request_may_share_more_than_the_last() -> None:
    """A request in between that went another way takes nothing away."""
    history = history_of(messages_of("s u a u a u"))
    requests = (ranges((0, 4)), ranges((0, 1), (3, 4)), ranges((0, 6)))
    assert reads(history, *requests) == [0, EACH, 4 * EACH]


def test_a_note_that_grows_keeps_its_head() -> None:
    """Of a changed note the common beginning of the text counts; what follows it does not, nor does its framing."""
    history = history_of(messages_of("s u a u"))
    before, after = note("Facts:\n- name is Li\n"), note("Facts:\n- name is Li\n- city is York\n")
    head = counter().text("Facts:\n- name is Li\n")
    first, second = [*ranges((0, 1)), before, *ranges((1, 2))], [*ranges((0, 1)), after, *ranges((1, 4))]
    assert reads(history, first, second) == [0, EACH + head]
    assert reads(history, first, second, rule=BREAKPOINT) == [0, EACH]


def test_notes_of_another_role_share_nothing() -> None:
    """Their framing differs from the first token on."""
    history = history_of(messages_of("s u"))
    first, second = ([*ranges((0, 1)), note("same", role), *ranges((1, 2))] for role in ("system", "assistant"))
    assert reads(history, first, second) == [0, EACH]


def test_the_same_note_is_read_whole() -> None:
    """A note that has not changed is a message like any other."""
    history = history_of(messages_of("s u a u"))
    same = note("Facts")
    first, second = [*ranges((0, 1)), same, *ranges((1, 2))], [*ranges((0, 1)), same, *ranges((1, 4))]
    assert reads(history, first, second) == [0, 2 * EACH + same.tokens]


def test_a_breakpoint_lies_where_a_request_or_its_system_messages_end() -> None:
    """Nothing in between is read, however much is in common."""
    history = history_of(messages_of("s u a u a u"))
    requests = (ranges((0, 4)), ranges((0, 2), (5, 6)), ranges((0, 6)))
    assert reads(history, *requests, rule=BREAKPOINT) == [0, EACH, 4 * EACH]
    assert reads(history, *requests) == [0, 2 * EACH, 4 * EACH]


def test_the_last_breakpoint_counts() -> None:
    """Where several requests ended on the way, the longest of them is read."""
    history = history_of(messages_of("s u a u a u"))
    requests = (ranges((0, 2)), ranges((0, 4)), ranges((0, 4), (5, 6)))
    assert reads(history, *requests, rule=BREAKPOINT) == [0, 2 * EACH, 4 * EACH]


def test_a_note_ends_at_a_breakpoint_only_where_a_request_did() -> None:
    """The same summary with other messages behind it is read where something was sent that ended with it."""
    history = history_of(messages_of("s u a u a u"))
    same = note("Facts")
    head = [*ranges((0, 1)), same]
    first, second = [*head, *ranges((1, 2))], [*head, *ranges((3, 4))]
    assert reads(history, first, second, rule=BREAKPOINT) == [0, EACH]
    assert reads(history, head, first, second, rule=BREAKPOINT) == [0, EACH + same.tokens, EACH + same.tokens]


def test_hits_come_in_units_above_a_minimum() -> None:
    """A hit is rounded down to the unit, and one below the minimum is none."""
    rule = CacheRule("blocks", minimum=20, unit=5)
    history = history_of(messages_of("s u a u a u"))
    assert reads(history, ranges((0, 2)), ranges((0, 4)), ranges((0, 6)), rule=rule) == [0, 0, 20]
    assert [rule.hit(common) for common in (19, 20, 24, 25)] == [0, 20, 20, 25]


def test_a_shared_scope_is_warm_from_the_first_request() -> None:
    """Tool schemas and leading system messages are read at once, and never expire; the rest is the session's own."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    history = history_of(messages_of("s s u a u"), tools=tools)
    cache = PromptCache(replace(EVERYTHING, lifetime_s=10.0), history, warm_system=True)
    head = counter().tools(tools) + 2 * EACH
    assert head > 2 * EACH
    assert [cache.read(ranges((0, 3)), 0.0), cache.read(ranges((0, 5)), 5.0), cache.read(ranges((0, 5)), 99.0)] == [
        head,
        head + EACH,
        head,
    ]


@pytest.mark.parametrize(("gaps", "expected"), [((10, 10), (2, 4)), ((11, 10), (0, 4)), ((10, 11), (2, 0))])
def test_an_entry_lives_from_its_last_use(gaps: tuple[int, int], expected: tuple[int, int]) -> None:
    """Each use renews it; one moment after its lifetime it is gone."""
    history = history_of(messages_of("s u a u a u"))
    cache = PromptCache(replace(EVERYTHING, lifetime_s=10.0), history)
    times = [0, gaps[0], sum(gaps)]
    got = [cache.read(ranges((0, stop)), now) for stop, now in zip((2, 4, 6), times, strict=True)]
    assert got == [0, *(count * EACH for count in expected)]


def test_what_is_used_again_lives_longer_than_what_is_not() -> None:
    """A shorter request renews only what it sends; what is left of a longer one lives on as it was."""
    history = history_of(messages_of("s u a u a u"))
    cache = PromptCache(replace(EVERYTHING, lifetime_s=10.0), history)
    cache.read(ranges((0, 4)), 20)
    assert cache.read(ranges((0, 2)), 28) == 2 * EACH
    assert cache.read(ranges((0, 4)), 30) == 4 * EACH
    assert cache.read(ranges((0, 2)), 38) == 2 * EACH
    assert cache.read(ranges((0, 6)), 45) == 2 * EACH


def test_a_use_renews_all_that_it_goes_along() -> None:
    """Also what another request has parted since."""
    history = history_of(messages_of("s u a u a u"))
    cache = PromptCache(replace(EVERYTHING, lifetime_s=10.0), history)
    long, parting = ranges((0, 4), (5, 6)), ranges((0, 2), (3, 4))
    got = [cache.read(pieces, now) for pieces, now in ((ranges((0, 4)), 0), (long, 0), (parting, 1), (long, 8))]
    assert got == [0, 4 * EACH, 2 * EACH, 5 * EACH]
    assert cache.read(ranges((0, 4)), 16) == 4 * EACH


@st.composite
def replays(draw: st.DrawFn) -> tuple[History, list[Context]]:
    """What one mode sends of a conversation of any shape."""
    messages = [parse_message(message) for message in draw(record_messages)]
    mode = draw(st.sampled_from(list(ContextMode)))
    history = History(counter(), tools=draw(tool_schemas))
    manager = ContextManager(draw(mode_settings(mode)), summarizer=Digest(draw(st.integers(0, 3))), history=history)
    contexts = []
    for request in list_requests(messages):
        for message in messages[len(history) : request.position]:
            history.append(message)
        try:
            contexts.append(manager.build_context())
        except OverBudgetError:
            continue
    for message in messages[len(history) :]:
        history.append(message)
    return history, contexts


rules = st.builds(
    CacheRule,
    name=st.just("drawn"),
    minimum=st.sampled_from([0, 0, 30]),
    unit=st.sampled_from([1, 1, 16]),
    lifetime_s=st.sampled_from([None, 5.0]),
    match=st.sampled_from(["prefix", "breakpoint"]),
    reply_cached=st.booleans(),
)


@unhurried
@given(replays(), rules, st.lists(st.integers(0, 7), min_size=40, max_size=40))
def test_the_tree_agrees_with_the_definition(
    replay: tuple[History, list[Context]], rule: CacheRule, gaps: list[int]
) -> None:
    """Whatever modes send, as much is read as a list of every prefix ever sent gives; and never more than is sent."""
    history, contexts = replay
    fast, slow, now = PromptCache(rule, history), SlowCache(rule, history), 0.0
    reply_stops = {request.position: request.reply_stop for request in list_requests(history.messages)}
    for context, gap in zip(contexts, gaps, strict=False):
        now += gap
        current_input = context.pieces[-1]
        assert isinstance(current_input, Recorded)
        reply_stop = reply_stops[current_input.stop]
        read = fast.read(context.pieces, now, reply_stop)
        assert read == slow.read(context.pieces, now, reply_stop)
        assert 0 <= read <= context.prompt_tokens - 3


@unhurried
@given(replays(), rules)
def test_a_message_more_at_the_end_never_lowers_the_hit(replay: tuple[History, list[Context]], rule: CacheRule) -> None:
    """What a request shares with earlier ones, it shares with one message more at its end, too."""
    history, contexts = replay
    if not contexts:
        return
    *before, last = contexts
    shorter = [*last.pieces[:-1]]
    one, other = PromptCache(rule, history), PromptCache(rule, history)
    for context in before:
        one.read(context.pieces)
        other.read(context.pieces)
    if shorter:
        assert one.read(shorter) <= other.read(last.pieces)


@unhurried
@given(replays(), rules, st.integers(0, 100), st.integers(0, 50))
def test_a_cache_that_is_free_to_write_never_costs_more(
    replay: tuple[History, list[Context]], rule: CacheRule, read: int, completion: int
) -> None:
    """Where writing costs no more than input and reading no more either, a cache can only save."""
    history, contexts = replay
    price = Price("any", "", (PriceTier(0, Decimal(3), Decimal(15)), PriceTier(200, Decimal(6), Decimal(20))), "", "")
    provider = Provider.of(price, replace(rule, read=Decimal(read) / 100, write=Decimal(1)))
    cache = PromptCache(rule, history)
    assert provider.rates
    for context in contexts:
        cached = cache.read(context.pieces)
        charge = provider.charge(context.prompt_tokens, cached, completion, None)
        cost = provider.rates.cost(charge.usage, charge.tier)
        assert cost <= provider.rates.cost_uncached(charge.usage, charge.tier)


@unhurried
@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=20))
def test_common_tokens_of_two_texts(head: str, one: str, other: str) -> None:
    """They are those of both texts encoded whole, though less is encoded."""
    texts = [head + "\n" + one + "\nmore of it", head + "\n" + other]
    encoded = [counter()._encode(text) for text in texts]
    pairs = zip(*encoded, strict=False)
    expected = next((n for n, (a, b) in enumerate(pairs) if a != b), min(map(len, encoded)))
    assert counter().common_prefix(*texts) == expected


def test_a_changed_system_prompt_leaves_the_tools_and_its_own_head() -> None:
    """Another session with the same tools shares no more with this one."""
    text = "You help.\nToday is Monday.\n"
    changed = "You help.\nToday is Friday.\n"
    history = history_of([parse_message(message) for message in dialogue("u a u")])
    first, second = [note(text), *ranges((0, 1))], [note(changed), *ranges((0, 3))]
    assert reads(history, first, second)[1] == counter().text("You help.\nToday is")
