"""The last line of a comparison: which mode is cheapest among those that keep the facts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.words import counted, percent, usd

KEEPS_FACTS = Fraction(95, 100)
"""A mode keeps the facts where its recall in context is at least this share of the best mode's."""


@dataclass(frozen=True, slots=True)
class _Measure:
    """What modes are ranked by: their cost, or their tokens where a price is unknown."""

    does: str
    """`costs` or `sends`."""
    least: str
    """What the best mode does: `costs least`."""
    least_together: str
    """What several do that are level."""
    of: Callable[[str], Fraction]
    shown: Callable[[str], str]
    """A mode's figure, with what its summary calls are of it."""


def answer(comparison: Comparison) -> str:
    """One sentence to decide by; a mode with unsendable requests is never named without their number."""
    modes = comparison.modes
    if not comparison.data.requests:
        return "There is no request in these conversations, so there is nothing to compare."
    sendable = [name for name, totals in modes.items() if totals.prompt_tokens.size]
    if not sendable:
        return "No mode can send any of these requests within its budget."
    measure = _measure(comparison, sendable)
    if len(sendable) == 1:
        return _only(comparison, measure, sendable[0])
    turned = _turned(comparison, sendable)
    recalls = {name: value for name in sendable if (value := modes[name].recall.value) is not None}
    if not recalls:
        return f"{_cheapest(comparison, measure, sendable, '')}; without facts to probe, nothing says what is lost.{turned}"
    best = max(recalls.values())
    keepers = [name for name, value in recalls.items() if value and value >= KEEPS_FACTS * best]
    if not keepers:
        return "No mode has any of the facts in context."
    keeping = f"at least {float(KEEPS_FACTS):.0%} of the best recall in context"
    chosen = _level(comparison, measure, keepers)[0]
    if len(keepers) == 1:
        text = f"Only {_named(comparison, chosen)} keeps the facts ({keeping}): it {measure.does} "
        text += _spends(comparison, measure, chosen)
    else:
        text = _cheapest(comparison, measure, keepers, f" of the modes that keep the facts ({keeping})")
    return f"{text}{_kept(comparison, chosen)}{_next(comparison, measure, chosen, recalls)}.{turned}"


def _measure(comparison: Comparison, names: Sequence[str]) -> _Measure:
    costs = {name: comparison.cost(name) for name in names}
    sessions = comparison.data.conversations

    def cost(name: str) -> Fraction:
        known = costs[name]
        return Fraction(known.total) / sessions if known else Fraction()

    def shown_cost(name: str) -> str:
        known, calls = costs[name], comparison.modes[name].summary_calls.count
        if not known or not calls:
            return f"{usd(cost(name))} a session"
        spent = usd(known.summary_calls / sessions)
        return f"{usd(cost(name))} a session ({spent} of it for {counted(calls, 'summary call')} in all)"

    def tokens(name: str) -> Fraction:
        return comparison.modes[name].prompt_tokens.mean or Fraction()

    def shown_tokens(name: str) -> str:
        return f"{float(tokens(name)):,.0f} tokens a request{_calls(comparison, name)}"

    if None in costs.values():
        return _Measure("sends", "sends the fewest tokens", "send the fewest tokens", tokens, shown_tokens)
    return _Measure("costs", "costs least", "cost least", cost, shown_cost)


def _only(comparison: Comparison, measure: _Measure, name: str) -> str:
    """The sentence where just one mode was asked for, or just one can send anything."""
    only = "" if len(comparison.modes) == 1 else ", as the only mode that can send any of these requests"
    return f"{_named(comparison, name)} {measure.does} {measure.shown(name)}{_kept(comparison, name)}{only}."


def _cheapest(comparison: Comparison, measure: _Measure, names: Sequence[str], among: str) -> str:
    """Who takes least, by itself or level with others, and how much of the baseline's."""
    first, *level = _level(comparison, measure, names)
    who = _named(comparison, first)
    if level:
        who = f"{', '.join([who, *(_named(comparison, name) for name in level[:-1])])} and {_named(comparison, level[-1])}"
    text = f"{who} {measure.least_together if level else measure.least}{among}"
    return f"{text}: {_spends(comparison, measure, first, related=comparison.baseline not in level)}"


def _spends(comparison: Comparison, measure: _Measure, name: str, *, related: bool = True) -> str:
    """What a mode takes, and how much that is of the baseline's."""
    text = measure.shown(name)
    baseline = measure.of(comparison.baseline)
    if name == comparison.baseline or not related or not baseline:
        return text
    of = f"{comparison.baseline}'s {measure.shown(comparison.baseline)}{_unsendable(comparison, comparison.baseline)}"
    return f"{text}, {percent(measure.of(name) / baseline)} of {of}"


def _level(comparison: Comparison, measure: _Measure, names: Sequence[str]) -> list[str]:
    """Of the modes that take least the one that keeps most, and those that are level with it in both."""

    def rank(name: str) -> tuple[Fraction, Fraction]:
        return measure.of(name), -(comparison.modes[name].recall.value or Fraction())

    best = min(map(rank, names))
    return [name for name in names if rank(name) == best]


def _named(comparison: Comparison, name: str) -> str:
    return f"{name}{_unsendable(comparison, name)}"


def _unsendable(comparison: Comparison, name: str) -> str:
    unsendable = comparison.modes[name].unsendable.total()
    return f" ({counted(unsendable, 'request')} unsendable)" if unsendable else ""


def _calls(comparison: Comparison, name: str) -> str:
    """What a mode's summary calls take on top of its requests' tokens: they are billed too, at a price of their own."""
    totals = comparison.modes[name]
    calls = totals.summary_calls
    if not calls.count:
        return ""
    more = (calls.prompt_tokens + calls.completion_tokens) / totals.requests
    return f" (and {more:,.0f} more in {counted(calls.count, 'summary call')})"


def _kept(comparison: Comparison, name: str) -> str:
    value = comparison.modes[name].recall.value
    return "" if value is None else f", with {percent(value)} of the facts in context"


def _next(comparison: Comparison, measure: _Measure, chosen: str, recalls: dict[str, Fraction]) -> str:
    """What the next cheaper mode would lose, where there is one."""
    cheaper = [name for name in recalls if measure.of(name) < measure.of(chosen)]
    if not cheaper:
        return ""
    name = max(cheaper, key=recalls.__getitem__)
    figure = f"{measure.does} {measure.shown(name)}"
    return f"; {_named(comparison, name)} {figure} but keeps only {percent(recalls[name])}"


def _turned(comparison: Comparison, names: Sequence[str]) -> str:
    """Whether the prompt cache turns the ranking of two modes round, and of which most."""
    cached = _relative(comparison, names, cached=True)
    uncached = _relative(comparison, names, cached=False)

    def turn(pair: tuple[str, str]) -> Fraction:
        """By how much the first is cheaper with the cache and dearer without it, the lesser of both; at most 0: not so."""
        cheap, dear = pair
        return min(cached[dear] - cached[cheap], uncached[cheap] - uncached[dear])

    pair = max(permutations(cached, 2), key=turn, default=None)
    if pair is None or turn(pair) <= 0:
        return ""
    cheap, dear = pair
    return (
        f" The prompt cache turns the ranking round: with it {cheap} costs less than {dear} ({percent(cached[cheap])} "
        f"against {percent(cached[dear])} of {comparison.baseline}), without it more ({percent(uncached[cheap])} "
        f"against {percent(uncached[dear])})."
    )


def _relative(comparison: Comparison, names: Sequence[str], *, cached: bool) -> dict[str, Fraction]:
    """The costs that are known, over the baseline's."""
    costs = {name: comparison.relative_cost(name, cached=cached) for name in names}
    return {name: cost for name, cost in costs.items() if cost is not None}
