"""The results as one document: format 1 of the JSON that gates, snapshots and tests read."""

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from ctxmode_cli import __version__
from ctxmode_cli.replay.results import Comparison, DataTotals, Histogram, ModeTotals
from ctxmode_cli.report.answer import answer
from ctxmode_cli.report.notes import notes

FORMAT = 1


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison in format 1; null where something was not evaluated, with the reason in `notes`."""
    return {
        "format": FORMAT,
        "version": __version__,
        "baseline": comparison.baseline,
        "model": comparison.model,
        "encoding": comparison.encoding,
        "seed": comparison.seed,
        "selection": asdict(comparison.selection),
        "settings": {name: asdict(config) for name, config in comparison.configs.items()},
        "prices": None,
        "notes": notes(comparison),
        "data": _data(comparison.data, comparison),
        "modes": {name: _mode(totals, name, comparison) for name, totals in comparison.modes.items()},
        "differences": None,
        "gate": None,
        "answer": answer(comparison),
    }


def _data(data: DataTotals, comparison: Comparison) -> dict[str, Any]:
    return {
        "conversations": data.conversations,
        "requests": data.requests,
        "open_requests": data.open_requests,
        "facts": data.facts,
        "probes": data.probes,
        "unprobed": data.unprobed,
        "unmatched": data.unmatched_facts,
        "skipped": comparison.skipped,
        "record_faults": _counts(data.record_faults),
        "sources": [{"name": name, "sha256": sha256} for name, sha256 in comparison.sources],
    }


def _mode(totals: ModeTotals, name: str, comparison: Comparison) -> dict[str, Any]:
    recall = totals.recall.value
    return {
        "requests": totals.requests,
        "unsendable": _counts(totals.unsendable),
        "invalid": _counts(totals.invalid),
        "trimmed": totals.trimmed,
        "stepped_down": _counts(totals.stepped_down),
        "tokens": _tokens(totals.prompt_tokens),
        "cached_tokens": None,
        "latency_s": None,
        "cost_usd": None,
        "recall": {
            "in_context": None if recall is None else {"value": float(recall), "low": None, "high": None},
            "modelled": None,
            "answered": None,
            "normalised": _float(comparison.normalised_recall(name)),
        },
        "harm": None,
        "summary_calls": asdict(totals.summary_calls),
    }


def _tokens(tokens: Histogram) -> dict[str, Any]:
    return {
        "mean": _float(tokens.mean),
        "p50": tokens.percentile(50),
        "p95": tokens.percentile(95),
        "total": tokens.total,
    }


def _counts(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
