"""Splitting text into sentences, Chinese and English, and telling which of the two a text is."""

import re
from collections.abc import Iterable

from ctxmode_cli.conversation.message import Message, content_text

# The pattern begins with what is found quickest; what stands before is looked at only there.
_FULL_STOP = re.compile(
    r"\.\s(?<!\b[A-Za-z]\.\s)(?<!\b[DMS][rst]\.\s)(?<!\bMrs\.\s)(?<!\bvs\.\s)"
    r"(?<!^\d\.\s)(?<!^\d\d\.\s)(?<![.!?:;]\s\d\.\s)(?<![.!?:;]\s\d\d\.\s)(?<![。！？：；]\d\.\s)",
    re.MULTILINE,
)
"""Not after one letter (e.g. a.m. J.), a title (Dr. Mr. Ms. Mrs. St.) or vs., nor after the number of a list's item."""
_ENDS = (("! ", "!\n"), ("? ", "?\n"))
_CHINESE_ENDS = tuple((mark, f"{mark}\n") for mark in "。！？")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN_WORD = re.compile(r"[A-Za-z]+")


def sentences(text: str) -> list[str]:
    """The sentences of `text`, verbatim apart from runs of white space, which become one space.

    A Latin mark ends a sentence only before white space, and a full stop not after an abbreviation, so that `4.7`,
    `a.txt` and `e.g. this` stay whole; a Chinese mark and the end of a line always do. A semicolon ends none: what is
    denied before it is often denied after it too.
    """
    if "." in text:
        text = _FULL_STOP.sub(".\n", text)
    for end, line_end in _ENDS if text.isascii() else (*_ENDS, *_CHINESE_ENDS):
        text = text.replace(end, line_end)
    return [" ".join(words) for words in map(str.split, text.split("\n")) if words]


def is_chinese(text: str) -> bool:
    """Whether `text` has at least as many Chinese characters as Latin words."""
    return len(_HAN.findall(text)) >= max(1, len(_LATIN_WORD.findall(text)))


def language_of(messages: Iterable[Message]) -> str:
    """The language that the user speaks in these messages: "zh" or "en"."""
    spoken = " ".join(content_text(message.content) for message in messages if message.role == "user")
    return "zh" if is_chinese(spoken) else "en"
