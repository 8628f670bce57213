"""`ctxmode compare`: modes side by side on the same requests."""

from typing import TYPE_CHECKING, Annotated

import typer

from ctxmode_cli.commands.options import BASELINE, MODES, ReplayOptions, with_replay_options

if TYPE_CHECKING:
    from ctxmode_cli.commands.mode_settings import ModeSettings


@with_replay_options
def compare(
    settings: "ModeSettings",
    options: ReplayOptions,
    data: Annotated[
        list[str] | None,
        typer.Argument(help="Logs: files, directories, globs, - for stdin. Without: built-in sessions."),
    ] = None,
    modes: MODES = "full,zero,sliding,summary",
    baseline: BASELINE = None,
) -> None:
    """Replay conversations through several modes and compare what each would have sent.

    Each option can also be set in the environment, as CTXMODE_ and its name, or in ctxmode.toml.

    Example: ctxmode compare logs.jsonl --modes full,sliding,summary
    """
    from ctxmode_cli.commands.replaying import replay_and_report

    replay_and_report(data, settings.chosen(modes, baseline), baseline, settings, options)
