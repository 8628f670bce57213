"""`ctxmode compare`: modes side by side on the same requests."""

from typing import TYPE_CHECKING, Annotated

import typer

from ctxmode_cli.commands.options import ReplayOptions, with_replay_options
from ctxmode_cli.errors import CtxmodeError

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
    modes: Annotated[str, typer.Option(help="Modes to compare, separated by commas.")] = "full,zero,sliding,summary",
    baseline: Annotated[
        str | None, typer.Option(help="Mode that the others are related to (default: full, else the first).")
    ] = None,
) -> None:
    """Replay conversations through several modes and compare what each would have sent.

    Each option can also be set in the environment, as CTXMODE_ and its name, or in ctxmode.toml.

    Example: ctxmode compare logs.jsonl --modes full,sliding,summary
    """
    from ctxmode_cli.commands.replaying import replay_and_report

    names = [name.strip() for name in modes.split(",") if name.strip()]
    if not names or len(set(names)) != len(names):
        raise CtxmodeError(f'modes is "{modes}"', hint=f"some of {', '.join(settings.modes)}, each once")
    if baseline is not None and baseline not in names:
        raise CtxmodeError(f'baseline is "{baseline}", which is not among the modes', hint=f"one of {', '.join(names)}")
    replay_and_report(data, names, baseline, settings, options)
