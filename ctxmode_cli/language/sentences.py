"""Splitting text into sentences, Chinese and English, and telling which of the two a text is."""

import re

_END = re.compile(r"(?<=[。！？；!?])|(?<=[.;])\s|\n")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN_WORD = re.compile(r"[A-Za-z]+")


def sentences(text: str) -> list[str]:
    """The sentences of `text`, verbatim apart from runs of white space, which become one space.

    A full stop ends a sentence only before white space, so that `4.7` and `a.txt` stay whole.
    """
    return [" ".join(words) for words in map(str.split, _END.split(text)) if words]


def is_chinese(text: str) -> bool:
    """Whether `text` has at least as many Chinese characters as Latin words."""
    return len(_HAN.findall(text)) >= max(1, len(_LATIN_WORD.findall(text)))
