"""Live calls, where they are asked for: to whom they go, and what became of them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ctxmode_cli.commands.console import note
from ctxmode_cli.commands.options import ReplayOptions
from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.llm import ChatModel, Failures, LlmError
from ctxmode_cli.report.words import listed

if TYPE_CHECKING:
    from ctxmode_cli.llm import Llm
    from ctxmode_cli.replay.results import AnswersFrom
    from ctxmode_cli.score.answers import Answering
    from ctxmode_cli.score.judge import ModelJudge
    from ctxmode_cli.summarize.openai import OpenAiSummarizer
    from ctxmode_cli.summarize.openai_facts import OpenAiFactExtractor
    from ctxmode_cli.tokens.counter import TokenCounter

MOST_FAULTS = 3
"""Kinds of failures that are told."""
SUMMARIES, CARDS, FACTS, JUDGEMENTS = "summaries", "cards", "facts", "judgements"
"""What models are asked for."""
ANSWER_TOKENS = 100
"""Most tokens of an answer: what is asked for is a value."""


def summarising_models(configs: Iterable[ContextConfig]) -> list[str]:
    """The models that are called for summaries, sorted."""
    return sorted({config.summarising_model for config in configs if config.mode == ContextMode.SUMMARY})


def card_models(configs: Iterable[ContextConfig], options: ReplayOptions) -> list[str]:
    """The models that are called for facts on the fact card, sorted: none where it goes by rules.

    Raises:
        CtxmodeError: They are asked for, and no mode keeps a card.
    """
    if options.fact_card_extractor == "rules":
        return []
    models = sorted({config.summarising_model for config in configs if config.fact_card})
    if not models:
        raise CtxmodeError("fact_card_extractor is openai, and no mode keeps a fact card", hint="--fact-card keeps one")
    return models


@dataclass(frozen=True, slots=True)
class Asked:
    """Which models are asked, and what for; all are at one endpoint."""

    summaries: Sequence[str]
    """Empty where summaries are made offline."""
    cards: Sequence[str]
    """Empty where facts for the fact card are found by rules, or no mode keeps one."""
    answers: str | None
    """None where nobody is asked for facts."""
    judge: str | None
    """None where the matcher grades the answers."""

    @classmethod
    def of(cls, configs: Collection[ContextConfig], model: str, options: ReplayOptions) -> Self:
        """What the options ask for; `model` is the sessions' own.

        Raises:
            CtxmodeError: A model is to read for the fact card, and no mode keeps one.
        """
        summaries = summarising_models(configs) if options.summarizer == "openai" else []
        cards = card_models(configs, options)
        if not options.answer:
            return cls(summaries, cards, None, None)
        return cls(summaries, cards, options.answer_model or model, options.judge_model or None)

    @property
    def by_purpose(self) -> dict[str, list[str]]:
        """The models by what they are asked for, as far as any is."""
        several = {SUMMARIES: [*self.summaries], CARDS: [*self.cards]}
        one = {FACTS: self.answers, JUDGEMENTS: self.judge}
        purposes = several | {what: [name] for what, name in one.items() if name is not None}
        return {what: names for what, names in purposes.items() if names}

    @property
    def models(self) -> list[str]:
        """Each of them once; none where nothing is asked."""
        return list(dict.fromkeys(chain.from_iterable(self.by_purpose.values())))


@dataclass(frozen=True, slots=True)
class Answerer:
    """Asks a model for a fact."""

    model: ChatModel
    failures: Failures = field(default_factory=Failures)
    """How often an answer could not be had, by what was wrong."""

    def __call__(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> str | None:
        """The answer; None where it could not be had.

        Raises:
            CtxmodeError: The endpoint cannot be used as things are set.
        """
        try:
            return self.model.complete(messages, max_tokens=ANSWER_TOKENS, tools=tools).text
        except LlmError as error:
            self.failures.add(str(error))
            return None


def answering_of(answerer: Answerer, judge: "ModelJudge | None", options: ReplayOptions) -> "Answering":
    """Who is asked for facts, how much, and who grades the answers."""
    from ctxmode_cli.score.answers import Answering, by_matcher

    return Answering(answerer, options.answer_probes, options.seed, judge or by_matcher)


@dataclass(frozen=True, slots=True)
class Live:
    """The endpoint that a run's summaries, facts for the card, answers or judgements come from."""

    asked: Asked
    models: Mapping[str, "Llm"]
    """By name."""
    options: ReplayOptions
    summarizer: "OpenAiSummarizer | None"
    """None where summaries are made offline."""
    extractors: Mapping[str, "OpenAiFactExtractor"]
    """By model, who reads facts for the card; none where that goes by rules."""
    answerer: Answerer | None
    """None where nobody is asked for facts."""
    judge: "ModelJudge | None"
    """None where the matcher grades the answers."""

    @classmethod
    def of(cls, asked: Asked, counter: "TokenCounter", options: ReplayOptions) -> Self | None:
        """What takes the calls; None where no model is to be called.

        Raises:
            CtxmodeError: There is no key, or the cache folder cannot be used.
        """
        if not asked.models:
            return None
        from ctxmode_cli.score.judge import ModelJudge
        from ctxmode_cli.summarize.openai import OpenAiSummarizer
        from ctxmode_cli.summarize.openai_facts import OpenAiFactExtractor
        from ctxmode_cli.tokens.counter import TokenCounter

        models = {name: _model(name, options) for name in asked.models}
        return cls(
            asked,
            models,
            options,
            OpenAiSummarizer(models, counter) if asked.summaries else None,
            {name: OpenAiFactExtractor(models[name], TokenCounter.for_model(name)) for name in asked.cards},
            None if asked.answers is None else Answerer(models[asked.answers]),
            None if asked.judge is None else ModelJudge(models[asked.judge]),
        )

    @property
    def asked_for(self) -> tuple[str, ...]:
        """The purposes of the calls beside the requests that are made."""
        made = {"summary": self.asked.summaries, "card": self.asked.cards}
        return tuple(purpose for purpose, models in made.items() if models)

    @property
    def base_url(self) -> str:
        """The endpoint, as it may be shown."""
        return next(iter(self.models.values())).base_url

    @property
    def answering(self) -> "Answering | None":
        """Who is asked for facts; None for nobody."""
        return None if self.answerer is None else answering_of(self.answerer, self.judge, self.options)

    @property
    def answers_from(self) -> "AnswersFrom | None":
        """The same, as the results tell it."""
        from ctxmode_cli.replay.results import AnswersFrom

        if self.asked.answers is None:
            return None
        return AnswersFrom(self.asked.answers, self.base_url, self.options.answer_probes, self.asked.judge)

    def announce(self) -> None:
        """Say on stderr what will leave this machine, and where to."""
        asked = [f"{what} are asked of {listed(names)}" for what, names in self.asked.by_purpose.items()]
        note(f"live calls: {listed(asked)} at {self.base_url}; answers are kept in {cache_folder(self.options)}")

    def tell(self) -> None:
        """Say on stderr how many calls were made, and what went wrong most often."""
        made = sum(model.calls for model in self.models.values())
        note(f"live calls: {made:,} made, the other answers came from the cache")
        for what, faults in self._faults():
            for fault, count in faults.most_common(MOST_FAULTS):
                note(f"{what}: {count:,}, since {fault}")

    def _faults(self) -> Iterator[tuple[str, Counter[str]]]:
        """What could not be had, or was not taken, and why."""
        for purpose, calls in ((SUMMARIES, self.summarizer), (FACTS, self.answerer), (JUDGEMENTS, self.judge)):
            if calls is not None:
                yield f"{purpose} that could not be had", calls.failures
        readers = self.extractors.values()
        yield "messages that could not be read for the card", sum((one.failures for one in readers), Counter())
        yield "facts left out of the card", sum((one.left_out for one in readers), Counter())


def cache_folder(options: ReplayOptions) -> Path:
    """Where answers are kept."""
    from platformdirs import user_cache_path

    return Path(options.llm_cache) if options.llm_cache else user_cache_path("ctxmode") / "llm"


def _model(name: str, options: ReplayOptions) -> "Llm":
    from ctxmode_cli.llm import Llm

    return Llm(
        name,
        base_url=options.base_url,
        cache=cache_folder(options),
        timeout_s=options.llm_timeout,
        retries=options.llm_retries,
        per_minute=options.llm_rate,
    )
