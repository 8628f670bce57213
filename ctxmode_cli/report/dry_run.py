"""A dry run in words and figures: the calls that a live run would make, and what they would cost."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from ctxmode_cli import __version__
from ctxmode_cli.llm import shown_url
from ctxmode_cli.replay.dry_run import CallTotals, DryRun
from ctxmode_cli.report.formats import to_json
from ctxmode_cli.report.rows import Column
from ctxmode_cli.report.simulated import price_notes, unknown_price_note
from ctxmode_cli.report.table import fitted_table, plain_console, wrapped
from ctxmode_cli.report.visible import visible
from ctxmode_cli.report.words import counted, listed, usd

FORMAT = 1
NOTHING = "Nothing would be sent: no mode and no option asks a model (--summarizer openai, --fact-card-extractor openai, --answer)."
_SIGNED = "{}".format
"""The form of figures that are text already, and stand right."""
_COLUMNS = (
    Column("mode", "mode", str),
    Column("purpose", "purpose", str),
    Column("model", "model", str),
    Column("calls", "calls", _SIGNED),
    Column("cached", "in the\ncache", _SIGNED),
    Column("prompt", "prompt\ntokens", _SIGNED),
    Column("output", "output\ntokens", _SIGNED),
    Column("cost", "cost", _SIGNED),
)


def dry_run_table(run: DryRun, *, width: int | None = None, colour: bool = False) -> str:
    """The table, notes and, last, the sum in a sentence.

    Args:
        run: What was counted.
        width: Columns of the terminal; None for a pipe, where nothing is wrapped or cut.
        colour: Whether to send terminal styles.
    """
    console = plain_console(colour=colour)
    last = wrapped(visible(dry_run_answer(run)), console, width)
    if not run.callers:
        return f"{last}\n"
    table = fitted_table(list(_rows(run)), _COLUMNS, console, width)
    notes = [wrapped(visible(line), console, width, "note: ") for line in dry_run_notes(run)]
    return "\n".join([*table, "", *notes, "", last, ""])


def _rows(run: DryRun) -> Iterator[Mapping[str, str]]:
    """One for each caller, and one for each model that has several; "≤" is a bound, "~" an estimate."""
    for caller, totals in run.callers.items():
        yield caller._asdict() | _cells(totals, run.cost(caller.model, totals))
    models = [caller.model for caller in run.callers]
    for model, totals in run.by_model().items():
        if models.count(model) > 1:
            yield {"mode": "all", "purpose": "all", "model": model} | _cells(totals, run.cost(model, totals))


def _cells(totals: CallTotals, cost: Decimal | None) -> dict[str, str]:
    usage = totals.bill.total
    about = "~" if totals.is_estimate else ""
    bound = about or ("≤" if totals.count else "")
    return {
        "calls": f"{about}{totals.count:,}",
        "cached": f"{totals.kept:,}",
        "prompt": f"{about}{usage.prompt:,}",
        "output": f"{bound}{usage.completion:,}",
        "cost": "price unknown" if cost is None else f"{bound}{usd(cost)}",
    }


def dry_run_notes(run: DryRun) -> Iterator[str]:
    """What the figures rest on."""
    if not run.callers:
        return
    yield (
        "output is unknown before it is written: counted is the most that each call allows; equal requests share one "
        "answer and are counted where it is asked for first; what is repeated after a failure is not counted"
    )
    estimated = defaultdict(list)
    for caller, totals in run.callers.items():
        if not totals.exact:
            estimated[caller.purpose].append(caller.mode)
    if estimated:
        about = listed([f"{purpose} ({', '.join(modes)})" for purpose, modes in estimated.items()])
        yield (
            f"estimates (~): {about} rest on answers that are not known yet; the offline summarizer's text stands in "
            f"for a summary, what the rules find for facts on a card, filler as long as it may be for an answer that is "
            f"judged"
        )
    foreign = {model: counter.model.name for model, counter in run.counters.items() if counter.model.name != model}
    for model, other in foreign.items():
        yield f"the encoding of {model} is unknown: its tokens are counted as those of {other}"
    yield from price_notes(run.providers)
    yield from unknown_price_note(run.unpriced())


def dry_run_answer(run: DryRun) -> str:
    """The sum in a sentence."""
    if not run.callers:
        return NOTHING
    total, cost = run.total()
    kept = f"; {counted(total.kept, 'answer')} would come from the cache" if total.kept else ""
    if not total.count:
        return f"Nothing would be sent{kept}."
    about, bound = ("about ", "about ") if total.is_estimate else ("", "at most ")
    usage = total.bill.total
    price = "at a price that is unknown" if cost is None else f"for {bound}{usd(cost)}"
    return (
        f"A live run would make {about}{counted(total.count, 'call')} to {shown_url(run.url)}, of {about}{usage.prompt:,} "
        f"prompt tokens and {bound}{usage.completion:,} tokens of output, {price}{kept}."
    )


def dry_run_json(run: DryRun, *, skipped: int) -> str:
    """The whole document; a cost is null where a price is unknown, which is said in `notes`.

    Args:
        run: What was counted.
        skipped: Records that were left out as faulty.
    """
    total, cost = run.total()
    return (
        to_json(
            {
                "format": FORMAT,
                "version": __version__,
                "endpoint": shown_url(run.url) or None,
                "skipped": skipped,
                "calls": [
                    caller._asdict() | _figures(totals, run.cost(caller.model, totals))
                    for caller, totals in run.callers.items()
                ],
                "models": {
                    model: _figures(totals, run.cost(model, totals)) for model, totals in run.by_model().items()
                },
                "total": _figures(total, cost),
                "notes": [*dry_run_notes(run)],
                "answer": dry_run_answer(run),
            }
        )
        + "\n"
    )


def _figures(totals: CallTotals, cost: Decimal | None) -> dict[str, Any]:
    usage = totals.bill.total
    return {
        "count": totals.count,
        "cached": totals.kept,
        "prompt_tokens": usage.prompt,
        "most_output_tokens": usage.completion,
        "cost_usd": None if cost is None else float(cost),
        "estimated": totals.is_estimate,
    }
