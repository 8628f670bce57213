"""What modes, options and configuration file come to: what a command replays with, and the comparison that comes out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from ctxmode_cli.commands.live import Asked, Live
from ctxmode_cli.commands.mode_settings import ModeSettings
from ctxmode_cli.commands.options import ReplayOptions
from ctxmode_cli.commands.simulation import simulation_of
from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.replay.results import Comparison, Totals, mode_of_base
from ctxmode_cli.replay.session import Replay
from ctxmode_cli.score.position import PositionProfile, find_position_profile
from ctxmode_cli.simulate.charges import Simulation
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter


@dataclass(frozen=True, slots=True)
class Wiring:
    """All that is settled before anything is read."""

    configs: Mapping[str, ContextConfig]
    """By mode name."""
    baseline: str
    counter: TokenCounter
    simulation: Simulation
    position_profile: PositionProfile
    options: ReplayOptions
    asked: Asked
    """Which models are to be called."""
    live: Live | None
    """What calls them; None where none is called."""

    @classmethod
    def of(cls, modes: Sequence[str], baseline: str | None, settings: ModeSettings, options: ReplayOptions) -> Self:
        """The wiring of a run.

        Args:
            modes: Names of modes, each once.
            baseline: The mode that the others are related to; None for the one that sends everything, else the first.
            settings: What each mode is set to.
            options: What else was asked.

        Raises:
            CtxmodeError: A setting or an assumption is unknown, or the settings leave no budget.
        """
        configs = {name: settings.config(name) for name in modes}
        counter = TokenCounter.for_model(settings.values["model"])
        for config in configs.values():
            config.budget(counter.model.window)
        simulation = simulation_of(counter.model.name, configs.values(), options, settings.file)
        chosen = baseline or mode_of_base(configs, ContextMode.FULL) or modes[0]
        profile = find_position_profile(options.position_profile)
        asked = Asked.of(configs.values(), counter.model.name, options)
        live = None if options.dry_run else Live.of(asked, counter, options)
        return cls(configs, chosen, counter, simulation, profile, options, asked, live)

    def replay(self) -> Replay:
        """What each conversation goes through."""
        return Replay(
            self.configs,
            self.counter,
            (self.live and self.live.summarizer) or ExtractiveSummarizer(self.counter),
            self.simulation,
            probe_every_turn=self.options.probes == "all",
            position_profile=self.position_profile,
            extractors=self.live.extractors if self.live else {},
            answering=self.live.answering if self.live else None,
        )

    def comparison(self, totals: Totals, sources: Sequence[tuple[str, str]], skipped: int) -> Comparison:
        """What was replayed, as the reports take it.

        Args:
            totals: What it adds up to.
            sources: Name and sha256 of each input.
            skipped: Records that were left out as faulty.
        """
        return Comparison(
            model=self.counter.model.name,
            encoding=self.counter.encoding_name,
            window=self.counter.model.window,
            seed=self.options.seed,
            baseline=self.baseline,
            configs=self.configs,
            data=totals.data,
            modes=totals.modes,
            sources=list(sources),
            skipped=skipped,
            selection=self.options.selection,
            simulation=self.simulation,
            sessions_per_day=self.options.sessions_per_day,
            position_profile=self.position_profile,
            replicates=totals.replicates,
            breakdowns=totals.breakdowns,
            harm=totals.harm,
            endpoint=self.live.base_url if self.live and self.live.asked_for else None,
            asked_for=self.live.asked_for if self.live else (),
            answers_from=self.live.answers_from if self.live else None,
        )
