"""`ctxmode inspect`: exactly what a mode would send at one request, and what it would leave out."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ctxmode_cli.commands.console import note, terminal_width, wants_colour, write_result
from ctxmode_cli.commands.options import ANSWERS, GATE, TABLE_OR_JSON, ReplayOptions, with_replay_options
from ctxmode_cli.context.config import ContextMode
from ctxmode_cli.errors import CtxmodeError, ExitCode
from ctxmode_cli.report.words import counted, listed

if TYPE_CHECKING:
    from ctxmode_cli.commands.mode_settings import ModeSettings
    from ctxmode_cli.conversation.conversation import Conversation
    from ctxmode_cli.conversation.files import Reading

MAX_IDS = 10_000
"""Ids among which a near one is looked for; a log may have millions."""
MAX_ID = 200
"""Characters of an id that are compared."""


@partial(
    with_replay_options,
    without=("limit", "sample", "sessions_per_day", "format", "output", "audit", "dry_run", *GATE, *ANSWERS),
    unfiled=("request", "diff", "output_format"),
)
def inspect(
    settings: "ModeSettings",
    options: ReplayOptions,
    data: Annotated[str, typer.Argument(help="The log: a file, a directory, a glob, - for stdin.")],
    conversation_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the conversation, as the record has it.")],
    mode: Annotated[
        str, typer.Option(help="The mode: zero, full, sliding, summary, or a name from the configuration file.")
    ] = ContextMode.SLIDING,
    request: Annotated[int | None, typer.Option(min=0, help="Which request, from 0 on (default: the last).")] = None,
    diff: Annotated[str | None, typer.Option(metavar="MODE", help="Another mode to show beside it.")] = None,
    output_format: TABLE_OR_JSON = "table",
) -> None:
    """Show what would be sent at one request, piece by piece, what would be left out and why, and where the facts are.

    Each option can also be set in the environment, as CTXMODE_ and its name, or in ctxmode.toml. The JSON has the
    exact messages of the request.

    Example: ctxmode inspect logs.jsonl order-17 --mode summary --request 12
    """
    from ctxmode_cli.commands.wiring import Wiring
    from ctxmode_cli.conversation.files import Reading
    from ctxmode_cli.report.inspect_view import inspect_request

    names = [mode] if diff is None else [mode, diff]
    if len(set(names)) != len(names):
        raise CtxmodeError(f'--diff is "{diff}", the mode itself', hint="name another mode")
    wiring = Wiring.of(names, None, settings, options)
    if not options.quiet:
        for override in settings.overrides(names):
            note(f"note: {override}")
        if wiring.live:
            wiring.live.announce()
    reading = Reading([data], on_error=options.on_error, max_errors=options.max_errors)
    conversation = _find(reading, conversation_id)
    replay = wiring.replay()
    session = replay(conversation)
    chosen = _chosen(request, len(session.requests), conversation.where)
    views = [inspect_request(session, replay, name, chosen) for name in names]
    if output_format == "json":
        from ctxmode_cli.report.inspect_json import inspection_json

        write_result(inspection_json(session, replay, chosen, views))
    else:
        from ctxmode_cli.report.inspect_text import inspection_text

        shown = inspection_text(session, replay, chosen, views, width=terminal_width(), colour=wants_colour())
        write_result(shown)
    missing = list(_not_evaluated(options, len(session.probes), [view.cost is None for view in views]))
    for what in missing:
        note(f"error: {what}")
    if missing:
        raise typer.Exit(ExitCode.NOT_EVALUATED)


def _find(reading: "Reading", wanted: str) -> "Conversation":
    """The first conversation with an id; what comes behind it is not read.

    Raises:
        CtxmodeError: There is none; the hint has the ids that come near.
    """
    from contextlib import closing
    from difflib import get_close_matches

    near: list[str] = []
    count = 0
    with closing(reading.conversations()) as conversations:  # type: ignore[type-var]
        for conversation in conversations:
            if conversation.id == wanted:
                return conversation
            count += 1
            if len(near) < MAX_IDS:
                near.append(conversation.id[:MAX_ID])
    close = get_close_matches(wanted[:MAX_ID], near, n=3) or near[:3]
    raise CtxmodeError(
        f'none of {counted(count, "conversation")} has the id "{wanted}"',
        where=", ".join(reading.inputs),
        hint=f"there {'is' if len(close) == 1 else 'are'} {listed(close)}",
    )


def _chosen(request: int | None, count: int, where: str) -> int:
    if not count:
        raise CtxmodeError("the conversation has no request: no user speaks in it", where=where)
    if request is not None and request >= count:
        raise CtxmodeError(
            f"--request is {request}, and the conversation has {counted(count, 'request')}",
            where=where,
            hint=f"0 to {count - 1}",
        )
    return count - 1 if request is None else request


def _not_evaluated(options: ReplayOptions, probes: int, unpriced: list[bool]) -> "list[str]":
    """What an option asked for by name and could not be had."""
    missing = []
    if options.probes is not None and not probes:
        missing.append("facts were asked for and could not be looked for: no labelled fact can be probed")
    if options.price_date is not None and all(unpriced):
        missing.append("cost was asked for and could not be evaluated")
    return missing
