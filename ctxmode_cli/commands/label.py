"""`ctxmode label`: drafts of facts for logs that have none, for a person to check."""

import io
import sys
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ctxmode_cli.commands.console import note, tell_skipped, write_result
from ctxmode_cli.commands.options import MAX_ERRORS, ON_ERROR
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.report.words import counted

if TYPE_CHECKING:
    from ctxmode_cli.commands.review import Review
    from ctxmode_cli.conversation.conversation import Conversation
    from ctxmode_cli.conversation.files import Reading

JOURNAL_SUFFIX = ".review"
"""Not the ending of a log, so that a folder of logs can hold journals too."""


def label(
    data: Annotated[list[str], typer.Argument(metavar="LOGS", help='Logs: files, directories, globs; "-" is stdin.')],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The labelled log, such as labelled.jsonl.")
    ],
    review: Annotated[
        bool, typer.Option("--review", help="Ask about each draft; decisions are kept in FILE.review.")
    ] = False,
    add: Annotated[bool, typer.Option("--add", help="Draft for conversations that have facts already, too.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Label only the first N conversations.")] = None,
    output_format: Annotated[
        Literal["table", "json"], typer.Option("--format", help="Form of the summary on stdout.")
    ] = "table",
    on_error: ON_ERROR = "fail",
    max_errors: MAX_ERRORS = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors and questions.")] = False,
) -> None:
    """Draft the facts that conversations state, when they change and where they are needed again.

    Each option can also be set in the environment, as CTXMODE_ and its name.

    Facts that a record has already are kept as they are. A draft says which rule made it, and "reviewed" once a person
    has confirmed it; decisions of an earlier review of the same FILE hold again.
    """
    from ctxmode_cli.commands.outputs import refuse_inputs
    from ctxmode_cli.commands.progress import progress
    from ctxmode_cli.commands.review import Journal, Review
    from ctxmode_cli.conversation.files import Reading, open_writer
    from ctxmode_cli.conversation.inputs import STDIN

    if output == STDIN:
        raise CtxmodeError("-o takes a file, and not stdout", where=output, hint="stdout has the summary of the drafts")
    if review and STDIN in data:
        raise CtxmodeError("stdin has the answers of a review, and cannot have the log too", where=STDIN)
    reading = Reading(data, on_error=on_error, max_errors=max_errors)
    journal_path = Path(output + JOURNAL_SUFFIX)
    refuse_inputs(reading.inputs, [output, str(journal_path)])
    if review and isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    tally = _Tally()
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(journal_path))
        if journal and not quiet:
            note(f"{counted(len(journal), 'decision')} of an earlier review hold again: {journal_path}")
        writer = stack.enter_context(open_writer(output))
        reviewing = Review(journal, asks=review)
        conversations = islice(reading.conversations(), limit)
        shown = stack.enter_context(closing(progress(conversations, quiet=quiet or review)))
        for conversation in shown:
            writer.write(_labelled(conversation, reviewing, tally, add=add))
    _tell(reading, tally, output_format)
    if review and tally.unreviewed and not quiet:
        note(f"{counted(tally.unreviewed, 'draft')} not reviewed yet: the same command goes on where you stopped")


@dataclass
class _Tally:
    """What was drafted."""

    conversations: int = 0
    labelled: int = 0
    """Conversations that had facts already and were left alone."""
    without: int = 0
    """Conversations for which there is no draft."""
    drafts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By kind and rule."""
    needed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Those with a `probe_at`."""
    rejected: int = 0
    unreviewed: int = 0

    def add(self, labels: list[dict[str, Any]], found: int) -> None:
        """Count the labels of one conversation, of as many drafts as were found."""
        self.without += not labels
        self.rejected += found - len(labels)
        for one in labels:
            key = one["kind"], one["rule"]
            self.drafts[key] += 1
            self.needed[key] += bool(one["probe_at"])
            self.unreviewed += "reviewed" not in one


def _labelled(conversation: "Conversation", review: "Review", tally: _Tally, *, add: bool) -> "Conversation":
    """The conversation with its drafts, where it is to have any."""
    from ctxmode_cli.language.drafting import as_labels, find_drafts

    tally.conversations += 1
    if conversation.facts and not add:
        tally.labelled += 1
        return conversation
    drafts = find_drafts(conversation.messages, conversation.facts)
    labels = as_labels(review.settle(drafts, conversation), conversation.messages)
    tally.add(labels, len(drafts))
    facts = [*(conversation.recorded.get("facts") or ()), *labels]
    return replace(conversation, recorded={**conversation.recorded, "facts": facts})


def _tell(reading: "Reading", tally: _Tally, output_format: str) -> None:
    """Write the summary to stdout."""
    from ctxmode_cli.commands.tables import write_table
    from ctxmode_cli.report.formats import to_json
    from ctxmode_cli.report.visible import visible

    ordered = sorted(tally.drafts, key=lambda key: (-tally.drafts[key], key))
    if output_format == "json":
        entries = [
            {"kind": kind, "rule": rule, "facts": tally.drafts[kind, rule], "needed": tally.needed[kind, rule]}
            for kind, rule in ordered
        ]
        counts = {
            name: getattr(tally, name) for name in ("conversations", "labelled", "without", "rejected", "unreviewed")
        }
        write_result(to_json({"format": 1, "drafts": entries, "skipped": reading.skipped, **counts}) + "\n")
    else:
        rows = (
            (visible(kind), rule, f"{tally.drafts[kind, rule]:,}", f"{tally.needed[kind, rule]:,}")
            for kind, rule in ordered
        )
        write_table("Drafts", ("kind", "rule", "facts", "needed again"), rows, left=2)
        write_result(_answer(tally) + "\n")
    tell_skipped(reading)


def _answer(tally: _Tally) -> str:
    """The result in one sentence."""
    drafted = tally.conversations - tally.labelled - tally.without
    parts = [
        f"{counted(tally.drafts.total(), 'fact')} drafted in {drafted:,} of {counted(tally.conversations, 'conversation')}"
    ]
    if tally.without:
        parts.append(f"{tally.without:,} without any")
    if tally.labelled:
        parts.append(f"{tally.labelled:,} had facts already and kept them (--add drafts more)")
    if tally.rejected:
        parts.append(f"{counted(tally.rejected, 'draft')} rejected")
    return "; ".join(parts) + "."
