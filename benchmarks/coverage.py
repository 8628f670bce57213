"""How often a 95 % interval of recall holds the true one, on drawn conversations whose true recall is known.

Usage: python benchmarks/coverage.py [DRAWS] [CONVERSATIONS …]
"""

import sys
from fractions import Fraction
from random import Random

from ctxmode_cli.replay.statistics import FIXED_POINT, Replicates, Sums

MOST = 6
"""Facts of a conversation."""
_NOTHING = Sums(*[0] * len(Sums._fields))


def mean_share(probed: int) -> float:
    """The share of a conversation's facts that is kept in the mean: the more facts, the fewer."""
    return (MOST + 1 - probed) / (MOST + 1)


def true_recall() -> float:
    """Of all facts that could be drawn: the shares, of which those above 1 were cut to 1, weighed by facts.

    A share that is drawn evenly from 0 to 2 m and cut to 1 has the mean 1 - 1 / 4 m where m is above one half.
    """
    sizes = range(1, MOST + 1)
    means = {size: mean_share(size) for size in sizes}
    cut = {size: 1 - 1 / (4 * mean) if 2 * mean > 1 else mean for size, mean in means.items()}
    return sum(size * cut[size] for size in sizes) / sum(sizes)


def drawn(random: Random) -> Sums:
    """A conversation, whose facts are kept with a probability of its own."""
    probed = random.randint(1, MOST)
    share = 2 * mean_share(probed) * random.random()
    kept = sum(random.random() < share for _ in range(probed))
    return _NOTHING._replace(facts=probed, in_context=kept * FIXED_POINT)


def holds(name: str, conversations: int, random: Random) -> bool:
    """Whether the interval of so many drawn conversations holds the true recall."""
    replicates = Replicates()
    kept = probed = 0
    for number in range(conversations):
        sums = drawn(random)
        replicates.add(f"{name}/{number}", {"mode": sums})
        kept, probed = kept + sums.in_context, probed + sums.facts
    interval = replicates.interval("mode", "recall.in_context", Fraction(kept, probed * FIXED_POINT))
    return interval is not None and interval.low <= true_recall() <= interval.high


def coverage(draws: int, conversations: int, seed: int = 0) -> float:
    """The share of the draws whose interval holds the true recall."""
    random = Random(seed)  # noqa: S311 - to be drawn again, not secret
    return sum(holds(str(draw), conversations, random) for draw in range(draws)) / draws


def main(draws: int, sizes: list[int]) -> None:
    """Print the coverage for each number of conversations."""
    for conversations in sizes:
        print(f"{conversations} conversations: {coverage(draws, conversations):.1%} of {draws} draws")


if __name__ == "__main__":
    main(int(next(iter(sys.argv[1:]), 1000)), [int(size) for size in sys.argv[2:]] or [20, 50, 200, 500])
