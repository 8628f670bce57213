"""`--dry-run`: what a live run would send and cost, found out by a replay that asks nobody."""

from contextlib import closing
from dataclasses import replace
from zlib import crc32

import typer

from ctxmode_cli.commands.config_file import ConfigFile
from ctxmode_cli.commands.console import note, terminal_width, wants_colour, write_result
from ctxmode_cli.commands.live import (
    ANSWER_TOKENS,
    CARDS,
    FACTS,
    JUDGEMENTS,
    SUMMARIES,
    Answerer,
    answering_of,
    cache_folder,
)
from ctxmode_cli.commands.options import ReplayOptions
from ctxmode_cli.commands.progress import progress
from ctxmode_cli.commands.simulation import providers_of
from ctxmode_cli.commands.source import Source
from ctxmode_cli.commands.wiring import Wiring
from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.errors import CtxmodeError, ExitCode
from ctxmode_cli.generate.filler import filler
from ctxmode_cli.llm import ResponseCache, endpoint_url
from ctxmode_cli.replay.dry_run import Caller, CountingModel, DryRun, StandInFactExtractor, StandInSummarizer
from ctxmode_cli.replay.run import replayed
from ctxmode_cli.replay.session import Replay
from ctxmode_cli.report.dry_run import dry_run_json, dry_run_table
from ctxmode_cli.report.words import listed
from ctxmode_cli.score.answers import Answering
from ctxmode_cli.score.judge import ModelJudge

FORMATS = ("table", "json")


def dry_run(wiring: Wiring, source: Source, file: ConfigFile) -> None:
    """Count the calls that a live run would make, tell them, and exit with the right code.

    Args:
        wiring: What a run would replay with.
        source: What it would replay.
        file: Has prices of one's own.

    Raises:
        CtxmodeError: The results of a run were asked for, or something of the data is wrong.
    """
    options = wiring.options
    _refuse_results(options)
    run = _dry_run(wiring, file)
    replays = [replay for mode in wiring.configs if (replay := _replay(mode, wiring, run)) is not None]

    def count(conversation: Conversation) -> None:
        for replay in replays:
            replay(conversation)

    with closing(progress(source.conversations(), quiet=options.quiet)) as conversations:
        read = sum(1 for _ in replayed(conversations, count, reject=source.reject))
    source.check_some_left(read)
    source.tell_skipped()
    if options.format == "json":
        write_result(dry_run_json(run, skipped=source.skipped))
    else:
        write_result(dry_run_table(run, width=terminal_width(), colour=wants_colour()))
    if run.unpriced():
        note(f"error: cost was asked for and could not be evaluated: no price of {listed(run.unpriced())} is known")
        raise typer.Exit(ExitCode.NOT_EVALUATED)


def _refuse_results(options: ReplayOptions) -> None:
    """Refuse outputs and formats of the results that a dry run does not have.

    Raises:
        CtxmodeError: One of them was asked for.
    """
    outputs = {"-o": options.output, "--audit": options.audit}
    for option in (name for name, value in outputs.items() if value):
        raise CtxmodeError(f"a dry run has no results for {option}", hint=f"leave out --dry-run, or {option}")
    if options.format not in FORMATS:
        raise CtxmodeError(f'a dry run is not written as "{options.format}"', hint=f"--format {' or '.join(FORMATS)}")


def _dry_run(wiring: Wiring, file: ConfigFile) -> DryRun:
    """What counts the calls; a cache folder that is not there is not made."""
    options, folder = wiring.options, cache_folder(wiring.options)
    kept = ResponseCache(folder) if folder.is_dir() else None
    providers = providers_of(wiring.asked.models, options, file)
    url = endpoint_url(options.base_url) if providers else ""
    return DryRun(url, kept, providers, wiring.counter)


def _replay(mode: str, wiring: Wiring, run: DryRun) -> Replay | None:
    """The replay of one mode by itself, so that its calls are known for its own; None where it makes none."""
    config, asked = wiring.configs[mode], wiring.asked
    replay = replace(wiring.replay(), modes={mode: config})
    has_card = config.fact_card and bool(asked.cards)
    is_summarised = config.mode == ContextMode.SUMMARY and bool(asked.summaries)
    if is_summarised:
        caller = run.enter(Caller(mode, SUMMARIES, config.summarising_model), exact=_knows_summaries(config, has_card))
        replay = replace(replay, summarizer=StandInSummarizer(run, caller, replay.summarizer, wiring.counter))
    if has_card:  # each message goes in by itself, whatever was answered before
        caller = run.enter(Caller(mode, CARDS, config.summarising_model), exact=True)
        replay = replace(replay, extractors={caller.model: StandInFactExtractor(run, caller)})
    if asked.answers is None:
        return replay if is_summarised or has_card else None
    caller = run.enter(Caller(mode, FACTS, asked.answers), exact=not (is_summarised or has_card))
    return replace(replay, answering=_answering(caller, wiring, run))


def _knows_summaries(config: ContextConfig, has_card: bool) -> bool:
    """Whether no call for a summary hangs on what another call was answered.

    That is so with each from the originals, and the turns alone to trigger it, unless a model's card stands before them.
    """
    behind_card = has_card and config.summary_prefix == "session"
    return config.summary_strategy == "rebuild" and config.summary_trigger == "turns" and not behind_card


def _answering(caller: Caller, wiring: Wiring, run: DryRun) -> Answering:
    """Who takes the questions for facts, and the judgements where a model is to judge."""
    answerer, judge = Answerer(CountingModel(run, caller, _long_answer)), None
    if wiring.asked.judge is not None:
        judging = run.enter(Caller(caller.mode, JUDGEMENTS, wiring.asked.judge), exact=False)
        judge = ModelJudge(CountingModel(run, judging, _judgement))
    return answering_of(answerer, judge, wiring.options)


def _long_answer(key: str) -> str:
    """As long as an answer may be, and another one for each request, so that none is judged in place of another."""
    return filler(ANSWER_TOKENS, crc32(key.encode()))


def _judgement(_key: str) -> str:
    return '{"right": false}'
