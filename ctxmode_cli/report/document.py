"""The results as one document: format 1 of the JSON that gates, snapshots and tests read."""

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from ctxmode_cli import __version__
from ctxmode_cli.replay.breakdown import Axis, Breakdown, WorstCase
from ctxmode_cli.replay.harm_totals import HarmTotals
from ctxmode_cli.replay.results import AuxiliaryCalls, Comparison, DataTotals, Histogram, ModeTotals
from ctxmode_cli.replay.statistics import MEASURES
from ctxmode_cli.replay.stored import FORMAT
from ctxmode_cli.replay.turns import TurnPoint
from ctxmode_cli.report.answer import answer
from ctxmode_cli.report.gate_checks import gate_document
from ctxmode_cli.report.notes import notes, null_notes
from ctxmode_cli.report.rows import as_float
from ctxmode_cli.score.harm import HARMS
from ctxmode_cli.score.position import PositionProfile
from ctxmode_cli.simulate.charges import Provider
from ctxmode_cli.simulate.latency import LatencyProfile

MILLION = 1_000_000
_PERCENTS = (*range(5, 100, 5), 99, 100)


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
        "prices": _prices(comparison),
        "prompt_cache": _prompt_cache(comparison),
        "latency_profile": _profile(comparison.simulation.profile),
        "position_profile": _profile(comparison.position_profile),
        "notes": [*notes(comparison), *null_notes(comparison)],
        "data": _data(comparison.data, comparison),
        "modes": {name: _mode(totals, name, comparison) for name, totals in comparison.modes.items()},
        "break_even": [
            {"mode": pair.mode, "than": pair.than, "from_turn": pair.cached, "from_turn_uncached": pair.uncached}
            for pair in comparison.break_evens()
        ],
        "differences": {name: _differences(name, comparison) for name in comparison.others},
        "gate": None if comparison.gate is None else gate_document(comparison.gate),
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
    breakdown = comparison.breakdowns.get(name, Breakdown())
    return {
        "requests": totals.requests,
        "unsendable": _counts(totals.unsendable),
        "invalid": _counts(totals.invalid),
        "trimmed": totals.trimmed,
        "stepped_down": _counts(totals.stepped_down),
        "tokens": _tokens(totals.prompt_tokens),
        "cached_tokens": _cached(totals),
        "latency_s": _latency(totals.latency_ms, comparison),
        "cost_usd": _cost(name, comparison),
        "recall": {
            "in_context": _figure("recall.in_context", name, comparison),
            "modelled": _modelled(name, comparison),
            "answered": _answered(name, comparison),
            "normalised": as_float(comparison.normalised_recall(name)),
            "by": {axis: _shares(part) for axis, part in breakdown.axes.items()},
            "lost": _counts(breakdown.went),
        },
        "worst": [_worst(case) for case in breakdown.worst],
        "intervals": {measure: _figure(measure, name, comparison) for measure in MEASURES},
        "harm": _harm(name, comparison),
        **{f"{purpose}_calls": _calls(calls) for purpose, calls in totals.calls.items()},
        "by_turn": [_turn(point) for point in comparison.by_turn(name)],
    }


def _figure(measure: str, name: str, comparison: Comparison) -> dict[str, Any] | None:
    """A figure with its 95 % interval; null where it is unknown, its ends null where nothing says how sure it is."""
    value = comparison.value(name, measure)
    interval = comparison.interval(name, measure)
    if value is None:
        return None
    return {"value": float(value), "low": None, "high": None} if interval is None else interval._asdict()


def _modelled(name: str, comparison: Comparison) -> dict[str, Any] | None:
    figure = _figure("recall.modelled", name, comparison)
    return None if figure is None else figure | {"profile": comparison.position_profile.name}


def _answered(name: str, comparison: Comparison) -> dict[str, Any] | None:
    """With the probes that were answered, those that could not be, the model, and the judge, null for the matcher.

    Null where there is no answer.
    """
    figure, source, totals = (
        _figure("recall.answered", name, comparison),
        comparison.answers_from,
        comparison.modes[name],
    )
    if figure is None or source is None:
        return None
    counts = {"probes": totals.answered.probes, "unanswered": totals.unanswered}
    return figure | counts | {"model": source.model, "judge": source.judge}


def _differences(name: str, comparison: Comparison) -> dict[str, Any]:
    """A mode's figures less the baseline's, with paired 95 % intervals."""
    differences = {measure: comparison.difference(name, measure) for measure in MEASURES}
    return {measure: None if found is None else found._asdict() for measure, found in differences.items()}


def _shares(axis: Axis) -> dict[str, Any] | None:
    """What becomes of the probes by one thing that they differ in; null where they differ too much."""
    if axis.shares is None:
        return None
    return {
        value: {"probes": share.probes, "in_context": float(share.in_context), "modelled": float(share.modelled)}
        for value, share in sorted(axis.shares.items())
    }


def _worst(case: WorstCase) -> dict[str, Any]:
    return {
        "conversation": case.conversation,
        "facts": case.facts,
        "lost": float(case.lost),
        "lost_facts": [fact._asdict() for fact in case.lost_facts],
    }


def _harm(name: str, comparison: Comparison) -> dict[str, Any] | None:
    """Counts and the first cases; null without facts."""
    if not comparison.data.facts:
        return None
    harm = comparison.harm.get(name, HarmTotals())
    cases = [
        case._asdict() | {"sent": case.sent or None, "message": None if case.message < 0 else case.message}
        for case in harm.cases
    ]
    return {**{kind: harm.counts[kind] for kind in HARMS}, "cases": cases}


def _calls(calls: AuxiliaryCalls) -> dict[str, int]:
    """Their counts; what they cost is in `cost_usd`."""
    return {
        "count": calls.count,
        "failed": calls.failed,
        "prompt_tokens": calls.prompt_tokens,
        "completion_tokens": calls.completion_tokens,
        "unseen_tokens": calls.unseen_tokens,
    }


def _tokens(tokens: Histogram) -> dict[str, Any]:
    return {
        "mean": as_float(tokens.mean),
        "p50": tokens.percentile(50),
        "p95": tokens.percentile(95),
        "total": tokens.total,
    }


def _cached(totals: ModeTotals) -> dict[str, Any]:
    total = totals.bill.total.cached
    size = totals.prompt_tokens.size
    return {"mean": total / size if size else None, "total": total, "share": as_float(totals.cached_share)}


def _latency(latency_ms: Histogram, comparison: Comparison) -> dict[str, Any] | None:
    """Seconds; null where no request has a known reply."""
    mean = latency_ms.mean
    if mean is None:
        return None
    percentiles = {percent: ms / 1000 for percent, ms in zip(_PERCENTS, latency_ms.percentiles(_PERCENTS), strict=True)}
    return {
        "mean": float(mean / 1000),
        **{f"p{percent}": percentiles[percent] for percent in (50, 95, 99)},
        "percentiles": {str(percent): value for percent, value in percentiles.items()},
        "profile": comparison.simulation.profile.name,
    }


def _turn(point: TurnPoint) -> dict[str, Any]:
    """USD a session of so many turns."""
    return {
        "turns": point.turns,
        "sessions": point.sessions,
        "tokens_mean": as_float(point.tokens_mean),
        "cost_usd": as_float(point.cost),
        "cost_uncached_usd": as_float(point.cost_uncached),
    }


def _cost(name: str, comparison: Comparison) -> dict[str, Any] | None:
    """USD; null where a price is unknown, or nothing can be sent."""
    cost, uncached = comparison.cost(name), comparison.cost(name, cached=False)
    if cost is None or uncached is None:
        return None
    return {
        "total": float(cost.total),
        "total_uncached": float(uncached.total),
        **{f"{purpose}_calls": float(usd) for purpose, usd in cost.calls.items()},
        "per_request": float(Fraction(cost.total) / comparison.modes[name].prompt_tokens.size),
        "per_session": as_float(comparison.session_cost(name)),
        "per_session_uncached": as_float(comparison.session_cost(name, cached=False)),
        "per_day": as_float(comparison.daily_cost(name)),
        "relative": as_float(comparison.relative_cost(name)),
        "relative_uncached": as_float(comparison.relative_cost(name, cached=False)),
    }


def _prices(comparison: Comparison) -> dict[str, Any] | None:
    """Where the session model's price comes from, and what each model costs; null where that price is unknown."""
    providers = comparison.simulation.providers
    price = providers[comparison.model].price
    if price is None:
        return None
    models = {model: _price(provider) for model, provider in sorted(providers.items())}
    return {"source": price.source, "date": price.date, "models": models}


def _price(provider: Provider) -> dict[str, Any] | None:
    """USD per million tokens, tier by tier."""
    if provider.price is None or provider.rates is None:
        return None
    tiers = [
        {"above": tier.above}
        | {key: float(getattr(tier, key) * MILLION) for key in ("input", "cached", "write", "output")}
        for tier in provider.rates.tiers
    ]
    return {"source": provider.price.source, "date": provider.price.date, "usd_per_million": tiers}


def _prompt_cache(comparison: Comparison) -> dict[str, Any]:
    simulation = comparison.simulation
    rules = {model: provider.rule for model, provider in sorted(simulation.providers.items())}
    return {
        "rules": {
            model: {"name": rule.name, "source": rule.source, "date": rule.date, "note": rule.note}
            for model, rule in rules.items()
        },
        "scope": "shared" if simulation.warm_system else "session",
        "think_time_s": simulation.think_time_s,
        "clocks": _counts(comparison.data.clocks),
    }


def _profile(profile: LatencyProfile | PositionProfile) -> dict[str, Any]:
    return {"name": profile.name, "source": profile.source, "date": profile.date, "note": profile.note}


def _counts(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))
