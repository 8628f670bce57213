"""Splitting text into sentences, Chinese and English, and telling which of the two a text is."""

import re

_NOT_ABBREVIATED = r"(?<!\b[A-Za-z]\.)(?<!\b[DMS][rst]\.)(?<!\bMrs\.)(?<!\bvs\.)"
"""Not after one letter (e.g. a.m. J.), a title (Dr. Mr. Ms. Mrs. St.) or vs."""
_END = re.compile(rf"(?<=[。！？!?])|(?<=\.){_NOT_ABBREVIATED}\s|\n")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN_WORD = re.compile(r"[A-Za-z]+")


def sentences(text: str) -> list[str]:
    """The sentences of `text`, verbatim apart from runs of white space, which become one space.

    A full stop ends a sentence only before white space and not after an abbreviation, so that `4.7`, `a.txt` and
    `e.g. this` stay whole. A semicolon ends none: what is denied before it is often denied after it too.
    """
    pieces = (" ".join(piece.split()) for piece in _END.split(text))
    return [piece for piece in pieces if piece]


def is_chinese(text: str) -> bool:
    """Whether `text` has at least as many Chinese characters as Latin words."""
    return len(_HAN.findall(text)) >= max(1, len(_LATIN_WORD.findall(text)))
