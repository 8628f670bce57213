"""Live calls, where they are asked for: to whom they go, and what became of them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from ctxmode_cli.commands.console import note
from ctxmode_cli.commands.options import ReplayOptions
from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.report.words import listed

if TYPE_CHECKING:
    from ctxmode_cli.llm import Llm
    from ctxmode_cli.replay.results import AnswersFrom
    from ctxmode_cli.score.answers import Answering
    from ctxmode_cli.summarize.openai import OpenAiSummarizer
    from ctxmode_cli.summarize.openai_facts import OpenAiFactExtractor
    from ctxmode_cli.tokens.counter import TokenCounter

MOST_FAULTS = 3
"""Kinds of failures that are told."""
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
class Answerer:
    """Asks a model for a fact."""

    model: "Llm"
    failures: Counter[str] = field(default_factory=Counter)
    """How often an answer could not be had, by what was wrong."""
    _counting: Lock = field(default_factory=Lock)

    def __call__(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> str | None:
        """The answer; None where it could not be had.

        Raises:
            CtxmodeError: The endpoint cannot be used as things are set.
        """
        from ctxmode_cli.llm import LlmError

        try:
            return self.model.complete(messages, max_tokens=ANSWER_TOKENS, tools=tools).text
        except LlmError as error:
            with self._counting:
                self.failures[str(error)] += 1
            return None


@dataclass(frozen=True, slots=True)
class Live:
    """The endpoint that a run's summaries, facts for the card or answers come from."""

    models: Mapping[str, "Llm"]
    """By name; all are at one endpoint."""
    cache: Path
    """Where answers are kept."""
    options: ReplayOptions
    summaries: Sequence[str] = ()
    """The models that are asked for summaries."""
    summarizer: "OpenAiSummarizer | None" = None
    """None where summaries are made offline."""
    extractors: Mapping[str, "OpenAiFactExtractor"] = field(default_factory=dict)
    """By model, who reads facts for the card; none where that goes by rules."""
    answerer: Answerer | None = None
    """None where nobody is asked for facts."""

    @classmethod
    def of(cls, configs: Collection[ContextConfig], counter: "TokenCounter", options: ReplayOptions) -> Self | None:
        """What the options ask for; None where no model is to be called.

        Raises:
            CtxmodeError: There is no key, or the cache folder cannot be used.
        """
        summaries = summarising_models(configs) if options.summarizer == "openai" else []
        answers = (options.answer_model or counter.model.name) if options.answer else None
        cards = card_models(configs, options)
        names = [*summaries, *cards, *([answers] if answers is not None else [])]
        if not names:
            return None
        from platformdirs import user_cache_path

        from ctxmode_cli.summarize.openai import OpenAiSummarizer
        from ctxmode_cli.summarize.openai_facts import OpenAiFactExtractor
        from ctxmode_cli.tokens.counter import TokenCounter

        cache = Path(options.llm_cache) if options.llm_cache else user_cache_path("ctxmode") / "llm"
        models = {name: _model(name, cache, options) for name in dict.fromkeys(names)}
        return cls(
            models,
            cache,
            options,
            summaries,
            OpenAiSummarizer(models, counter) if summaries else None,
            {name: OpenAiFactExtractor(models[name], TokenCounter.for_model(name)) for name in cards},
            None if answers is None else Answerer(models[answers]),
        )

    @property
    def asked_for(self) -> tuple[str, ...]:
        """The purposes of the calls beside the requests that are made."""
        made = {"summary": bool(self.summaries), "card": bool(self.extractors)}
        return tuple(purpose for purpose, is_made in made.items() if is_made)

    @property
    def base_url(self) -> str:
        """The endpoint, as it may be shown."""
        return next(iter(self.models.values())).base_url

    @property
    def answering(self) -> "Answering | None":
        """Who is asked for facts, and how much; None for nobody."""
        from ctxmode_cli.score.answers import Answering

        if self.answerer is None:
            return None
        return Answering(self.answerer, self.options.answer_probes, self.options.seed)

    @property
    def answers_from(self) -> "AnswersFrom | None":
        """The same, as the results tell it."""
        from ctxmode_cli.replay.results import AnswersFrom

        if self.answerer is None:
            return None
        return AnswersFrom(self.answerer.model.model, self.base_url, self.options.answer_probes)

    def announce(self) -> None:
        """Say on stderr what will leave this machine, and where to."""
        asked = [f"summaries are asked of {listed(self.summaries)}"] if self.summaries else []
        if self.extractors:
            asked.append(f"facts for the card are asked of {listed(list(self.extractors))}")
        if self.answerer:
            asked.append(f"facts are asked of {self.answerer.model.model}")
        note(f"live calls: {listed(asked)} at {self.base_url}; answers are kept in {self.cache}")

    def tell(self) -> None:
        """Say on stderr how many calls were made, and what went wrong most often."""
        made = sum(model.calls for model in self.models.values())
        note(f"live calls: {made:,} made, the other answers came from the cache")
        for what, faults in self._faults().items():
            for fault, count in faults.most_common(MOST_FAULTS):
                note(f"{what}: {count:,}, since {fault}")

    def _faults(self) -> dict[str, Counter[str]]:
        """What could not be had, or was not taken, and why."""
        readers = self.extractors.values()
        return {
            "summaries that could not be had": self.summarizer.failures if self.summarizer else Counter(),
            "messages that could not be read for the card": sum((one.failures for one in readers), Counter()),
            "facts left out of the card": sum((one.left_out for one in readers), Counter()),
            "facts that could not be had": self.answerer.failures if self.answerer else Counter(),
        }


def _model(name: str, cache: Path, options: ReplayOptions) -> "Llm":
    from ctxmode_cli.llm import Llm

    return Llm(
        name,
        base_url=options.base_url,
        cache=cache,
        timeout_s=options.llm_timeout,
        retries=options.llm_retries,
        per_minute=options.llm_rate,
    )
