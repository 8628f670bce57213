"""How much a sentence carries for the rest of a conversation: numbers, names, constraints, decisions."""

import re
import tomllib
from functools import cache
from typing import NamedTuple

from ctxmode_cli.data import data_file

_QUOTED = re.compile(r"《[^》]+》|“[^”]+”|「[^」]+」")
_CUE_WEIGHTS = {"constraint": 6.0, "decision": 1.5, "small_talk": -2.0}
_DIGITS = 8
_NAMES = 4
"""Digits and names (capitals, quoted titles) beyond this add nothing: lists would crowd out everything else."""
_MARKS = ("", ".", ",", "!", "?", ";", ":")


class Weight(NamedTuple):
    """What a sentence carries."""

    salience: float
    constrains: bool
    """Whether it says what must or must not be."""


class _Cues(NamedTuple):
    english: dict[str, str]
    """The kind of each word, with and without the mark that may follow it."""
    chinese: tuple[tuple[str, str], ...]
    """Kinds and substrings."""
    no_constraint: re.Pattern[str]
    """Phrases that sound like a constraint and are none."""


def weigh(sentence: str) -> Weight:
    """The weight of a sentence, by what it carries for each root of its length."""
    cues = _cues()
    shown = cues.english.keys() & sentence.lower().split()
    kinds = {cues.english[word] for word in shown} if shown else set()
    data = sentence.encode("utf-8", "surrogatepass")
    digits = len(data) - len(data.translate(None, b"0123456789"))
    capitals = len(data) - len(data.translate(None, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    quoted = 0
    if not sentence.isascii():
        kinds.update(kind for kind, cue in cues.chinese if cue in sentence)
        quoted = len(_QUOTED.findall(sentence))
    weight = min(_DIGITS, digits) + 2.0 * min(_NAMES, max(0, capitals - 1) + quoted)  # a sentence begins with a capital
    if "constraint" in kinds and _only_sounds_like_one(sentence):
        kinds.remove("constraint")
    if kinds:
        weight += sum(map(_CUE_WEIGHTS.__getitem__, kinds))
    return Weight(weight / (8 + len(sentence)) ** 0.5, "constraint" in kinds)


def _only_sounds_like_one(sentence: str) -> bool:
    """Whether no cue of a constraint is left without the phrases that sound like one and are none."""
    cues = _cues()
    left = cues.no_constraint.sub(" ", sentence.lower())
    english = any(cues.english.get(word) == "constraint" for word in left.split())
    return not english and not any(kind == "constraint" and cue in left for kind, cue in cues.chinese)


@cache
def _cues() -> _Cues:
    kinds = tomllib.loads(data_file("language/cues.toml").read_text(encoding="utf-8"))
    return _Cues(
        english={word + mark: kind for kind in _CUE_WEIGHTS for word in kinds[kind]["en"] for mark in _MARKS},
        chinese=tuple((kind, cue) for kind in _CUE_WEIGHTS for cue in kinds[kind]["zh"]),
        no_constraint=re.compile("|".join(map(re.escape, kinds["no_constraint"]["en"] + kinds["no_constraint"]["zh"]))),
    )
