"""JSON Lines: one JSON value a line, read as they stream in; every fault is one sentence with its line."""

import json
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.streams import DAMAGE
from ctxmode_cli.errors import CtxmodeError

BOM = b"\xef\xbb\xbf"
ONE_A_LINE = "one JSON object a line is read here"


class _NotJsonError(ValueError):
    """What Python's decoder takes, and JSON does not."""


def _constant(name: str) -> NoReturn:
    raise _NotJsonError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in {float("inf"), float("-inf")}:
        raise _NotJsonError(f"the number {digits[:40]} is too large")
    return number


_decode = json.JSONDecoder(parse_constant=_constant, parse_float=_finite).decode


def decode_json(text: str) -> Any:
    """The value of one JSON text.

    Raises:
        CtxmodeError: It is not JSON, or more than can be held; the message says what and in which column.
    """
    try:
        return _decode(text)
    except json.JSONDecodeError as error:
        raise CtxmodeError(f"invalid JSON: {_fault(error)}, column {error.pos + 1}") from None
    except _NotJsonError as error:
        raise CtxmodeError(f"invalid JSON: {error}") from None
    except ValueError:
        limit = sys.get_int_max_str_digits()
        raise CtxmodeError(f"invalid JSON: an integer of more than {limit:,} digits") from None
    except RecursionError:
        raise CtxmodeError("invalid JSON: nested too deeply") from None


def _fault(error: json.JSONDecodeError) -> str:
    if error.doc[error.pos : error.pos + 1] in {"\r", "\n"} and error.msg.startswith("Invalid control"):
        return "the line ends inside a string"
    message = error.msg.removesuffix(" at").removesuffix(" starting")
    return message[0].lower() + message[1:]


def encode_json(value: Any) -> str:
    """The JSON text of `value` in one line, that UTF-8 can carry: where text holds lone surrogates, all is escaped.

    Raises:
        ValueError: A number is not finite.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if is_utf8(text) else json.dumps(value, allow_nan=False)


def sorted_json(value: Any, *, indent: int | None = None) -> str:
    """The JSON text of `value` in ASCII with sorted keys: equal values give equal bytes, to be hashed or compared.

    Raises:
        ValueError: A number is not finite.
    """
    return json.dumps(value, indent=indent, sort_keys=True, allow_nan=False)


def is_utf8(text: str) -> bool:
    """Whether UTF-8 can carry `text`: it has no lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class JsonlWriter:
    """Writes one record a line.

    Args:
        file: Where the bytes go.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, conversation: Conversation) -> None:
        """Add one conversation as it was recorded."""
        self._file.write(encode_json(conversation.recorded).encode() + b"\n")

    def close(self) -> None:
        """Nothing is left to write; the file is its owner's."""


def read_jsonl(stream: BinaryIO, name: str) -> Iterator[tuple[int, Any] | CtxmodeError]:
    """Each line's number, from 1, and value; a CtxmodeError in the place of a line that cannot be read.

    Lines end in a line feed and in nothing else: other separators may stand inside strings. Blank lines are left out.

    Args:
        stream: Decompressed bytes; lines are read as they come, so that one line is all that is held.
        name: The file's name, for errors.
    """
    number, first = 0, True
    try:
        for number, line in enumerate(stream, 1):
            if number == 1 and line.startswith(BOM):
                line = line[len(BOM) :]  # noqa: PLW2901 - the same line, without its mark
            if not line or line.isspace():
                continue
            if first and (fault := _not_lines(line)):
                fault.where = f"{name}:{number}"
                yield fault
                return
            first = False
            try:
                value = decode_json(line.decode())
            except CtxmodeError as error:
                error.where = f"{name}:{number}"
                yield error
            except UnicodeDecodeError as error:
                yield _not_utf8(error, f"{name}:{number}")
            else:
                yield number, value
    except DAMAGE as error:
        yield damage(error, name, f"line {number}" if number else "")


def damage(error: BaseException, name: str, last: str) -> CtxmodeError:
    """The error of a file that cannot be read on; `last` names the last thing that was read of it, or is ""."""
    reason = getattr(error, "strerror", None) or str(error)
    return CtxmodeError(
        f"the file cannot be read {f'beyond {last}' if last else 'from its start'} ({reason})",
        hint="it may be damaged or cut off: copy it again, or keep what comes before that with --on-error skip",
        where=name,
    )


def _not_lines(first_line: bytes) -> CtxmodeError | None:
    """The error of a JSON file of another form, told by its first line, so that it is one error and not thousands."""
    start = first_line.strip()
    if start.startswith(b"["):
        return CtxmodeError("the file is one JSON array", hint=f"{ONE_A_LINE}; jq -c '.[]' FILE makes that of an array")
    if start == b"{":
        return CtxmodeError(
            "the file is pretty-printed JSON", hint=f"{ONE_A_LINE}; jq -c . FILE makes that of pretty-printed objects"
        )
    return None


def _not_utf8(error: UnicodeDecodeError, where: str) -> CtxmodeError:
    byte = error.object[error.start]
    return CtxmodeError(
        f"invalid UTF-8 at byte {error.start + 1} of the line (0x{byte:02x})",
        hint="logs are UTF-8; convert the file, for example: iconv -f LATIN1 -t UTF-8 FILE",
        where=where,
    )
