"""`ctxmode replay`: one mode on recorded conversations."""

from typing import TYPE_CHECKING, Annotated

import typer

from ctxmode_cli.commands.options import ReplayOptions, with_replay_options
from ctxmode_cli.context.config import ContextMode

if TYPE_CHECKING:
    from ctxmode_cli.commands.mode_settings import ModeSettings


@with_replay_options
def replay(
    settings: "ModeSettings",
    options: ReplayOptions,
    data: Annotated[list[str], typer.Argument(help="Logs: files, directories, globs, - for stdin.")],
    mode: Annotated[
        str, typer.Option(help="The mode: zero, full, sliding, summary, or a name from the configuration file.")
    ] = ContextMode.SLIDING,
) -> None:
    """Replay conversations through one mode; -o run/ keeps one row per request.

    Each option can also be set in the environment, as CTXMODE_ and its name, or in ctxmode.toml.

    Example: ctxmode replay logs.jsonl --mode summary -o run/
    """
    from ctxmode_cli.commands.replaying import replay_and_report

    replay_and_report(data, [mode], mode, settings, options)
