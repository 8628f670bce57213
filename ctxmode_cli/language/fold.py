"""One reading of a text, so that differences that carry no meaning do not matter.

A folded text has three marks left: a space, `BREAK` where a clause ends (a comma, a full stop, a colon, a line break)
and `LISTING` between the items of a Chinese list. `plain` turns both into spaces, one for one: values are looked for in
the plain text, and how far a negation reaches is seen in the marked one, at the same positions.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from ctxmode_cli.language.rewriting import Rewrite, rewrite
from ctxmode_cli.language.script import simplified_characters

CJK_START = "\u2e80"
"""From here on, scripts are written without spaces between words."""
BREAK = "\n"
LISTING = "、"
MARKS = f" {BREAK}{LISTING}"
BOUNDARY = "\0"
"""Between two texts that are folded together: nothing is read across it. In a text itself it is white space."""

_PUNCTUATION = {
    **dict.fromkeys('()[]{}<>"`*_=\t《》〈〉“”„«»「」『』【】〔〕·•・‧', " "),
    **dict.fromkeys("!?;|\n\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029。¿¡…", BREAK),
    **dict.fromkeys("‐‑‒–—―−~〜～", "-"),
    **dict.fromkeys("‘’‛′", "'"),
}
_UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_ASCII = str.maketrans({mark: to for mark, to in _PUNCTUATION.items() if mark.isascii()})
_COMMON = ((0x00, 0x250), (0x2000, 0x2070), (0x3000, 0x3100), (0x4E00, 0xA000), (0xFF00, 0xFFF0))
"""Blocks of which every character is in the table: one that is not takes several times as long to look up."""

_UNITS = "kg|km|cm|mm|mg|ml|gb|mb|tb|kb|am|pm|mph|kwh|usd|eur|gbp|cny|rmb|hkd|jpy|mins?|hrs?|lbs?|gbps|mbps"
_CJK = f"[{CJK_START}-\U0010ffff]"


def fold(text: str) -> str:
    r"""`text` with all that carries no meaning made alike, and with marks where clauses end.

    Case, width, zero-width characters, traditional and simplified script, kinds of quotes, brackets and hyphens,
    runs of white space, digit grouping and a trailing `.0` do not matter. Chinese has no spaces, a unit has one before
    it, a currency sign none behind it. JSON escapes such as `\u5317` are read as the characters they stand for, since
    tool calls and results often carry Chinese that way. A lone surrogate, which no UTF-8 can carry, becomes U+FFFD.
    """
    return _fold(without_boundaries(text))


def fold_together(texts: Sequence[str]) -> str:
    """The folded texts as one, with a boundary around each: one pass over all is much quicker than many."""
    return joined([_fold(BOUNDARY.join(map(without_boundaries, texts)))])


def joined(folded: Sequence[str]) -> str:
    """Folded texts as one, with a boundary around each."""
    return f"{BOUNDARY}{BOUNDARY.join(folded)}{BOUNDARY}"


def without_boundaries(text: str) -> str:
    """`text` with a space for each character that would end it, at the same positions."""
    return text.replace(BOUNDARY, " ")


def plain(folded: str) -> str:
    """A folded text with a space for each mark, at the same positions."""
    return folded.replace(BREAK, " ").replace(LISTING, " ")


def fold_characters(text: str) -> str:
    """Each character for itself: case, width, script, and one mark for all of a kind."""
    if text.isascii():
        return text.lower().translate(_ASCII)
    table = _characters()
    text = text.translate(table)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return text if folded == text else folded.translate(table)


def is_spaced_word(char: str) -> bool:
    """Whether `char` is a letter or digit of a script that puts spaces between words."""
    return char < CJK_START and char.isalnum()


def _fold(text: str) -> str:
    """`fold`, of a text that may hold boundaries."""
    if "\\u" in text:
        text = rewrite(text, UNESCAPING)
    return rewrite(fold_characters(text), FOLDING).strip(MARKS)


@cache
def _characters() -> dict[int, str | None]:
    """What each character is folded to by itself; None for those that are not seen."""
    table: dict[int, str | None] = {code: chr(code) for start, stop in _COMMON for code in range(start, stop)}
    simplified = simplified_characters()
    for code in table:
        char = unicodedata.normalize("NFKC", chr(code)).casefold()
        table[code] = _PUNCTUATION.get(char, char)
    table.update((ord(char), to) for char, to in simplified.items())
    table.update((ord(char), to) for char, to in _PUNCTUATION.items())
    table.update(dict.fromkeys(map(ord, _UNSEEN)))
    table.update(dict.fromkeys(range(0xD800, 0xE000), "\ufffd"))
    return table


def _unescaped(escapes: re.Match[str]) -> str:
    """The characters of a run of JSON escapes, which are UTF-16: an emoji is two of them."""
    return without_boundaries(bytes.fromhex(escapes[0].replace("\\u", "")).decode("utf-16-be", "replace"))


UNESCAPING = (Rewrite(re.compile(r"(?:\\u[0-9a-fA-F]{4})+"), _unescaped),)
FOLDING = (
    *(Rewrite(re.compile(rf"{sign} +(?=\d)"), sign.removeprefix("\\")) for sign in (r"\$", "€", "£", "¥")),
    *(
        Rewrite(re.compile(pattern), replacement)
        for pattern, replacement in (
            (r",(?=\d{3}(?!\d))(?<=\d,)(?<!\d{4},)", ""),  # digit grouping
            (r"\.0(?<=\d\.0)(?<!\.\d\.0)(?<!\.\d\d\.0)0*(?!\.?\d)", ""),  # not of a version, 1.2.0
            (r" --* ?(?=\d)(?:(?<=\d -)|(?<=\d - )|(?<=\d --))", "-"),  # a range
            (r"--+", "-"),
        )
    ),
    Rewrite(re.compile(f"-(?:(?={_CJK})|(?<={_CJK}-))"), LISTING, beyond_ascii=True),
    *(
        Rewrite(re.compile(pattern), replacement)
        for pattern, replacement in (
            (r",", BREAK),
            (r"\.(?:(?!\d)|(?<!\d\.))", BREAK),
            (r":(?:(?!\d)|(?<!\d:))", BREAK),
            (r"-(?:(?!\d)|(?<=[^\d \n\0]-))", " "),  # -5 keeps its sign
            (r"/(?:(?!\d)|(?<!\d/))", " "),
            (r"'(?:(?!\w)|(?<!\w'))", " "),
            (rf"\d(?=(?:{_UNITS})(?![^\W_]))", r"\g<0> "),
            (r" %(?<=\d %)", "%"),
            # Of a run of marks, the strongest is left: a break, before one of a listing, before a space.
            (r"\n[ \n、]+", BREAK),
            (r" (?=[ \n、])", ""),
            (r"、[ 、]+", LISTING),
            (r"、\n", BREAK),
        )
    ),
    Rewrite(re.compile(f" (?:(?={_CJK})|(?<={_CJK} ))"), "", beyond_ascii=True),
)
"""All that folding does to more than a character. A pattern that begins with one certain character is found quickest."""
