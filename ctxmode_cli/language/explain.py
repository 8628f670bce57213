"""Why a text carries a fact, or does not: where the value stands, how it was read, and what spoke against it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.language.fold import BOUNDARY, FOLDING, MARKS, UNESCAPING, fold_characters, plain, without_boundaries
from ctxmode_cli.language.matching import FactMatcher
from ctxmode_cli.language.negation import is_denied
from ctxmode_cli.language.readings import TEXT, rewrites_of
from ctxmode_cli.language.rewriting import Rewrite

DENIED, ASSERTED = "denied", "asserted, and the fact is a denial"
"""Reasons of a rejection; the others begin with `_PART`."""
_PART = "part of "
_CLUSTERS = re.compile("[\0-\x7f\u4e00-\u9fff]?[^\0-\x7f\u4e00-\u9fff]*")
"""Characters that folding may put together: none after the first is of a kind that stands alone."""


class Mention(NamedTuple):
    """A value in a text, by positions in the text as it was written."""

    start: int
    end: int
    written: str
    """The text between them."""
    reading: str
    """As what it was found: `text`, `number`, `date`, `time`, or `link` (without words that only link)."""
    denied: bool


class Rejection(NamedTuple):
    """What looks like the value and is not."""

    start: int
    end: int
    reason: str


class Explanation(NamedTuple):
    """Why a text carries a fact, or does not."""

    found: bool
    mentions: tuple[Mention, ...]
    """Every whole value, asserted or denied, in order."""
    rejected: tuple[Rejection, ...]
    """Every mention that does not carry the fact, and every part of something longer, in order."""


def explain(fact: Fact, text: str) -> Explanation:
    """What `FactMatcher` sees of one fact in one text; `found` is what its `facts_in` says."""
    matcher = FactMatcher([fact])
    mentions: dict[tuple[int, int], Mention] = {}
    rejected: dict[tuple[int, int], Rejection] = {}
    folded = _Traced.of(text)
    for view in sorted(matcher.views, key=lambda view: (view != TEXT, view)):  # `text` before what was read
        traced = folded.rewritten(rewrites_of(view))
        for match in matcher.matches(view, plain(traced.text)):
            start, end = span = traced.span(match.start, match.end)
            if match.part_of:
                rejected.setdefault(span, Rejection(start, end, f"{_PART}{match.part_of}"))
                continue
            denied = is_denied(traced.text, match.start, match.end)
            mentions.setdefault(span, Mention(start, end, text[start:end], view, denied))
            if denied != fact.negative:
                reason = DENIED if denied else ASSERTED
                rejected.setdefault(span, Rejection(start, end, reason))
    found = any(mention.denied == fact.negative for mention in mentions.values())
    return Explanation(found, tuple(sorted(mentions.values())), tuple(sorted(rejected.values())))


def why_missing(fact: Fact, text: str) -> str:
    """In a few words, why a text does not carry a fact that its label says it states."""
    reasons = {rejection.reason for rejection in explain(fact, text).rejected}
    for reason in (DENIED, ASSERTED):
        if reason in reasons:
            return (
                f"{reason.split(',')[0]} there: is the label's polarity {'positive' if fact.negative else 'negative'}?"
            )
    return f"only inside {min(reasons).removeprefix(_PART)}" if reasons else "not in that message"


class _Traced(NamedTuple):
    """A text after replacements, with the span of the original that each of its characters comes from."""

    text: str
    spans: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, original: str) -> "_Traced":
        """The folded text with boundaries around it, as `fold_together` makes it."""
        traced = cls(without_boundaries(original), [(at, at + 1) for at in range(len(original))])
        folded = traced.rewritten(UNESCAPING).with_folded_characters().rewritten(FOLDING)
        start = len(folded.text) - len(folded.text.lstrip(MARKS))
        stop = max(start, len(folded.text.rstrip(MARKS)))
        inner = folded.text[start:stop]
        return cls(f"{BOUNDARY}{inner}{BOUNDARY}", [(0, 0), *folded.spans[start:stop], (len(original), len(original))])

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]` stands in the original."""
        return self.spans[start][0], self.spans[end - 1][1]

    def rewritten(self, rewrites: Sequence[Rewrite]) -> "_Traced":
        """The text after all of the replacements; what one leaves alone at its ends keeps its place."""
        traced = self
        for one in rewrites:
            text, spans, done = "", list[tuple[int, int]](), 0
            for match in one.matches(traced.text):
                written = one.written(match)
                text += traced.text[done : match.start()] + written
                spans += [*traced.spans[done : match.start()], *traced._spans_of(match, written)]
                done = match.end()
            traced = _Traced(text + traced.text[done:], spans + list(traced.spans[done:]))
        return traced

    def _spans_of(self, match: re.Match[str], written: str) -> list[tuple[int, int]]:
        """The spans of what is written in the place of a match."""
        kept = 0
        while kept < len(written) and match[0][kept : kept + 1] == written[kept]:
            kept += 1
        start, end = match.span()
        rest = self.span(min(start + kept, end - 1), end)
        return [*self.spans[start : start + kept], *[rest] * (len(written) - kept)]

    def with_folded_characters(self) -> "_Traced":
        """As `fold_characters` makes it."""
        text, spans = "", list[tuple[int, int]]()
        for cluster in _CLUSTERS.finditer(self.text):
            folded = [fold_characters(char) for char in cluster[0]]
            if "".join(folded) == fold_characters(cluster[0]):
                for at, chars in enumerate(folded, cluster.start()):
                    spans += [self.spans[at]] * len(chars)
            else:  # characters that become one, such as a letter and its accent
                folded = [fold_characters(cluster[0])]
                spans += [self.span(*cluster.span())] * len(folded[0])
            text += "".join(folded)
        return _Traced(text, spans)
