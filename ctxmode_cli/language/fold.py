"""One reading of a text, so that differences that carry no meaning do not matter."""

import re
import unicodedata

_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
CJK_START = "\u2e80"
"""From here on, scripts are written without spaces between words."""


def fold(text: str) -> str:
    r"""`text` with case and width folded, zero-width characters gone and white space as single spaces.

    JSON escapes such as `\u5317` are read as the characters they stand for, since tool calls and results often
    carry Chinese that way. A lone surrogate, which no UTF-8 can carry, becomes U+FFFD.
    """
    if "\\u" in text:
        text = _ESCAPES.sub(_characters, text)
    if text.isascii():
        text = text.lower()
    else:
        text = _LONE_SURROGATE.sub("\ufffd", _UNSEEN.sub("", text))
        text = unicodedata.normalize("NFKC", text).casefold()
        text = unicodedata.normalize("NFKC", text)  # casefold can take a character apart again
    if text.isprintable() and "  " not in text:
        return text.strip()  # the common case; white space other than the space is not printable
    return " ".join(text.split())


def _characters(escapes: re.Match[str]) -> str:
    """The characters of a run of JSON escapes, which are UTF-16: an emoji is two of them."""
    return bytes.fromhex(escapes[0].replace("\\u", "")).decode("utf-16-be", "replace")


def is_spaced_word(char: str) -> bool:
    """Whether `char` is a letter or digit of a script that puts spaces between words."""
    return char.isalnum() and char < CJK_START
