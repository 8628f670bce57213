"""How much a sentence carries for the rest of a conversation: numbers, names, constraints, decisions."""

import re
import tomllib
from functools import cache, lru_cache
from typing import NamedTuple

from ctxmode_cli.data import data_file

_WORD = re.compile(r"[a-z']+")
_NUMBER = re.compile(r"\d+")
_QUOTED = re.compile(r"《[^》]+》|“[^”]+”|「[^」]+」")
_COUNTED = 4
"""Numbers and names beyond this add nothing: lists would crowd out everything else."""


class Weight(NamedTuple):
    """What a sentence carries."""

    salience: float
    constrains: bool
    """Whether it says what must or must not be."""


class _Cues(NamedTuple):
    english: frozenset[str]
    chinese: tuple[str, ...]


@lru_cache(maxsize=8192)  # the sentences of a running summary are weighed again at each refresh
def weigh(sentence: str) -> Weight:
    """The weight of a sentence, by what it carries for each root of its length."""
    words = frozenset(_WORD.findall(sentence.lower()))
    numbers = len(_NUMBER.findall(sentence))
    names = sum(map(str.istitle, sentence.split()[1:])) + len(_QUOTED.findall(sentence))
    constrains = _shows("constraint", sentence, words)
    weight = (
        2.0 * min(_COUNTED, numbers)
        + 2.0 * min(_COUNTED, names)
        + 3.0 * constrains
        + 1.5 * _shows("decision", sentence, words)
        - 2.0 * _shows("small_talk", sentence, words)
    )
    return Weight(weight / (8 + len(sentence)) ** 0.5, constrains)


def _shows(kind: str, sentence: str, words: frozenset[str]) -> bool:
    """Whether the sentence has a cue of this kind."""
    english, chinese = _cues()[kind]
    if not english.isdisjoint(words):
        return True
    return not sentence.isascii() and any(cue in sentence for cue in chinese)


@cache
def _cues() -> dict[str, _Cues]:
    kinds = tomllib.loads(data_file("language/cues.toml").read_text(encoding="utf-8"))
    return {kind: _Cues(frozenset(cues["en"]), tuple(cues["zh"])) for kind, cues in kinds.items()}
