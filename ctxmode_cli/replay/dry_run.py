"""What a live run would send: its calls counted in the place of being made, without a key and without a network."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any, NamedTuple, Self

from ctxmode_cli.context.card_facts import CardReading, extract_card_facts
from ctxmode_cli.context.plan import Summarizer, SummaryRequest, SummaryResult
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.llm import Completion, ResponseCache, chat_request, request_key
from ctxmode_cli.simulate.charges import Provider
from ctxmode_cli.simulate.rates import Bill, Usage
from ctxmode_cli.summarize.openai import OpenAiSummarizer
from ctxmode_cli.summarize.openai_facts import OpenAiFactExtractor, listing
from ctxmode_cli.tokens.counter import TokenCounter
from ctxmode_cli.tokens.models import find_model


class Caller(NamedTuple):
    """Who calls which model, and what for."""

    mode: str
    purpose: str
    """In the plural: summaries, cards, facts, judgements."""
    model: str


@dataclass
class CallTotals:
    """The calls of one caller."""

    exact: bool
    """Whether nothing in the prompts stands in for answers that are not known yet."""
    count: int = 0
    """Calls that would be made."""
    kept: int = 0
    """Calls that would not be, since the response cache has their answers."""
    bill: Bill = field(default_factory=Bill)
    """Of those that would be made: their prompts, and the most that their answers may hold."""

    @property
    def is_estimate(self) -> bool:
        """Whether another number of calls, or of prompt tokens, may come of the run itself."""
        return bool(self.count) and not self.exact

    def __iadd__(self, other: "CallTotals") -> Self:
        self.exact = not (self.is_estimate or other.is_estimate)
        self.count += other.count
        self.kept += other.kept
        self.bill += other.bill
        return self


class DryRun:
    """Counts the calls of a run, each once: equal requests share one answer, and what the response cache has is not asked.

    Args:
        url: Of the endpoint, as `endpoint_url` has it; "" where nobody is asked.
        kept: The answers that there are already; None for none.
        providers: What the models' tokens cost, by name.
        counter: That of the sessions' model, which also counts for models whose encoding is unknown.
    """

    def __init__(
        self, url: str, kept: ResponseCache | None, providers: Mapping[str, Provider], counter: TokenCounter
    ) -> None:
        self.url = url
        self.providers = providers
        self.callers: dict[Caller, CallTotals] = {}
        """Whoever may call, in the order in which they were entered."""
        self.counters = {model: _counter(model, counter) for model in providers}
        """What counts each model's tokens, by the model's name."""
        self._kept = kept
        self._seen: set[bytes] = set()
        """Digests of the requests that have come."""

    def enter(self, caller: Caller, *, exact: bool) -> Caller:
        """Take in who may call, and whether nothing in the prompts stands in for answers that are not known yet."""
        self.callers[caller] = CallTotals(exact)
        return caller

    def answer(self, caller: Caller, request: Mapping[str, Any], stand_in: Callable[[str], str]) -> Completion:
        """Count a request, unless it has come before; its answer is the kept one, or else what stands in for it.

        Args:
            caller: One of `callers`.
            request: Its body.
            stand_in: Given the request's key, what stands for its answer where none is kept.
        """
        totals, key = self.callers[caller], request_key(self.url, request)
        kept = None if self._kept is None else self._kept.get(key)
        digest = sha256(key.encode()).digest()
        if digest not in self._seen:
            self._seen.add(digest)
            if kept is None:
                totals.count += 1
                totals.bill.add([self._charge(caller.model, request)])
            else:
                totals.kept += 1
        return kept or Completion(stand_in(key), None, None, "stop", cached=False)

    def _charge(self, model: str, request: Mapping[str, Any]) -> tuple[int, Usage]:
        """The tier and the tokens of a call; no rule is published for those of a schema that its answer must follow."""
        counter = self.counters[model]
        prompt = counter.tools(request.get("tools", ())) + counter.REPLY_TOKENS
        prompt += sum(counter.message(parse_message(message)) for message in request["messages"])
        charge = self.providers[model].charge(prompt, 0, request["max_tokens"], None, writes=False)
        return charge.tier, charge.usage

    def cost(self, model: str, totals: CallTotals) -> Decimal | None:
        """USD of calls to a model at its input and output prices, without a prompt cache; None where they are unknown."""
        if not totals.count:
            return Decimal(0)
        rates = self.providers[model].rates
        return None if rates is None else totals.bill.cost_uncached(rates)

    def by_model(self) -> dict[str, CallTotals]:
        """The calls of all modes and purposes to each model."""
        models: dict[str, CallTotals] = {}
        for caller, totals in self.callers.items():
            sums = models.setdefault(caller.model, CallTotals(exact=True))
            sums += totals
        return models

    def total(self) -> tuple[CallTotals, Decimal | None]:
        """All calls, and what they cost in USD; None where a price that they take is unknown."""
        total, costs = CallTotals(exact=True), []
        for model, totals in self.by_model().items():
            total += totals
            costs.append(self.cost(model, totals))
        known = [cost for cost in costs if cost is not None]
        return total, sum(known, Decimal(0)) if len(known) == len(costs) else None

    def unpriced(self) -> list[str]:
        """Models that would be called at a price that nobody knows."""
        return [model for model, totals in self.by_model().items() if self.cost(model, totals) is None]


@dataclass(frozen=True, slots=True)
class CountingModel:
    """Takes one caller's calls in the place of its model."""

    run: DryRun
    caller: Caller
    stand_in: Callable[[str], str]
    """Given the key of a request, what stands for its answer where none is kept."""

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        response_format: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Completion:
        """The answer that is kept, or else what stands in for it."""
        request = chat_request(self.caller.model, messages, max_tokens, response_format, tools)
        return self.run.answer(self.caller, request, self.stand_in)


@dataclass(frozen=True, slots=True)
class StandInSummarizer:
    """Makes the calls of the live summarizer; where no answer is kept, the offline summarizer's text stands for it."""

    run: DryRun
    caller: Caller
    offline: Summarizer
    counter: TokenCounter
    """That of the sessions' model."""

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        """The summary.

        Raises:
            SummaryError: Either summarizer's.
        """
        text = self.offline(request).text
        model = CountingModel(self.run, self.caller, lambda _key: text)
        return OpenAiSummarizer({self.caller.model: model}, self.counter)(request)


@dataclass(frozen=True, slots=True)
class StandInFactExtractor:
    """Makes the calls of the live reader of facts; where no answer is kept, one that lists what the rules find stands for it."""

    run: DryRun
    caller: Caller

    def __call__(self, message: Message, position: int) -> CardReading:
        """The facts of one message, and the call."""
        answer = listing(extract_card_facts(message, position).facts)
        model = CountingModel(self.run, self.caller, lambda _key: answer)
        return OpenAiFactExtractor(model, self.run.counters[self.caller.model])(message, position)


def _counter(model: str, other: TokenCounter) -> TokenCounter:
    """The model's own counter; another one where its encoding is unknown."""
    try:
        find_model(model)
    except CtxmodeError:
        return other
    return TokenCounter.for_model(model)
