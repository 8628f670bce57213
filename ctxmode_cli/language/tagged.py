"""Text that a model is handed as data: between tags that nothing in it can close."""

import hashlib
from collections.abc import Mapping
from itertools import count
from typing import Any

_CODE_DIGITS = 8


def call_messages(instructions: str, parts: Mapping[str, str]) -> list[dict[str, Any]]:
    """The messages of a call in wire form: what the model is told to do, then texts between tags as one of a user's."""
    return [{"role": "system", "content": instructions}, {"role": "user", "content": between_tags(parts)}]


def between_tags(parts: Mapping[str, str]) -> str:
    """Each text between tags of its name; all tags have one code, which occurs in no text and is always the same for them."""
    code = _absent_code("\n".join(parts.values()))
    return "\n".join(f"<{name}-{code}>\n{text}\n</{name}-{code}>" for name, text in parts.items())


def _absent_code(text: str) -> str:
    """A code that does not occur in a text, and is always the same for it."""
    data = text.encode("utf-8", "surrogatepass")
    digests = (hashlib.sha256(b"%d %b" % (attempt, data)).hexdigest() for attempt in count())
    return next(code for code in (digest[:_CODE_DIGITS] for digest in digests) if code not in text)
