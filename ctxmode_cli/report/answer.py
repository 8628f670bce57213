"""The last line of a comparison: which mode is cheapest among those that keep the facts."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ctxmode_cli.context.config import ContextMode
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.ranking import Measure, biggest_turn, measure_of
from ctxmode_cli.report.words import counted, listed, percent

KEEPS_FACTS = Fraction(95, 100)
"""A mode keeps the facts where its recall in context is at least this share of the best mode's."""
_THE_FACTS = f"the facts (at least {float(KEEPS_FACTS):.0%} of the best recall in context)"


def answer(comparison: Comparison) -> str:
    """A sentence to decide by, and a second one where the prompt cache turns the ranking round.

    A mode with unsendable requests is never named without their number.
    """
    modes = comparison.modes
    if not comparison.data.requests:
        return "There is no request in these conversations, so there is nothing to compare."
    sendable = [name for name, totals in modes.items() if totals.prompt_tokens.size]
    if not sendable:
        return "No mode can send any of these requests within its budget."
    measure = measure_of(comparison, sendable)
    if len(sendable) == 1:
        return _only(comparison, measure, sendable[0])
    recalls = {name: value for name in sendable if (value := modes[name].recall.value) is not None}
    if recalls:
        candidates = _keepers(recalls)
        if not candidates:
            return "No mode has any of the facts in context."
        text = _with_facts(comparison, measure, candidates, recalls)
    else:
        candidates = _with_history(comparison, sendable)
        among = "" if candidates == sendable else " of the modes that send history"
        text = f"{_cheapest(comparison, measure, candidates, among)}; without facts to probe, nothing says what is lost"
    return f"{text}.{_turned(comparison, sendable, _level(comparison, measure, candidates)[0], candidates)}"


def _only(comparison: Comparison, measure: Measure, name: str) -> str:
    """The sentence where just one mode was asked for, or just one can send anything."""
    only = "" if len(comparison.modes) == 1 else ", as the only mode that can send any of these requests"
    kept = _kept(comparison.modes[name].recall.value)
    return f"{_named(comparison, name)} {measure.does} {measure.told(name)}{kept}{only}."


def _keepers(recalls: Mapping[str, Fraction]) -> list[str]:
    """The modes that keep the facts; none where no mode has any of them."""
    best = max(recalls.values())
    return [name for name, value in recalls.items() if value and value >= KEEPS_FACTS * best]


def _with_history(comparison: Comparison, names: list[str]) -> list[str]:
    """The modes that send history, where there is a choice: that sending none takes least is no news."""
    senders = [name for name in names if comparison.configs[name].mode != ContextMode.ZERO]
    return senders if len(senders) > 1 else names


def _with_facts(
    comparison: Comparison, measure: Measure, keepers: Sequence[str], recalls: Mapping[str, Fraction]
) -> str:
    """Which of the modes that keep the facts takes least, and what the next cheaper one would lose."""
    chosen = _level(comparison, measure, keepers)[0]
    if len(keepers) == 1:
        spends = f"it {measure.does} {_spends(comparison, measure, chosen)}"
        text = f"Only {_named(comparison, chosen)} keeps {_THE_FACTS}: {spends}"
    else:
        text = _cheapest(comparison, measure, keepers, f" of the modes that keep {_THE_FACTS}")
    return f"{text}{_kept(recalls[chosen])}{_next(comparison, measure, chosen, recalls)}"


def _cheapest(comparison: Comparison, measure: Measure, names: Sequence[str], among: str) -> str:
    """Who takes least, by itself or level with others, and how much of the baseline's."""
    level = _level(comparison, measure, names)
    who = listed([_named(comparison, name) for name in level])
    least = measure.least if len(level) == 1 else measure.least_together
    related = comparison.baseline not in level
    return f"{who} {least}{among}: {_spends(comparison, measure, level[0], related=related)}"


def _spends(comparison: Comparison, measure: Measure, name: str, *, related: bool = True) -> str:
    """What a mode takes, and how much that is of what the baseline takes."""
    baseline = comparison.baseline
    # A baseline that can send nothing has no amount.
    if name == baseline or not related or not measure.amounts.get(baseline):
        return measure.told(name)
    share = percent(measure.amounts[name] / measure.amounts[baseline])
    return f"{measure.told(name)}, {share} of {baseline}'s {measure.shown(baseline)}{_unsendable(comparison, baseline)}"


def _level(comparison: Comparison, measure: Measure, names: Sequence[str]) -> list[str]:
    """Of the modes that take least the one that keeps most, and those that are level with it in both."""

    def rank(name: str) -> tuple[Fraction, Fraction]:
        return measure.amounts[name], -(comparison.modes[name].recall.value or Fraction())

    best = min(map(rank, names))
    return [name for name in names if rank(name) == best]


def _named(comparison: Comparison, name: str) -> str:
    return f"{name}{_unsendable(comparison, name)}"


def _unsendable(comparison: Comparison, name: str) -> str:
    unsendable = comparison.modes[name].unsendable.total()
    return f" ({counted(unsendable, 'request')} unsendable)" if unsendable else ""


def _kept(recall: Fraction | None) -> str:
    return "" if recall is None else f", with {percent(recall) if recall else 'none'} of the facts in context"


def _next(comparison: Comparison, measure: Measure, chosen: str, recalls: Mapping[str, Fraction]) -> str:
    """What the next cheaper mode would lose, where there is one."""
    cheaper = [name for name in recalls if measure.amounts[name] < measure.amounts[chosen]]
    if not cheaper:
        return ""
    name = max(cheaper, key=recalls.__getitem__)
    keeps = f"only {percent(recalls[name])}" if recalls[name] else "none"
    return f"; {_named(comparison, name)} {measure.does} {measure.shown(name)} but keeps {keeps}"


def _turned(comparison: Comparison, names: Sequence[str], chosen: str, candidates: Sequence[str]) -> str:
    """The second sentence, where the prompt cache turns a ranking round."""
    turn = biggest_turn(comparison, names, chosen, candidates)
    if turn is None:
        return ""
    cheap, dear = (_named(comparison, name) for name in turn.modes)
    with_cache, without = (" against ".join(map(percent, costs)) for costs in (turn.cached, turn.uncached))
    return (
        f" The prompt cache turns the ranking round: with it {cheap} costs less than {dear}, {with_cache} of "
        f"{comparison.baseline}'s cost; without it more, {without}."
    )
