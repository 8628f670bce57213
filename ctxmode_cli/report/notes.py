"""What a reader of the numbers must know: what was not evaluated, what was assumed, what is wrong with the data."""

from collections import defaultdict
from collections.abc import Iterator

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.replay.breakdown import MAX_VALUES
from ctxmode_cli.replay.results import Comparison, ModeTotals
from ctxmode_cli.replay.statistics import MEASURES
from ctxmode_cli.report.simulated import cost_notes, latency_notes, unknown_price_notes
from ctxmode_cli.report.words import counted, listed
from ctxmode_cli.score.harm import HARMS

TEACHER_FORCED = "replay is teacher-forced: history is what was recorded, whatever a mode would have made the model say"
NOT_ANSWERED = "answered recall is null: --answer asks for it"
NO_GATE = "gate is null: --gate, --against or [gate] of the configuration file asks for it"
FEW = 200
"""With fewer conversations than this, a bootstrap's intervals are too narrow."""
_FAULTS = {
    "orphan_result": ("tool result answers no call", "tool results answer no call"),
    "unanswered_call": ("call has no result", "calls have no result"),
}


def notes(comparison: Comparison) -> list[str]:
    """The notes of a comparison, each one sentence: what is wrong with it first, then what its figures mean."""
    return [
        *mode_notes(comparison),
        *_data_notes(comparison),
        *unknown_price_notes(comparison),
        *_recall_notes(comparison),
        *_answer_notes(comparison),
        *_harm_notes(comparison),
        *_interval_notes(comparison),
        TEACHER_FORCED,
        *cost_notes(comparison),
        *latency_notes(comparison),
        *call_notes(comparison),
    ]


def null_notes(comparison: Comparison) -> Iterator[str]:
    """Why figures are null that the table does not show, and only the JSON has."""
    yield from _not_asked(comparison)
    if not comparison.data.facts:
        yield "harm is null: no facts are labelled"
    if not comparison.data.requests:
        yield "there is no request, so tokens, cost and latency are null"
    if any(
        comparison.value(name, measure) is not None and comparison.interval(name, measure) is None
        for name in comparison.modes
        for measure in MEASURES
    ):
        yield "intervals and differences are null where fewer than two conversations say something of them"
    breakdowns = comparison.breakdowns.values()
    given_up = sorted({name for part in breakdowns for name, axis in part.axes.items() if axis.shares is None})
    if given_up:
        yield f"recall (in context, modelled) by {listed(given_up)} is null: more than {MAX_VALUES} values say nothing"
    baseline = comparison.cost(comparison.baseline)
    if not comparison.modes[comparison.baseline].prompt_tokens.size:
        yield f"relative cost is null: {comparison.baseline} sends nothing"
    elif baseline is not None and not baseline.total:
        yield f"relative cost is null: {comparison.baseline} costs nothing"
    if comparison.data.probes and comparison.normalised_recall(comparison.baseline) is None:
        yield "normalised recall (in context) is null: it takes zero and full, and a gap between them"


def _not_asked(comparison: Comparison) -> Iterator[str]:
    """What an option would have asked for."""
    if comparison.answers_from is None:
        yield NOT_ANSWERED
    if comparison.gate is None:
        yield NO_GATE
    if comparison.sessions_per_day is None:
        yield "cost per day is null: --sessions-per-day asks for it"


def _recall_notes(comparison: Comparison) -> Iterator[str]:
    data = comparison.data
    if not data.facts:
        yield "no facts are labelled, so recall of any kind is null and nothing says what a mode loses"
    elif not data.probes:
        yield "no label can be probed, so recall of any kind is null; --probes all asks for each fact in every later turn"
    else:
        profile = comparison.position_profile
        yield (
            f"recall (in context) is an upper bound: the value was in what would be sent; recall (modelled) is that times "
            f"how likely it is used where it stands: profile {profile.name}{f', {profile.note}' if profile.note else ''}"
        )
    if data.unprobed:
        yield f"left out, since no request needs the fact from history: {counted(data.unprobed, 'labelled probe')}"
    if data.unmatched_facts:
        more = data.unmatched_facts - len(data.unmatched_listed)
        listed = "; ".join(data.unmatched_listed) + (f"; and {more} more" if more else "")
        yield f"{counted(data.unmatched_facts, 'fact')} not found where the label says, counted as lost: {listed}"


def _answer_notes(comparison: Comparison) -> Iterator[str]:
    """Who was asked what, and what could not be had."""
    source = comparison.answers_from
    if source is None:
        return
    yield (
        f"recall (answered): {source.model} at {source.endpoint} was asked what each mode sends and the probe's question; "
        f"in every mode the same {counted(source.per_conversation, 'probe')} of a conversation at most, drawn by the seed; "
        f"the answers were {source.graded}"
    )
    for name, totals in comparison.modes.items():
        if totals.unanswered:
            had = "had" if source.judge is None else "had or judged"
            which = counted(totals.unanswered, "answer")
            yield f"{name}: {which} could not be {had}: left out of recall (answered), which is null where there is none"


def _harm_notes(comparison: Comparison) -> Iterator[str]:
    """What is worse than lost."""
    for name, harm in comparison.harm.items():
        stale, contradicted = (harm.counts[kind] for kind in HARMS)
        if stale or contradicted:
            yield (
                f"{name}: harm: {counted(stale, 'time')} a value that no longer held was sent (stale), "
                f"{counted(contradicted, 'contradicted fact')} in summaries"
            )


def _interval_notes(comparison: Comparison) -> Iterator[str]:
    """What the intervals of recall are, and which differences they leave open."""
    measure = "recall.in_context"
    if comparison.interval(comparison.baseline, measure) is None:
        return
    count = comparison.replicates.conversations(comparison.baseline, measure)
    if count < FEW:
        yield (
            f"intervals (95 %, bootstrap over conversations) are too narrow: {count} conversations tell of recall (in context), "
            f"fewer than {FEW}"
        )
    differences = {name: comparison.difference(name, measure) for name in comparison.others}
    level = [name for name, found in differences.items() if found is not None and found.low <= 0 <= found.high]
    if level:
        yield (
            f"recall (in context): the data cannot separate {listed(level)} from {comparison.baseline}, since the "
            f"interval of the difference includes 0"
        )


def _data_notes(comparison: Comparison) -> Iterator[str]:
    data, selection = comparison.data, comparison.selection
    if selection.sample is not None:
        yield f"not all of the data: a sample of at most {counted(selection.sample, 'conversation')} (--sample)"
    if selection.limit is not None:
        yield f"not all of the data: at most the first {counted(selection.limit, 'conversation')} (--limit)"
    if comparison.skipped:
        yield f"skipped: {counted(comparison.skipped, 'bad record')}"
    if data.open_requests:
        yield f"{counted(data.open_requests, 'open request')}: the record ends before the reply, so only input is billed"
    for check, count in sorted(data.record_faults.items()):
        fault = _FAULTS[check][count > 1]
        yield f"in the records themselves, {count:,} {fault}; such requests are replayed as they were"
    if data.uncounted_parts:
        parts = ", ".join(f"{count} {kind}" for kind, count in sorted(data.uncounted_parts.items()))
        yield f"no published rule counts the tokens of these parts, which count 0: {parts}"


def mode_notes(comparison: Comparison) -> Iterator[str]:
    """What is to be said of modes, once for all of which it is true."""
    modes: defaultdict[str, list[str]] = defaultdict(list)
    for name, config in comparison.configs.items():
        for text in _mode_texts(config, comparison.modes[name], comparison.window):
            modes[text].append(name)
    for text, names in modes.items():
        yield f"{', '.join(names)}: {text}"


def _mode_texts(config: ContextConfig, totals: ModeTotals, window: int) -> Iterator[str]:
    room = config.budget(window).request
    if config.mode != "full" and config.max_tokens > room:
        yield f"--max-tokens {config.max_tokens} is clamped to {room}, the window of {window} less the reserved output"
    if totals.invalid:
        checks = ", ".join(f"{check}: {count:,}" for check, count in sorted(totals.invalid.items()))
        yield f"requests that an API would refuse ({checks})"
    if totals.unsendable:
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(totals.unsendable.items()))
        yield (
            f"{counted(totals.unsendable.total(), 'request')} cannot be sent within the budget ({reasons}); "
            f"counted 0 in recall of any kind, left out of means and costs"
        )
    if totals.stepped_down:
        steps = ", ".join(f"{count} to {step}" for step, count in sorted(totals.stepped_down.items()))
        yield f"requests stepped down to a simpler mode: {steps}"


def call_notes(comparison: Comparison) -> Iterator[str]:
    """How calls beside the requests are made, and what they never saw."""
    for name, config in comparison.configs.items():
        for purpose, calls in comparison.modes[name].calls.items():
            if not calls.count:
                continue
            how, unseen, made = _CALL_NOTES[purpose]
            yield f"{name}: its {purpose} calls go to {config.summarising_model}, {how(config)}" + (
                f"; {calls.unseen_tokens:,} tokens {unseen} were over its window and never seen"
                if calls.unseen_tokens
                else ""
            )
            if purpose in comparison.asked_for:
                yield f"{name}: its {made} came from openai, model {config.summarising_model} at {comparison.endpoint}"


def _summary_calls(config: ContextConfig) -> str:
    prefix = "behind the session's own prefix" if config.summary_prefix == "session" else "on their own"
    waits = "while requests wait" if config.summary_call == "blocking" else "in the background, outside the latency"
    return f"{prefix}, {waits}"


def _card_calls(_config: ContextConfig) -> str:
    return "one for each user message of earlier turns, in the background, outside the latency"


_CALL_NOTES = {
    "summary": (_summary_calls, "to summarise", "summaries"),
    "card": (_card_calls, "of user messages", "fact card's facts"),
}
"""How calls of each purpose are made, what they never saw, and what came of them."""
