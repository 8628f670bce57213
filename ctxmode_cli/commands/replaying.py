"""What the replaying commands have in common: read, replay, report."""

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import typer

from ctxmode_cli import __version__
from ctxmode_cli.commands.config_file import ConfigFile
from ctxmode_cli.commands.console import note, terminal_width, wants_colour, write_result
from ctxmode_cli.commands.gating import Gate, tell_verdict
from ctxmode_cli.commands.mode_settings import ModeSettings
from ctxmode_cli.commands.options import ReplayOptions
from ctxmode_cli.commands.outputs import OutputFile, Outputs, open_outputs, refuse_inputs
from ctxmode_cli.commands.progress import progress
from ctxmode_cli.commands.simulation import described
from ctxmode_cli.commands.source import Source
from ctxmode_cli.commands.wiring import Wiring
from ctxmode_cli.errors import ExitCode
from ctxmode_cli.replay.audit import audit_lines
from ctxmode_cli.replay.by_conversation import ByConversation
from ctxmode_cli.replay.results import Comparison, Totals
from ctxmode_cli.replay.run import run
from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.report.formats import FILE_EXTENSIONS, FILE_FORMATS, FORMATS, as_json
from ctxmode_cli.report.table import as_table
from ctxmode_cli.report.words import listed

if TYPE_CHECKING:  # models are called, and pages made, where somebody asks for it
    from ctxmode_cli.commands.live import Live
    from ctxmode_cli.report.html.kept import Kept


def replay_and_report(
    data: Sequence[str] | None,
    modes: Sequence[str],
    baseline: str | None,
    settings: ModeSettings,
    options: ReplayOptions,
) -> None:
    """Read the data, replay it through the modes, write what was asked for, and exit with the right code.

    A dry run only tells what models would be asked.

    Args:
        data: The user's logs; None for the built-in sessions.
        modes: Names of modes, each once.
        baseline: The mode that the others are related to; None for the one that sends everything, else the first.
        settings: What each mode is set to.
        options: What else was asked.
    """
    # What is wrong with these is told before anything is read.
    wiring = Wiring.of(modes, baseline, settings, options)
    gate = Gate.of(settings.file, options.gate, options.against, allow_different_data=options.allow_different_data)
    source = Source(data, options)
    gate.refuse_other_data(source.inputs, options)
    if options.dry_run:
        from ctxmode_cli.commands.dry_run import dry_run

        announce(source.description, modes, settings, options)
        dry_run(wiring, source, settings.file)
        return
    audit = [options.audit] if options.audit else []
    refuse_inputs([*source.inputs, *gate.inputs], [*(options.output or ()), *audit])
    with ExitStack() as stack:
        outputs = open_outputs(options.output or (), stack, FILE_EXTENSIONS, wiring.simulation)
        replay = wiring.replay()
        kept = _kept(replay) if any(file.format == "html" for file in outputs.files) else None
        audits = open_outputs(audit, stack, {".jsonl": "jsonl"}).files
        lists_all = gate.lists_conversations or any(file.format == "junit" for file in outputs.files)
        by_conversation = ByConversation() if lists_all else None
        announce(source.description, modes, settings, options)
        keep = _keeping(outputs, audits, [each for each in (by_conversation, kept) if each is not None])
        totals = _replayed(source, replay, keep, wiring.live, options)
        compared = wiring.comparison(totals, source.sources, source.skipped)
        comparison = gate.judged(replace(compared, by_conversation=by_conversation))
        for folder in outputs.folders:
            folder.finish(as_json(comparison), _made_with(comparison, settings.file))
        for file in outputs.files:
            file.write(_written(comparison, file.format, kept))
    _print(comparison, options.format)
    not_evaluated = tell_not_evaluated(comparison, options)
    code = tell_verdict(comparison.gate, is_shown=options.format in {"table", "markdown"})
    if code or not_evaluated:
        raise typer.Exit(code or ExitCode.NOT_EVALUATED)


def _replayed(
    source: Source, replay: Replay, keep: Callable[[SessionReplay], None], live: "Live | None", options: ReplayOptions
) -> Totals:
    """What all conversations add up to, with what is to be said before and after.

    Raises:
        CtxmodeError: None is left, or a bad record is not to be borne.
    """
    if live and not options.quiet:
        live.announce()
    concurrency = options.llm_concurrency if live else 1
    with closing(progress(source.conversations(), quiet=options.quiet)) as conversations:
        totals = run(conversations, replay, keep=keep, reject=source.reject, concurrency=concurrency)
    if live and not options.quiet:
        live.tell()
    source.check_some_left(totals.data.conversations)
    source.tell_skipped()
    return totals


def _keeping(
    outputs: Outputs, audits: Sequence[OutputFile], others: "Sequence[ByConversation | Kept]"
) -> Callable[[SessionReplay], None]:
    """What takes each replayed conversation to where its rows are kept."""

    def keep(session: SessionReplay) -> None:
        for folder in outputs.folders:
            folder.add(session)
        for file in audits:
            file.append(audit_lines(session))
        for other in others:
            other.add(session)

    return keep


def _kept(replay: Replay) -> "Kept":
    """Where a page's conversations are kept.

    Raises:
        CtxmodeError: The libraries are missing that a page takes.
    """
    from ctxmode_cli.report.html.kept import Kept
    from ctxmode_cli.report.html.page import require_html

    require_html()
    return Kept(replay)


def _written(comparison: Comparison, form: str, kept: "Kept | None") -> str | bytes:
    """The comparison as it goes into a file; a page has conversations too, which the comparison has not."""
    if kept is None or form != "html":
        return FILE_FORMATS[form](comparison)
    from ctxmode_cli.report.html.page import as_html

    return as_html(comparison, kept)


def tell_not_evaluated(comparison: Comparison, options: ReplayOptions) -> bool:
    """Say what an option asked for and could not be had; whether there is any such thing."""
    missing = list(_not_evaluated(comparison, options))
    for what in missing:
        note(f"error: {what}")
    return bool(missing)


def _not_evaluated(comparison: Comparison, options: ReplayOptions) -> Iterator[str]:
    """What an option asked for by name and could not be had."""
    if options.probes is not None and not comparison.data.probes:
        yield "recall was asked for and could not be evaluated: no labelled fact can be probed"
    if options.answer and not any(totals.answered.probes for totals in comparison.modes.values()):
        yield "recall (answered) was asked for and could not be evaluated: no probe was answered"
    asked = options.sessions_per_day is not None or options.price_date is not None
    unknown = sorted(model for model, provider in comparison.simulation.providers.items() if provider.price is None)
    if asked and unknown and None in map(comparison.cost, comparison.modes):
        yield f"cost was asked for and could not be evaluated: no price of {listed(unknown)} is known"


def announce(source: str, modes: Sequence[str], settings: ModeSettings, options: ReplayOptions) -> None:
    """Say on stderr what is about to run, as far as the user wants to hear it."""
    if not options.quiet:
        for override in settings.overrides(modes):
            note(f"note: {override}")
    if options.verbose and settings.file.path:
        note(f"settings from {settings.file.where}")
    if options.verbose:
        note(f"replaying {source} through {', '.join(modes)}")


def _made_with(comparison: Comparison, file: ConfigFile) -> dict[str, Any]:
    """What a run folder says of how it was made."""
    return {
        "ctxmode": __version__,
        "python": platform.python_version(),
        "model": comparison.model,
        "encoding": comparison.encoding,
        "seed": comparison.seed,
        "selection": asdict(comparison.selection),
        "simulation": described(comparison.simulation),
        "position_profile": asdict(comparison.position_profile),
        "settings": {name: asdict(config) for name, config in comparison.configs.items()},
        "inputs": [{"name": name, "sha256": sha256} for name, sha256 in comparison.sources],
        "endpoint": comparison.endpoint,
        "asked_for": list(comparison.asked_for),
        "answers": comparison.answers_from and comparison.answers_from._asdict(),
        "config": {"name": str(file.path), "sha256": file.sha256} if file.path else None,
    }


def _print(comparison: Comparison, form: str) -> None:
    if form == "table":
        text = as_table(comparison, width=terminal_width(), colour=wants_colour())
    else:
        text = FORMATS[form](comparison)
    write_result(text)
