"""Calls that are counted in the place of being made, with figures worked out by hand."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from assumptions import PRICE, RULE

from ctxmode_cli.context.card_facts import extract_card_facts
from ctxmode_cli.context.plan import SummaryError, SummaryRequest, SummaryResult
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.llm import Completion, ResponseCache, chat_request, request_key
from ctxmode_cli.replay.dry_run import Caller, CountingModel, DryRun, StandInFactExtractor, StandInSummarizer
from ctxmode_cli.simulate.charges import Provider
from ctxmode_cli.summarize.openai_facts import ANSWER_TOKENS, listing
from ctxmode_cli.summarize.wording import wording
from ctxmode_cli.tokens.counter import TokenCounter

URL = "http://127.0.0.1:9/v1/"
COUNTER = TokenCounter.for_model("gpt-4o")
PRICED = Provider.of(PRICE, RULE)
UNPRICED = Provider.of(None, RULE)
HELLO = [{"role": "user", "content": "Hello"}]
HELLO_TOKENS = 3 + 1 + 1 + 3
"""Framing, role, one word, and the opening of the reply."""


def dry_run(kept: ResponseCache | None = None, **providers: Provider) -> DryRun:
    return DryRun(URL, kept, {"gpt-4o": PRICED} | providers, COUNTER)


def model(run: DryRun, mode: str = "full", name: str = "gpt-4o", *, exact: bool = True) -> CountingModel:
    caller = Caller(mode, "facts", name)
    if caller not in run.callers:
        run.enter(caller, exact=exact)
    return CountingModel(run, caller, lambda _key: "stand-in")


def test_a_call_is_counted_and_its_answer_stood_in_for() -> None:
    """Prompt as it would be sent, output as long as it may be: 8 and 9 tokens at 3 and 15 USD a million."""
    run = dry_run()
    assert model(run).complete(HELLO, max_tokens=9) == Completion("stand-in", None, None, "stop", cached=False)
    [totals] = run.callers.values()
    assert (totals.count, totals.kept) == (1, 0)
    assert (totals.bill.total.prompt, totals.bill.total.completion) == (HELLO_TOKENS, 9)
    assert run.total() == (totals, Decimal("0.000159"))


def test_tools_count() -> None:
    """By the same rule as in the sessions' own requests."""
    run = dry_run()
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    model(run).complete(HELLO, max_tokens=9, tools=[tool])
    assert run.total()[0].bill.total.prompt == HELLO_TOKENS + COUNTER.tools([tool])


def test_equal_requests_are_one_call() -> None:
    """In whatever mode; another limit, another form or another model makes it another request."""
    run = dry_run(other=PRICED)
    for mode in ("full", "zero"):
        model(run, mode).complete(HELLO, max_tokens=9)
    assert [totals.count for totals in run.callers.values()] == [1, 0]
    model(run, "zero").complete(HELLO, max_tokens=8)
    model(run, "zero").complete(HELLO, max_tokens=9, response_format={"type": "json_object"})
    model(run, "zero", "other").complete(HELLO, max_tokens=9)
    assert [totals.count for totals in run.callers.values()] == [1, 2, 1]
    assert {name: totals.count for name, totals in run.by_model().items()} == {"gpt-4o": 3, "other": 1}


def test_what_is_kept_is_not_asked(tmp_path: Path) -> None:
    """Its own answer is had, once more and free; the cache is only read."""
    cache = ResponseCache(tmp_path)
    answer = Completion("kept", 8, 1, "stop", cached=True)
    cache.set(request_key(URL, chat_request("gpt-4o", HELLO, 9)), answer)
    run = dry_run(cache)
    for _ in range(2):
        assert model(run).complete(HELLO, max_tokens=9) == answer
    assert model(run).complete(HELLO, max_tokens=8).text == "stand-in"
    [totals] = run.callers.values()
    assert (totals.count, totals.kept) == (1, 1)
    assert len(list(tmp_path.iterdir())) == 1


def test_unknown_price_is_not_0() -> None:
    """It is unknown, and with it the sum; where nothing would be sent to that model, nothing is unknown."""
    run = dry_run(tiny=UNPRICED)
    model(run).complete(HELLO, max_tokens=9)
    entered = model(run, name="tiny")
    assert (run.unpriced(), run.total()[1]) == ([], Decimal("0.000159"))
    entered.complete(HELLO, max_tokens=9)
    assert (run.unpriced(), run.total()[1]) == (["tiny"], None)
    assert run.cost("gpt-4o", run.by_model()["gpt-4o"]) == Decimal("0.000159")


def test_whose_tokens_are_counted() -> None:
    """The model's own, by its own encoding; the sessions' where no encoding of it is known."""
    run = dry_run(tiny=UNPRICED, **{"gpt-4": PRICED})
    word = "你好吗"
    for name in ("gpt-4o", "gpt-4", "tiny"):
        model(run, name=name).complete([{"role": "user", "content": word}], max_tokens=9)
    old = TokenCounter.for_model("gpt-4")
    assert old.text(word) != COUNTER.text(word)
    expected = {"gpt-4o": COUNTER, "gpt-4": old, "tiny": COUNTER}
    counts = {name: totals.bill.total.prompt for name, totals in run.by_model().items()}
    assert counts == {name: HELLO_TOKENS - 1 + counter.text(word) for name, counter in expected.items()}


@pytest.mark.parametrize("exact", [True, False])
def test_estimates_are_estimates_in_sums(exact: bool) -> None:
    """One inexact caller makes the sum an estimate, once it calls."""
    run = dry_run()
    model(run).complete(HELLO, max_tokens=9)
    inexact = model(run, "summary", exact=exact)
    assert not run.total()[0].is_estimate
    inexact.complete(HELLO, max_tokens=8)
    assert run.total()[0].is_estimate is not exact


TALK = [parse_message(HELLO[0]), parse_message({"role": "assistant", "content": "Hi."})]


def asked(**changed: Any) -> SummaryRequest:
    fields = {"previous": None, "messages": TALK, "messages_tokens": 11, "target_tokens": 50, "counter": COUNTER}
    return SummaryRequest(**fields | changed)


def offline(text: str) -> Any:
    return lambda _request: SummaryResult(text, COUNTER.text(text), 1)


def test_the_offline_summary_stands_in_for_the_live_one() -> None:
    """The call is the live summarizer's; the text goes into later calls as a model's would."""
    run = dry_run()
    caller = run.enter(Caller("summary", "summaries", "gpt-4o"), exact=False)
    text = f"{wording('en').title}## Decided\n- Hi.\n"
    summarizer = StandInSummarizer(run, caller, offline(text), COUNTER)
    result = summarizer(asked())
    assert (result.text, result.text_tokens) == (text, COUNTER.text(text))
    totals = run.callers[caller]
    room = 50 - COUNTER.text(wording("en").title)
    assert (totals.count, totals.bill.total.prompt, totals.bill.total.completion) == (1, result.prompt_tokens, room)
    assert summarizer(asked(previous=text)).prompt_tokens > result.prompt_tokens


def test_a_summary_that_nobody_would_be_asked_for() -> None:
    """A target that holds no more than the title fails as it would in a run, without a call."""
    run = dry_run()
    caller = run.enter(Caller("summary", "summaries", "gpt-4o"), exact=False)
    with pytest.raises(SummaryError):
        StandInSummarizer(run, caller, offline("x"), COUNTER)(asked(target_tokens=3))
    assert run.callers[caller].count == 0


SAID = parse_message({"role": "user", "content": "Ship order SO-10023 to 1 Elm St, not on Monday."})


def reader(run: DryRun) -> StandInFactExtractor:
    return StandInFactExtractor(run, run.enter(Caller("full", "cards", "gpt-4o"), exact=True))


def test_what_the_rules_find_stands_in_for_what_a_model_reads() -> None:
    """The call is the live reader's, one for a message of the user's; the card is as full as the rules make it."""
    run = dry_run()
    read = reader(run)
    reading = read(SAID, 0)
    assert reading.facts == extract_card_facts(SAID, 0).facts
    assert [(fact.value, fact.negative) for fact in reading.facts] == [
        ("SO-10023", False),
        ("1 Elm St", False),
        ("Monday", True),
    ]
    assert reading.call is not None
    [totals] = run.callers.values()
    bill = totals.bill.total
    assert (totals.count, bill.prompt, bill.completion) == (1, reading.call.prompt_tokens, ANSWER_TOKENS)
    read(SAID, 2)  # said again: one request
    read(parse_message({"role": "assistant", "content": "Booking number QWE123."}), 1)
    assert (totals.count, totals.is_estimate) == (1, False)


def test_facts_that_are_kept_are_read_from_there(tmp_path: Path) -> None:
    """A model's own answer stands before the rules', and is not asked for again."""

    class Remembered(ResponseCache):
        def get(self, key: str) -> Completion | None:
            assert "SO-10023" in key
            return Completion(listing(facts), 8, 1, "stop", cached=True)

    facts = extract_card_facts(SAID, 0).facts[:1]
    run = dry_run(Remembered(tmp_path))
    assert reader(run)(SAID, 0).facts == facts
    [totals] = run.callers.values()
    assert (totals.count, totals.kept) == (0, 1)
