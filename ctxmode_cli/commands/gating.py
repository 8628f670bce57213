"""The gate as the commands have it: what file and command line ask for, and how its verdict is told."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from ctxmode_cli.commands.config_file import ConfigFile
from ctxmode_cli.commands.console import note
from ctxmode_cli.commands.options import ReplayOptions
from ctxmode_cli.conversation.streams import file_sha256
from ctxmode_cli.errors import ExitCode
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.replay.stored import Run, open_run
from ctxmode_cli.replay.verdict import Verdict
from ctxmode_cli.report.document import document
from ctxmode_cli.report.gate import GateSettings, judge
from ctxmode_cli.report.gate_checks import check_line
from ctxmode_cli.report.gate_formats import MAX_ANNOTATIONS, annotations
from ctxmode_cli.report.snapshots import Snapshot, require_same_data
from ctxmode_cli.report.words import counted


def snapshot_of(run: Run) -> Snapshot:
    """A finished run for a comparison with another.

    Raises:
        CtxmodeError: Its rows cannot be read.
    """
    return Snapshot(run.results, run.by_conversation(), run.replicates())


@dataclass(frozen=True, slots=True)
class Gate:
    """What is to be checked, and against what."""

    settings: GateSettings
    against: Run | None
    allow_different_data: bool

    @classmethod
    def of(
        cls, file: ConfigFile, rules: Sequence[str] | None, against: str | None, *, allow_different_data: bool
    ) -> Self:
        """The gate of a command.

        Args:
            file: Its `[gate]` holds, too.
            rules: Of the command line.
            against: The snapshot: results, or a run folder.
            allow_different_data: Whether the snapshot may be of other data.

        Raises:
            CtxmodeError: A rule or the snapshot cannot be read.
        """
        settings = GateSettings.of(file.gate, file.where, rules or ())
        return cls(settings, open_run(against) if against else None, allow_different_data)

    @property
    def is_asked(self) -> bool:
        """Whether there is anything to check."""
        return bool(self.settings.rules or self.against)

    @property
    def inputs(self) -> list[str]:
        """What is read."""
        return [str(self.against.path)] if self.against else []

    @property
    def lists_conversations(self) -> bool:
        """Whether it takes each conversation, and not only totals."""
        return self.against is not None and self.against.run is not None

    def refuse_other_data(self, inputs: Sequence[str], options: ReplayOptions) -> None:
        """Tell before a long run what can be known then: that its data is not the snapshot's.

        Args:
            inputs: The files that are about to be read; none for the built-in sessions.
            options: What is chosen of them.

        Raises:
            CtxmodeError: It is not, and that is not wanted.
        """
        if self.against is None:
            return
        before = self.against.results
        digests = [file_sha256(path) for path in inputs]
        is_known = bool(inputs) and None not in digests
        sources = [{"sha256": digest} for digest in digests] if is_known else before["data"].get("sources")
        planned = {"seed": options.seed, "selection": asdict(options.selection)}
        self._refuse(planned | {"data": {**before["data"], "sources": sources}})

    def _refuse(self, now: Mapping[str, Any]) -> None:
        if self.against is not None:
            where, allowed = str(self.against.path), self.allow_different_data
            require_same_data(now, self.against.results, where=where, allow_different=allowed)

    def judge(self, now: Snapshot) -> Verdict:
        """What it says of a run.

        Raises:
            CtxmodeError: The snapshot is of other data, or its rows cannot be read.
        """
        if self.against is None:
            return judge(now, self.settings)
        self._refuse(now.document)
        return judge(now, self.settings, snapshot_of(self.against))

    def judged(self, comparison: Comparison) -> Comparison:
        """A comparison with what it says of it, where there is anything to check.

        Raises:
            CtxmodeError: As for `judge`.
        """
        if not self.is_asked:
            return comparison
        now = Snapshot(document(comparison), comparison.by_conversation, comparison.replicates)
        return replace(comparison, gate=self.judge(now))


def tell_verdict(verdict: Verdict | None, *, is_shown: bool) -> ExitCode:
    """Say on stderr what did not pass, unless stdout does; and to GitHub Actions as annotations.

    Args:
        verdict: What the gate says; None without one.
        is_shown: Whether a person reads it on stdout.
    """
    if verdict is None:
        return ExitCode.OK
    wrong = [check for check in verdict.checks if not check.passed]
    if not is_shown:
        for check in wrong[:MAX_ANNOTATIONS]:
            note(f"error: gate: {check_line(check)}")
        if len(wrong) > MAX_ANNOTATIONS:
            note(f"… and {counted(len(wrong) - MAX_ANNOTATIONS, 'more error')}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations(verdict):
            note(line)
    return verdict.code
