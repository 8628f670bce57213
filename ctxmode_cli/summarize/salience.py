"""How much a sentence carries for the rest of a conversation: numbers, names, constraints, decisions."""

import re
import tomllib
from functools import cache
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


def weigh(sentence: str) -> Weight:
    """The weight of a sentence, by what it carries for each root of its length."""
    words = frozenset(_WORD.findall(sentence.lower()))
    constraint, decision, small_talk = (_shows(cues, sentence, words) for cues in _cues())
    numbers = len(_NUMBER.findall(sentence))
    names = sum(map(str.istitle, sentence.split()[1:]))
    if not sentence.isascii():
        names += len(_QUOTED.findall(sentence))
    weight = (
        2.0 * min(_COUNTED, numbers) + 2.0 * min(_COUNTED, names) + 3.0 * constraint + 1.5 * decision - 2.0 * small_talk
    )
    return Weight(weight / (8 + len(sentence)) ** 0.5, constraint)


def _shows(cues: _Cues, sentence: str, words: frozenset[str]) -> bool:
    """Whether the sentence has one of the cues."""
    if not cues.english.isdisjoint(words):
        return True
    return not sentence.isascii() and any(cue in sentence for cue in cues.chinese)


@cache
def _cues() -> tuple[_Cues, _Cues, _Cues]:
    """The cues of a constraint, a decision and small talk."""
    kinds = tomllib.loads(data_file("language/cues.toml").read_text(encoding="utf-8"))
    constraint, decision, small_talk = (
        _Cues(frozenset(kinds[kind]["en"]), tuple(kinds[kind]["zh"]))
        for kind in ("constraint", "decision", "small_talk")
    )
    return constraint, decision, small_talk
