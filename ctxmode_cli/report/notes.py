"""What a reader of the numbers must know: what was not evaluated, what was assumed, what is wrong with the data."""

from collections.abc import Iterator

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.replay.results import Comparison, ModeTotals
from ctxmode_cli.report.simulated import cost_notes, latency_notes
from ctxmode_cli.report.words import counted

TEACHER_FORCED = (
    "replay is teacher-forced: the history of each request is what was recorded, whatever a mode would have made the "
    "model say"
)
NOT_YET = "modelled and answered recall, intervals, differences, harm and gate are null: not evaluated"
_FAULTS = {
    "orphan_result": ("tool result answers no call", "tool results answer no call"),
    "unanswered_call": ("call has no result", "calls have no result"),
}


def notes(comparison: Comparison) -> list[str]:
    """The notes of a comparison, each one sentence."""
    return [
        TEACHER_FORCED,
        NOT_YET,
        *cost_notes(comparison),
        *latency_notes(comparison),
        *_recall_notes(comparison),
        *_data_notes(comparison),
        *mode_notes(comparison),
    ]


def _recall_notes(comparison: Comparison) -> Iterator[str]:
    data = comparison.data
    if not data.facts:
        yield "no facts are labelled, so nothing here says what a mode loses"
    elif not data.probes:
        yield "no label can be probed, so recall is null; --probes all asks for each fact in every later turn"
    else:
        yield (
            "recall is in context: the value was in what would be sent; a model may still not use it, so it is an "
            "upper bound"
        )
        if comparison.normalised_recall(comparison.baseline) is None:
            yield "normalised recall is null: it takes zero and full, and a gap between them"
    if data.unprobed:
        yield f"left out, since no request needs the fact from history: {counted(data.unprobed, 'labelled probe')}"
    if data.unmatched_facts:
        more = data.unmatched_facts - len(data.unmatched_listed)
        listed = "; ".join(data.unmatched_listed) + (f"; and {more} more" if more else "")
        yield f"{counted(data.unmatched_facts, 'fact')} not found where the label says, counted as lost: {listed}"


def _data_notes(comparison: Comparison) -> Iterator[str]:
    data, selection = comparison.data, comparison.selection
    if selection.sample is not None:
        yield f"not all of the data: a sample of at most {counted(selection.sample, 'conversation')} (--sample)"
    if selection.limit is not None:
        yield f"not all of the data: at most the first {counted(selection.limit, 'conversation')} (--limit)"
    if comparison.skipped:
        yield f"skipped: {counted(comparison.skipped, 'bad record')}"
    if data.open_requests:
        yield f"{counted(data.open_requests, 'open request')}: the record ends before the reply"
    for check, count in sorted(data.record_faults.items()):
        fault = _FAULTS[check][count > 1]
        yield f"in the records themselves, {count:,} {fault}; such requests are replayed as they were"
    if data.uncounted_parts:
        parts = ", ".join(f"{count} {kind}" for kind, count in sorted(data.uncounted_parts.items()))
        yield f"no published rule counts the tokens of these parts, which count 0: {parts}"


def mode_notes(comparison: Comparison) -> Iterator[str]:
    """What the settings of each mode made of its requests."""
    for name, config in comparison.configs.items():
        totals = comparison.modes[name]
        room = config.budget(comparison.window).request
        if config.mode != "full" and config.max_tokens > room:
            yield (
                f"{name}: --max-tokens {config.max_tokens} is clamped to {room}, the window of {comparison.window} "
                f"less the reserved output"
            )
        if totals.summary_calls.count:
            yield _calls_note(name, config, totals)
        if totals.invalid:
            checks = ", ".join(f"{check}: {count:,}" for check, count in sorted(totals.invalid.items()))
            yield f"{name}: requests that an API would refuse ({checks})"
        if totals.unsendable:
            reasons = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(totals.unsendable.items()))
            yield (
                f"{name}: {counted(totals.unsendable.total(), 'request')} cannot be sent within the budget ({reasons}); "
                f"counted 0 in recall, left out of the means"
            )
        if totals.stepped_down:
            steps = ", ".join(f"{count} to {step}" for step, count in sorted(totals.stepped_down.items()))
            yield f"{name}: requests stepped down to a simpler mode: {steps}"


def _calls_note(name: str, config: ContextConfig, totals: ModeTotals) -> str:
    """How the summary calls are made, and what they never saw."""
    prefix = "behind the session's own prefix" if config.summary_prefix == "session" else "on their own"
    waits = "requests wait for them" if config.summary_call == "blocking" else "in the background, outside the latency"
    text = f"{name}: summary calls go to {config.summarizing_model}, {prefix}, {waits}"
    unseen = totals.summary_calls.unseen_tokens
    return f"{text}; {unseen:,} tokens to summarise were over its window and never seen" if unseen else text
