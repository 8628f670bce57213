"""`ctxmode forecast`: what sessions will take by their number of turns, before launch."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn

import typer

from ctxmode_cli.commands.console import terminal_width, wants_colour, write_result
from ctxmode_cli.commands.options import BASELINE, GATE, LIVE, MODES, ReplayOptions, with_replay_options
from ctxmode_cli.errors import CtxmodeError, ExitCode
from ctxmode_cli.report.words import counted

if TYPE_CHECKING:
    from ctxmode_cli.commands.mode_settings import ModeSettings
    from ctxmode_cli.commands.source import Source
    from ctxmode_cli.commands.wiring import Wiring
    from ctxmode_cli.conversation.conversation import Conversation
    from ctxmode_cli.replay.forecast import Forecast

SIZES = {"system_prompt_tokens": 500, "user_tokens": 60, "reply_tokens": 200}
"""What a session is made of where neither logs nor numbers are given."""
MOST_TOKENS = 1_000_000
"""Of a message made of a number: about the widest window of any model."""


@partial(with_replay_options, without=("probes", "position_profile", "output", "audit", *GATE, *LIVE))
def forecast(
    settings: "ModeSettings",
    options: ReplayOptions,
    data: Annotated[
        list[str] | None,
        typer.Argument(help="Logs to draw turns from: files, directories, globs, - for stdin. Without: the numbers."),
    ] = None,
    turns: Annotated[int, typer.Option(min=1, max=10_000, help="Turns of the longest sessions looked at.")] = 60,
    sessions: Annotated[int, typer.Option(min=1, help="Sessions that are replayed.")] = 20,
    system_prompt_tokens: Annotated[
        int | None,
        typer.Option(
            min=0, max=MOST_TOKENS, help=f"Tokens of the system prompt (default: {SIZES['system_prompt_tokens']})."
        ),
    ] = None,
    user_tokens: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_TOKENS, help=f"Tokens of a user message (default: {SIZES['user_tokens']})."),
    ] = None,
    reply_tokens: Annotated[
        int | None, typer.Option(min=1, max=MOST_TOKENS, help=f"Tokens of a reply (default: {SIZES['reply_tokens']}).")
    ] = None,
    modes: MODES = "full,sliding,summary",
    baseline: BASELINE = None,
    output: Annotated[
        list[str] | None, typer.Option("--output", "-o", help="Also write FILE (.json .jsonl .csv .md); repeats.")
    ] = None,
) -> None:
    """Forecast tokens, cost and latency by the number of turns, from given numbers or from logs.

    Each option can also be set in the environment, as CTXMODE_ and its name, or in ctxmode.toml.

    Example: ctxmode forecast --user-tokens 60 --reply-tokens 200 --turns 60 --sessions-per-day 5000
    """
    from ctxmode_cli.commands.outputs import open_outputs, refuse_inputs
    from ctxmode_cli.commands.replaying import announce, tell_not_evaluated
    from ctxmode_cli.commands.source import Source
    from ctxmode_cli.commands.wiring import Wiring
    from ctxmode_cli.report.forecast_formats import FORECAST_EXTENSIONS, FORECAST_FORMATS, forecast_table

    names = settings.chosen(modes, baseline)
    wiring = Wiring.of(names, baseline, settings, options)
    numbers = {"system_prompt_tokens": system_prompt_tokens, "user_tokens": user_tokens, "reply_tokens": reply_tokens}
    _refuse_mixture(data, numbers, options)
    source = Source(data, options) if data else None
    refuse_inputs(source.inputs if source else (), output or ())
    with ExitStack() as stack:
        outputs = open_outputs(output or (), stack, FORECAST_EXTENSIONS)
        announce(source.description if source else "given numbers", names, settings, options)
        made = _drawn(source, sessions, turns, options) if source else _filled(numbers, sessions, turns)
        result = _forecast(made, wiring)
        for file in outputs.files:
            file.write(FORECAST_FORMATS[file.format](result))
    if options.format == "table":
        write_result(forecast_table(result, width=terminal_width(), colour=wants_colour()))
    else:
        write_result(FORECAST_FORMATS[options.format](result))
    if tell_not_evaluated(result.comparison, options):
        raise typer.Exit(ExitCode.NOT_EVALUATED)


class _Sessions(NamedTuple):
    """What is replayed, and where it came from."""

    conversations: Iterable["Conversation"]
    made: str
    """How, in words."""
    sources: Sequence[tuple[str, str]] = ()
    """Name and sha256 of each log."""
    skipped: int = 0


def _refuse_mixture(data: list[str] | None, numbers: Mapping[str, int | None], options: ReplayOptions) -> None:
    """Refuse what says nothing beside the rest: numbers beside logs, and a choice of logs without any."""
    choices: Mapping[str, int | None] = {"limit": options.limit, "sample": options.sample}
    given = [
        f"--{name.replace('_', '-')}" for name, value in (numbers if data else choices).items() if value is not None
    ]
    if not given:
        return
    if data:
        raise CtxmodeError(f"{given[0]} is given beside logs", hint="turns are drawn from the logs, or made of numbers")
    raise CtxmodeError(f"{given[0]} chooses conversations, and no logs are given", hint="ctxmode forecast logs.jsonl")


def _filled(numbers: Mapping[str, int | None], count: int, turns: int) -> _Sessions:
    """Sessions of filler, all of one size; they differ in the noise of their latency."""
    from ctxmode_cli.generate.filler import TurnSize, filler_session

    given = {name: SIZES[name] if value is None else value for name, value in numbers.items()}
    size = TurnSize(given["system_prompt_tokens"], given["user_tokens"], given["reply_tokens"])
    made = (
        f"made of numbers: {size.system:,} tokens of system prompt, {size.user:,} of each user message, {size.reply:,} "
        f"of each reply"
    )
    return _Sessions((filler_session(f"session {number}", turns, size) for number in range(1, count + 1)), made)


def _drawn(source: "Source", count: int, turns: int, options: ReplayOptions) -> _Sessions:
    """Sessions made of turns that are drawn from logs."""
    from ctxmode_cli.commands.progress import progress
    from ctxmode_cli.generate.drawn import TurnPool

    pool, read = TurnPool(options.seed), 0
    with closing(progress(source.conversations(), quiet=options.quiet)) as conversations:
        for conversation in conversations:
            pool.add(conversation)
            read += 1
    source.check_some_left(read)
    source.tell_skipped()
    if not pool.seen:
        hint = "a turn is drawn where it ends with a reply and its tool calls have their results"
        raise CtxmodeError("no turn of these logs can be drawn", where=source.description, hint=hint)
    left_out = f" ({counted(pool.left_out, 'turn')} not answered to the end left out)" if pool.left_out else ""
    made = f"drawn turn by turn from {counted(pool.seen, 'turn')} of {counted(read, 'conversation')}{left_out}"
    return _Sessions(pool.sessions(count, turns), made, source.sources, source.skipped)


def _forecast(sessions: _Sessions, wiring: "Wiring") -> "Forecast":
    from ctxmode_cli.replay.forecast import TurnTotals
    from ctxmode_cli.replay.run import run
    from ctxmode_cli.replay.session import Replay
    from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
    from ctxmode_cli.summarize.full_length import FullLengthSummarizer

    summarizer = FullLengthSummarizer(ExtractiveSummarizer(wiring.counter))
    replay = Replay(wiring.configs, wiring.counter, summarizer, wiring.simulation)
    by_turn = TurnTotals()
    totals = run(sessions.conversations, replay, keep=by_turn.add, reject=_refuse)
    return by_turn.forecast(wiring.comparison(totals, sessions.sources, sessions.skipped), sessions.made)


def _refuse(error: CtxmodeError) -> NoReturn:
    raise error
