"""The last line of a comparison: which mode is cheapest among those that keep the facts."""

from collections.abc import Sequence
from fractions import Fraction

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.words import counted, percent

KEEPS_FACTS = Fraction(95, 100)
"""A mode keeps the facts where its recall in context is at least this share of the best mode's."""


def answer(comparison: Comparison) -> str:
    """One sentence to decide by; a mode with unsendable requests is never named without their number."""
    modes = comparison.modes
    if not comparison.data.requests:
        return "There is no request in these conversations, so there is nothing to compare."
    sendable = [name for name, totals in modes.items() if totals.prompt_tokens.size]
    if not sendable:
        return "No mode can send any of these requests within its budget."
    if len(sendable) == 1:
        return _only(comparison, sendable[0])
    recalls = {name: value for name in sendable if (value := modes[name].recall.value) is not None}
    if not recalls:
        return f"{_cheapest(comparison, sendable, '')}; without facts to probe, nothing says what is lost."
    best = max(recalls.values())
    keepers = [name for name, value in recalls.items() if value and value >= KEEPS_FACTS * best]
    if not keepers:
        return "No mode has any of the facts in context."
    keeping = f"at least {float(KEEPS_FACTS):.0%} of the best recall in context"
    chosen = _all_cheapest(comparison, keepers)[0]
    if len(keepers) == 1:
        text = f"Only {_named(comparison, chosen)} keeps the facts ({keeping}): {_spends(comparison, chosen)}"
    else:
        text = _cheapest(comparison, keepers, f" of the modes that keep the facts ({keeping})")
    text += _kept(comparison, chosen)
    return f"{text}{_next(comparison, chosen, recalls)}."


def _only(comparison: Comparison, name: str) -> str:
    """The sentence where just one mode was asked for, or just one can send anything."""
    mean = _mean(comparison, name)
    only = "" if len(comparison.modes) == 1 else ", as the only mode that can send any of these requests"
    return f"{_named(comparison, name)} sends {mean:,.0f} tokens a request{_calls(comparison, name)}{_kept(comparison, name)}{only}."


def _cheapest(comparison: Comparison, names: Sequence[str], among: str) -> str:
    """Who sends the fewest tokens, by itself or level with others, and how many of the baseline's."""
    first, *level = _all_cheapest(comparison, names)
    who = _named(comparison, first)
    if level:
        who = f"{', '.join([who, *(_named(comparison, name) for name in level[:-1])])} and {_named(comparison, level[-1])}"
    text = f"{who} {'send' if level else 'sends'} the fewest tokens{among}"
    return f"{text}: {_spends(comparison, first, related=comparison.baseline not in level)}"


def _spends(comparison: Comparison, name: str, *, related: bool = True) -> str:
    """What a mode's requests take, its summary calls on top, and how much that is of the baseline's."""
    mean, baseline = _mean(comparison, name), _mean(comparison, comparison.baseline)
    text = f"{mean:,.0f} a request{_calls(comparison, name)}"
    if name == comparison.baseline or not related or not baseline:
        return text
    of = f"{comparison.baseline}'s {baseline:,.0f}{_unsendable(comparison, comparison.baseline)}"
    return f"{text}, {percent(mean / baseline)} of {of}"


def _all_cheapest(comparison: Comparison, names: Sequence[str]) -> list[str]:
    """Of the modes with the fewest tokens the one that keeps most, and those that are level with it in both."""

    def rank(name: str) -> tuple[Fraction, Fraction]:
        totals = comparison.modes[name]
        return totals.prompt_tokens.mean or Fraction(), -(totals.recall.value or Fraction())

    best = min(map(rank, names))
    return [name for name in names if rank(name) == best]


def _mean(comparison: Comparison, name: str) -> float:
    return float(comparison.modes[name].prompt_tokens.mean or 0)


def _named(comparison: Comparison, name: str) -> str:
    return f"{name}{_unsendable(comparison, name)}"


def _unsendable(comparison: Comparison, name: str) -> str:
    unsendable = comparison.modes[name].unsendable.total()
    return f" ({counted(unsendable, 'request')} unsendable)" if unsendable else ""


def _calls(comparison: Comparison, name: str) -> str:
    """What a mode's summary calls take on top of its requests: they are billed too, at a price of their own."""
    totals = comparison.modes[name]
    calls = totals.summary_calls
    if not calls.count:
        return ""
    more = (calls.prompt_tokens + calls.completion_tokens) / totals.requests
    return f" (and {more:,.0f} more in {counted(calls.count, 'summary call')})"


def _kept(comparison: Comparison, name: str) -> str:
    value = comparison.modes[name].recall.value
    return "" if value is None else f", with {percent(value)} of the facts in context"


def _next(comparison: Comparison, chosen: str, recalls: dict[str, Fraction]) -> str:
    """What the next cheaper mode would lose, where there is one."""
    cheaper = [name for name in recalls if _mean(comparison, name) < _mean(comparison, chosen)]
    if not cheaper:
        return ""
    name = max(cheaper, key=recalls.__getitem__)
    sends = f"{_mean(comparison, name):,.0f}{_calls(comparison, name)}"
    return f"; {_named(comparison, name)} sends {sends} but keeps only {percent(recalls[name])}"
