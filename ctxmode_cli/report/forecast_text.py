"""A forecast in words: what it rests on, from which turn on a mode is the cheaper one, and the answer."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from ctxmode_cli.context.config import ContextMode
from ctxmode_cli.replay.forecast import Forecast, Point
from ctxmode_cli.replay.turns import BreakEven
from ctxmode_cli.report.notes import call_notes, mode_notes
from ctxmode_cli.report.simulated import cost_notes, latency_notes, unknown_price_notes
from ctxmode_cli.report.words import counted, listed, percent, seconds, usd

OF_SHORTER = (
    "figures at a number of turns are those of sessions that end there: costs are means of a session, summary calls "
    "included, p95 is over all its requests"
)
NOTHING_LOST = (
    "a forecast says nothing of the facts that a mode loses: ctxmode compare does, on conversations with labelled facts"
)


def forecast_heading(forecast: Forecast) -> str:
    """What was looked at, with which tokenizer."""
    comparison = forecast.comparison
    return (
        f"{counted(comparison.data.conversations, 'session')} of {counted(forecast.turns, 'turn')}, {forecast.sessions}; "
        f"tokens of {comparison.model} ({comparison.encoding}), seed {comparison.seed}"
    )


def forecast_notes(forecast: Forecast) -> list[str]:
    """What a reader of the figures must know, each one sentence."""
    return [
        *mode_notes(forecast.comparison),
        *_trimmed_notes(forecast),
        *unknown_price_notes(forecast.comparison),
        NOTHING_LOST,
        OF_SHORTER,
        *_drawn_notes(forecast),
        *cost_notes(forecast.comparison),
        *latency_notes(forecast.comparison),
        *call_notes(forecast.comparison),
        *_summary_notes(forecast),
    ]


def break_even_lines(forecast: Forecast) -> list[str]:
    """A sentence for each mode against the baseline, and for each mode against the cheapest of the longest sessions."""
    baseline = forecast.comparison.baseline
    found = {(pair.mode, pair.than): pair for pair in forecast.break_evens()}
    lines = [_sentence(forecast, pair) for pair in found.values() if pair.than == baseline]
    if not forecast.is_priced or not forecast.sendable:
        return lines
    best = cheapest(forecast, cached=True)[0]
    others = [pair for pair in found.values() if pair.mode == best and baseline not in {best, pair.than}]
    return lines + [_sentence(forecast, pair) for pair in others if (pair.cached, pair.uncached) != (None, None)]


def cheapest(forecast: Forecast, *, cached: bool) -> list[str]:
    """The modes that cost least for the longest sessions, of those that can send anything, where all costs are known."""
    costs = {mode: cost_of(forecast.points[mode][-1], cached=cached) or 0 for mode in forecast.sendable}
    return [mode for mode, cost in costs.items() if cost == min(costs.values())]


def cost_of(point: Point, *, cached: bool) -> Decimal | None:
    """USD a session, with the prompt cache or without it."""
    return point.cost if cached else point.cost_uncached


def forecast_answer(forecast: Forecast) -> str:
    """One sentence to decide by; a mode with unsendable requests is never named without their number."""
    if not forecast.sendable:
        return "No mode can send any of these requests within its budget."
    if not forecast.is_priced:
        mode = min(forecast.sendable, key=lambda name: forecast.points[name][-1].tokens_total)
        tokens = f"{float(forecast.points[mode][-1].tokens_total):,.0f} prompt tokens a session"
        return f"Prices are unknown, so no mode can be called the cheapest; at {_turns(forecast)} {_named(forecast, mode)} sends the fewest tokens: {tokens}."
    best, best_uncached = (cheapest(forecast, cached=cached) for cached in (True, False))
    text = f"At {_turns(forecast)} {_cost_least(forecast, best)} {_figures(forecast, best[0], cached=True)}"
    if not has_cache(forecast):
        return f"{text}."
    without = _cost(forecast, best_uncached[0], cached=False)
    if best == best_uncached:
        return f"{text}; without the prompt cache {without}{' and still least' if len(forecast.points) > 1 else ''}."
    beside = _cost(forecast, best[0], cached=False)
    return f"{text}; without the prompt cache {_cost_least(forecast, best_uncached)} {without}, against {beside} with {best[0]}."


def _cost_least(forecast: Forecast, modes: Sequence[str]) -> str:
    """The modes, and that they cost least, up to the figure."""
    first, *others = (_named(forecast, mode) for mode in modes)
    if others:
        return f"{listed([first, *others])} cost least:"
    return f"{first} costs least:" if len(forecast.points) > 1 else f"{first} costs"


def _sentence(forecast: Forecast, pair: BreakEven) -> str:
    """From which turn on one mode is cheaper than another, with the cache and without it."""
    mode, than, within = _named(forecast, pair.mode), _named(forecast, pair.than), f"within {_turns(forecast)}"
    beats = f"{mode} beats {than} on cost"
    if pair.cached == pair.uncached:
        both = ", with the prompt cache or without it" if has_cache(forecast) else ""
        if pair.cached is None:
            return f"{mode} never beats {than} on cost {within}{both}."
        return f"{beats} {_from(pair.cached)}{both}."
    if pair.cached is None:
        return f"{beats} {_from(pair.uncached)} without the prompt cache, but with it never {within}."
    if pair.uncached is None:
        return f"{beats} {_from(pair.cached)} with the prompt cache, but without it never {within}."
    return f"{beats} {_from(pair.uncached)} without the prompt cache, {_from(pair.cached)} with it."


def _from(turn: int | None) -> str:
    return f"from turn {turn} on"


def _turns(forecast: Forecast) -> str:
    return counted(forecast.turns, "turn")


def has_cache(forecast: Forecast) -> bool:
    """Whether the provider's rule caches anything."""
    return forecast.comparison.simulation.providers[forecast.comparison.model].rule.minimum is not None


def _named(forecast: Forecast, mode: str) -> str:
    unsendable = forecast.points[mode][-1].unsendable
    return f"{mode} ({counted(unsendable, 'request')} unsendable)" if unsendable else mode


def _figures(forecast: Forecast, mode: str, *, cached: bool) -> str:
    """What the mode takes, beside what the baseline does."""
    baseline = forecast.comparison.baseline
    point, other = forecast.points[mode][-1], forecast.points[baseline][-1]
    cost, other_cost = cost_of(point, cached=cached), cost_of(other, cached=cached)
    text = _cost(forecast, mode, cached=cached)
    if point.latency_p95_ms is not None:
        text += f", p95 {seconds(point.latency_p95_ms / 1000)}"
    if mode == baseline or not cost or not other_cost:
        return text
    text += f"; that is {percent(cost / other_cost)} of {_named(forecast, baseline)}'s {usd(other_cost)}"
    return text if other.latency_p95_ms is None else f"{text}, whose p95 is {seconds(other.latency_p95_ms / 1000)}"


def _cost(forecast: Forecast, mode: str, *, cached: bool) -> str:
    """A session's cost, and a day's where the number of sessions is known."""
    cost = cost_of(forecast.points[mode][-1], cached=cached) or Decimal(0)
    daily = forecast.comparison.sessions_per_day
    return f"{usd(cost)} a session" if daily is None else f"{usd(cost)} a session ({usd(cost * daily)} a day)"


def _drawn_notes(forecast: Forecast) -> Iterator[str]:
    if forecast.comparison.sources:
        yield (
            "turns are drawn independently of each other and of their place: where real ones grow longer, or hang "
            "together, a forecast cannot tell"
        )
        if forecast.comparison.skipped:
            yield f"skipped: {counted(forecast.comparison.skipped, 'bad record')}"


def _summary_notes(forecast: Forecast) -> Iterator[str]:
    targets = sorted(
        {
            config.summary_target_tokens
            for mode, config in forecast.comparison.configs.items()
            if config.mode == ContextMode.SUMMARY and forecast.points[mode][-1].summary_calls
        }
    )
    if targets:
        sizes = " or ".join(f"{target:,}" for target in targets)
        yield f"each summary is taken to be new text that fills its target of {sizes} tokens; real ones are often shorter"


def _trimmed_notes(forecast: Forecast) -> Iterator[str]:
    for mode, points in forecast.points.items():
        first = next((point.turns for point in points if point.trimmed), None)
        if first is not None:
            yield f"{mode}: from turn {first} on the budget cuts requests shorter than the mode would have them"
