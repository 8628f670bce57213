"""One reading of a text, so that differences that carry no meaning do not matter."""

import re
import unicodedata

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
CJK_START = "\u2e80"
"""From here on, scripts are written without spaces between words."""


def fold(text: str) -> str:
    r"""`text` with case and width folded, zero-width characters gone and white space as single spaces.

    JSON escapes such as `\u5317` are read as the characters they stand for, since tool calls and results often
    carry Chinese that way.
    """
    if "\\u" in text:
        text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_INVISIBLE)
    text = text.casefold()
    if text.isprintable() and "  " not in text:
        return text.strip()  # the common case; white space other than the space is not printable
    return " ".join(text.split())


def is_spaced_word(char: str) -> bool:
    """Whether `char` is a letter or digit of a script that puts spaces between words."""
    return char.isalnum() and char < CJK_START
