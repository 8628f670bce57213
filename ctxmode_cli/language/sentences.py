"""Splitting text into sentences, Chinese and English, and telling which of the two a text is."""

import re

_ENDS = tuple((f"{mark} ", f"{mark}\n") for mark in ".!?;")
_CHINESE_ENDS = tuple((mark, f"{mark}\n") for mark in "。！？；")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN_WORD = re.compile(r"[A-Za-z]+")


def sentences(text: str) -> list[str]:
    """The sentences of `text`, verbatim apart from runs of white space, which become one space.

    A Latin mark ends a sentence only before white space, so that `4.7`, `a.txt` and a link stay whole; a Chinese one
    always does, and so does the end of a line.
    """
    for end, line_end in _ENDS if text.isascii() else (*_ENDS, *_CHINESE_ENDS):
        text = text.replace(end, line_end)
    return [" ".join(words) for words in map(str.split, text.split("\n")) if words]


def is_chinese(text: str) -> bool:
    """Whether `text` has at least as many Chinese characters as Latin words."""
    return len(_HAN.findall(text)) >= max(1, len(_LATIN_WORD.findall(text)))
