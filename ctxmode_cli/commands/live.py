"""Live calls, where they are asked for: to whom they go, and what became of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ctxmode_cli.commands.console import note
from ctxmode_cli.commands.options import ReplayOptions
from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.report.words import listed

if TYPE_CHECKING:
    from ctxmode_cli.llm import Llm
    from ctxmode_cli.summarize.openai import OpenAiSummarizer
    from ctxmode_cli.tokens.counter import TokenCounter

MOST_FAULTS = 3
"""Kinds of failures that are told."""


def summarising_models(configs: Iterable[ContextConfig]) -> list[str]:
    """The models that are called for summaries, sorted."""
    return sorted({config.summarising_model for config in configs if config.mode == ContextMode.SUMMARY})


@dataclass(frozen=True, slots=True)
class Live:
    """The endpoint that a run's summaries come from."""

    models: Mapping[str, "Llm"]
    summarizer: "OpenAiSummarizer"
    cache: Path
    """Where answers are kept."""

    @classmethod
    def of(cls, configs: Iterable[ContextConfig], counter: "TokenCounter", options: ReplayOptions) -> Self | None:
        """What the options ask for; None where no mode has a summary written by a model.

        Raises:
            CtxmodeError: There is no key, or the cache folder cannot be used.
        """
        names = summarising_models(configs) if options.summarizer == "openai" else []
        if not names:
            return None
        from platformdirs import user_cache_path

        from ctxmode_cli.llm import Llm
        from ctxmode_cli.summarize.openai import OpenAiSummarizer

        cache = Path(options.llm_cache) if options.llm_cache else user_cache_path("ctxmode") / "llm"
        models = {
            name: Llm(
                name,
                base_url=options.base_url,
                cache=cache,
                timeout_s=options.llm_timeout,
                retries=options.llm_retries,
                per_minute=options.llm_rate,
            )
            for name in names
        }
        return cls(models, OpenAiSummarizer(models, counter), cache)

    @property
    def base_url(self) -> str:
        """The endpoint, as it may be shown."""
        return next(iter(self.models.values())).base_url

    def announce(self) -> None:
        """Say on stderr what will leave this machine, and where to."""
        note(
            f"live calls: summaries are asked of {listed(list(self.models))} at {self.base_url}; answers are kept in {self.cache}"
        )

    def tell(self) -> None:
        """Say on stderr how many calls were made, and what went wrong most often."""
        made = sum(model.calls for model in self.models.values())
        note(f"live calls: {made:,} made, the other answers came from the cache")
        for fault, count in self.summarizer.failures.most_common(MOST_FAULTS):
            note(f"summaries that could not be had: {count:,}, since {fault}")
