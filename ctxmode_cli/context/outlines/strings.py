"""Single strings of a tool output, made short and harmless: blobs by their size, long texts cut, all in one line."""

import re
from typing import Any

from ctxmode_cli.conversation.jsonl import decode_json, encode_json
from ctxmode_cli.errors import CtxmodeError

LEAST_BLOB = 200
"""Characters from which a run of base64 is a blob: a hash, a key or a path is shorter."""

LEAST_LINES = 2
"""Lines from which values one below the other are JSON Lines."""

# A row is tried only where a run begins, and never given up in part: the time is linear in the text's length.
_ROW = r"[A-Za-z0-9+/_-]"
_BLOB = re.compile(
    rf"(?<!{_ROW}){_ROW}{{60,}}+(?:\r?\n{_ROW}{{60,}}+)*+"
    rf"(?:={{1,2}}|\r?\n{_ROW}++(?:={{1,2}}|\s*+\Z))?"
)
_URI = re.compile(r"data:(?P<type>[\w/+.;=-]{0,100});base64,[A-Za-z0-9+/=_-]++")
_MIXED = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"))
_JSON = re.compile(r'\s*+(?:\{\s*+["}]|\[\s*+(?:[\[{"\]]|(?:-?[\d.]++|true|false|null)\s*+[,\]]))')


def without_blobs(text: str) -> str:
    """`text` with every data URI and every long run of base64 replaced by its size."""
    if len(text) < LEAST_BLOB and "base64," not in text:
        return text
    return _BLOB.sub(_size, _URI.sub(_uri_size, text))


def _uri_size(match: re.Match[str]) -> str:
    return f"[{match['type'] or 'data'}, base64, {len(match[0]):,} characters]"


def _size(match: re.Match[str]) -> str:
    blob = match[0]
    if len(blob) < LEAST_BLOB or not all(kind.search(blob) for kind in _MIXED):
        return blob
    return f"[base64, {len(blob):,} characters]"


def cut(text: str, room: int) -> str:
    """`text`, or what fits of it into `room` characters with an ellipsis."""
    return text if len(text) <= room else f"{text[: max(0, room - 1)].rstrip()}…"


def in_one_line(text: str) -> str:
    """`text` with every run of white space, line breaks among it, as one space."""
    return " ".join(text.split())


def scalar(value: Any, room: int) -> str:
    """The JSON text of a string, number, truth value or null; a long one cut to `room` characters, with its length."""
    if not isinstance(value, str):
        return cut(encode_json(value), room)
    short = without_blobs(value)
    if len(short) <= room:
        return encode_json(short)
    return f"{encode_json(cut(short, room))} ({len(value):,} characters)"


def looks_like_json(text: str) -> bool:
    """Whether `text` begins as a JSON object or array does, and a log line in brackets does not."""
    return _JSON.match(text) is not None


def json_in(text: str) -> Any:
    """The object or array whose JSON `text` is; None where it is none."""
    if not looks_like_json(text):
        return None
    try:
        return decode_json(text)
    except CtxmodeError:
        return None


def json_lines_in(text: str) -> list[Any]:
    """The objects and arrays of JSON Lines; none where fewer than two lines, or fewer than half of them, hold one.

    A log is often cut off, so a broken line among many is left out.
    """
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    if len(lines) < LEAST_LINES or json_in(lines[0]) is None:
        return []
    values = [value for value in map(json_in, lines) if value is not None]
    return values if len(values) * 2 >= max(len(lines), 2 * LEAST_LINES) else []
