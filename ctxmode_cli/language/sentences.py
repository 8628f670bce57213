"""Splitting text into sentences, Chinese and English, and telling which of the two a text is."""

import re

_ENDS = tuple((f"{mark} ", f"{mark}\n") for mark in ".!?")
_CHINESE_ENDS = tuple((mark, f"{mark}\n") for mark in "。！？")
_ABBREVIATED = re.compile(r"\. (?:(?<=\b[A-Za-z]\. )|(?<=\b[DMS][rst]\. )|(?<=\bMrs\. )|(?<=\bvs\. ))")
"""The end of one letter (e.g. a.m. J.), of a title (Dr. Mr. Ms. Mrs. St.) or of vs."""
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN_WORD = re.compile(r"[A-Za-z]+")


def sentences(text: str) -> list[str]:
    """The sentences of `text`, verbatim apart from runs of white space, which become one space.

    A Latin mark ends a sentence only before a space, and not after an abbreviation, so that `4.7`, `a.txt`, `e.g. this`
    and a link stay whole; a Chinese one always does, and so does the end of a line. A semicolon ends none: what is
    denied before it is often denied after it too.
    """
    text = _ABBREVIATED.sub(".\t", text)
    for end, line_end in _ENDS if text.isascii() else (*_ENDS, *_CHINESE_ENDS):
        text = text.replace(end, line_end)
    return [" ".join(words) for words in map(str.split, text.split("\n")) if words]


def is_chinese(text: str) -> bool:
    """Whether `text` has at least as many Chinese characters as Latin words."""
    return len(_HAN.findall(text)) >= max(1, len(_LATIN_WORD.findall(text)))
