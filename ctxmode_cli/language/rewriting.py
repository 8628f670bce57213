"""Replacements that are made in a whole text, one after the other."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple


class Rewrite(NamedTuple):
    """One replacement.

    A pattern that begins with one certain character is looked for very quickly, and one that begins with any digit or
    mark is tried at each of them. Where such a pattern is long and holds something rarer, its anchors find that first.
    """

    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]
    anchors: tuple[re.Pattern[str], ...] = ()
    """Every match of the pattern holds the start of a match of one of these; none means that it is searched as it is."""
    before: int = 0
    """Characters: how far before an anchor a match may begin."""
    beyond_ascii: bool = False
    """Whether every match holds a character that is not ASCII."""

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """What is replaced in `text`, from left to right: what `pattern.finditer` finds."""
        if self.beyond_ascii and text.isascii():
            return iter(())
        return self._anchored_matches(text) if self.anchors else self.pattern.finditer(text)

    def apply(self, text: str) -> str:
        """`text` with all matches replaced."""
        if self.beyond_ascii and text.isascii():
            return text
        if not self.anchors:
            return self.pattern.sub(self.replacement, text)
        parts, done = list[str](), 0
        for match in self._anchored_matches(text):
            parts += text[done : match.start()], self.written(match)
            done = match.end()
        return "".join([*parts, text[done:]]) if parts else text

    def written(self, match: re.Match[str]) -> str:
        """What stands in the place of a match."""
        return match.expand(self.replacement) if isinstance(self.replacement, str) else self.replacement(match)

    def _anchored_matches(self, text: str) -> Iterator[re.Match[str]]:
        places = [found.start() for anchor in self.anchors for found in anchor.finditer(text)]
        if len(self.anchors) > 1:
            places.sort()
        done = 0
        for place in places:
            for start in range(max(done, place - self.before), place + 1):
                if match := self.pattern.match(text, start):
                    done = match.end()
                    yield match
                    break


def rewrite(text: str, rewrites: Sequence[Rewrite]) -> str:
    """`text` after all of the replacements."""
    for one in rewrites:
        text = one.apply(text)
    return text


def anchors(*patterns: str) -> tuple[re.Pattern[str], ...]:
    """Anchors that are found quickly, each because it begins with one certain character."""
    return tuple(map(re.compile, patterns))


def word_anchors(words: str) -> tuple[re.Pattern[str], ...]:
    """Anchors for a pattern that begins with a word of a folded text, and the mark or boundary before it."""
    return anchors(*(f"{mark}(?:{words})" for mark in " \n\0"))
