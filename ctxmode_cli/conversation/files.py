"""Conversations from files and streams and back: one pass, constant memory, every fault told with its place."""

import hashlib
import heapq
import os
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import PurePath
from typing import Any, BinaryIO, NamedTuple, Protocol

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.inputs import STDIN, find_inputs
from ctxmode_cli.conversation.jsonl import JsonlWriter, damage, read_jsonl
from ctxmode_cli.conversation.parse import NATIVE_FORM, parse_conversation
from ctxmode_cli.conversation.streams import COMPRESSIONS, DAMAGE, Compression, Content, file_sha256, open_output
from ctxmode_cli.errors import CtxmodeError, InputErrors

ERRORS_KEPT = 10

Records = Iterator[tuple[int, Any] | CtxmodeError]
"""Number of each record in its file, from 1, and the record; an error in the place of one that cannot be read."""


class Writer(Protocol):
    """What conversations are written with."""

    def write(self, conversation: Conversation, /) -> None:
        """Add one conversation as it was recorded."""

    def close(self) -> None:
        """Write what is left; the file stays open."""


def _read_jsonl(content: Content, name: str) -> Records:
    return read_jsonl(content.stream, name)


def _read_parquet(content: Content, name: str) -> Records:
    from ctxmode_cli.conversation.parquet import read_parquet  # noqa: PLC0415 - pyarrow is heavy

    with content.seekable() as file:
        yield from read_parquet(file, name)


def _parquet_writer(file: BinaryIO) -> Writer:
    from ctxmode_cli.conversation.parquet import ParquetWriter  # noqa: PLC0415 - as above

    return ParquetWriter(file)


class Format(NamedTuple):
    """A form that files of conversations have: of inputs told by their first bytes, of outputs by their extension."""

    name: str
    description: str
    extensions: tuple[str, ...]
    magic: re.Pattern[bytes]
    unit: str
    """What is counted in "file:17": lines, where nothing is said."""
    read: Callable[[Content, str], Records]
    writer: Callable[[BinaryIO], Writer]


FORMATS = (
    Format(
        "parquet",
        "the same fields as typed columns",
        (".parquet",),
        re.compile(rb"PAR1"),
        "row ",
        _read_parquet,
        _parquet_writer,
    ),
    Format(
        "jsonl",
        "one JSON object a line",
        (".jsonl", ".ndjson", ".json"),
        re.compile(rb""),
        "",
        _read_jsonl,
        JsonlWriter,
    ),
)
"""What can be read and written; an input has the first whose `magic` matches."""


class Reading:
    """The conversations of some inputs, streamed once, and what was wrong with those that could not be read.

    Args:
        paths: Files, directories, globs, or "-" for stdin; format and compression are told by their content.
        on_error: "fail" collects all errors and raises them at the end, "skip" leaves bad records out.
        max_errors: How many bad records are borne; one more raises at once. None: any number.

    Raises:
        CtxmodeError: A path does not exist, or has no logs.
    """

    def __init__(self, paths: Sequence[str], *, on_error: str = "fail", max_errors: int | None = None) -> None:
        self.inputs = find_inputs(paths, is_log=_is_log)
        """The files that are read, in this order; "-" is stdin."""
        self.errors: list[CtxmodeError] = []
        """The first 10 errors."""
        self.error_count = 0
        """How many errors there were in all."""
        self._digests: dict[int, str] = {}
        self._skips = on_error == "skip"
        self._max_errors = max_errors
        self._ids: set[bytes] = set()

    @property
    def sources(self) -> list[tuple[str, str]]:
        """Name and SHA-256 (of the bytes as stored) of each input, in reading order; those that cannot be read left out.

        A file that was left before its end, or never opened, is read for it now; of a stream it is what was read.
        """
        named = ((_shown(path), self._digests.get(at) or file_sha256(path)) for at, path in enumerate(self.inputs))
        return [(name, sha256) for name, sha256 in named if sha256 is not None]

    @property
    def skipped(self) -> int:
        """How many bad records, and broken ends of files, were left out so far; 0 where errors are not skipped."""
        return self.error_count if self._skips else 0

    def conversations(self) -> Iterator[Conversation]:
        """Each conversation as it is read; to be walked through once.

        Raises:
            InputErrors: At the end, unless errors are skipped; at once, where there are more than `max_errors`.
            CtxmodeError: There is no conversation at all.
        """
        found = False
        with closing(self._items()) as items:
            for item in items:
                if isinstance(item, CtxmodeError):
                    self._count(item)
                elif self._skips or not self.error_count:
                    found = True
                    yield item
        if self.errors and not (self._skips and found):
            raise InputErrors(self.errors, self.error_count)
        if not found:
            names = ", ".join(_shown(path) for path in self.inputs)
            raise CtxmodeError("no conversations", where=names, hint=NATIVE_FORM)

    def reject(self, error: CtxmodeError) -> None:
        """Count a conversation that was read but could not be used, as one more bad record.

        Raises:
            InputErrors: Errors are not skipped, or there are more than `max_errors`.
        """
        self._count(error)
        if not self._skips:
            raise InputErrors(self.errors, self.error_count)

    def _items(self) -> Generator[Conversation | CtxmodeError]:
        names = [_shown(path) for path in self.inputs]
        for at, (path, name, prefix) in enumerate(zip(self.inputs, names, _id_prefixes(names), strict=True)):
            try:
                content = Content(path)
            except OSError as error:
                yield CtxmodeError(f"the file cannot be read: {error.strerror}", where=name)
                continue
            with content:
                try:
                    yield from self._conversations_of(content, name, prefix)
                    content.read_rest()
                finally:
                    # A file that was left early gets its digest when it is asked for: nobody waits for it after Ctrl-C.
                    if content.ended or not content.is_file:
                        self._digests[at] = content.sha256()

    def _conversations_of(self, content: Content, name: str, id_prefix: str) -> Iterator[Conversation | CtxmodeError]:
        try:
            form = next(known for known in FORMATS if known.magic.match(content.head()))
            place = f"{name}:{form.unit}"
            for item in form.read(content, name):
                if isinstance(item, CtxmodeError):
                    yield item
                else:
                    number, record = item
                    yield self._conversation(record, f"{place}{number}", f"{id_prefix}:{number}")
        except DAMAGE as error:
            yield damage(error, name, "")

    def _conversation(self, record: Any, where: str, default_id: str) -> Conversation | CtxmodeError:
        try:
            conversation = parse_conversation(record, where=where, default_id=default_id)
        except CtxmodeError as error:
            return error
        return conversation if self._is_new(conversation.id) else _duplicate(conversation)

    def _is_new(self, conversation_id: str) -> bool:
        """Whether no record had this id yet; eight bytes an id are kept, so that millions fit."""
        digest = _digest(conversation_id)
        if digest in self._ids:
            return False
        self._ids.add(digest)
        return True

    def _count(self, error: CtxmodeError) -> None:
        self.error_count += 1
        if len(self.errors) < ERRORS_KEPT:
            self.errors.append(error)
        if self._max_errors is not None and self.error_count > self._max_errors:
            raise InputErrors(self.errors, self.error_count)


@contextmanager
def open_writer(path: str) -> Iterator[Writer]:
    """A writer whose format and compression go by the extension; the file is in place only when all went well.

    Args:
        path: A file such as "logs.jsonl.gz" or "logs.parquet", or "-" for JSON lines on stdout.

    Raises:
        CtxmodeError: The extension is unknown, or the file cannot be written.
    """
    form, compression = _form_of(path)
    with ExitStack() as stack:
        file = stack.enter_context(open_output(path))
        if compression:
            file = stack.enter_context(closing(compression.compress(file)))
        yield stack.enter_context(closing(form.writer(file)))


def _form_of(path: str) -> tuple[Format, Compression | None]:
    name = path.lower() if path != STDIN else ".jsonl"
    compression = next((known for known in COMPRESSIONS if name.endswith(known.extension)), None)
    if compression:
        name = name.removesuffix(compression.extension)
    form = next((known for known in FORMATS if name.endswith(known.extensions)), None)
    if form is None:
        endings = ", ".join(ending for known in FORMATS for ending in known.extensions)
        packed = " or ".join(known.extension for known in COMPRESSIONS)
        raise CtxmodeError(
            "the name tells no format", where=path, hint=f"names end in {endings}, then {packed} if wanted"
        )
    return form, compression


def sample(conversations: Iterable[Conversation], count: int, seed: int) -> list[Conversation]:
    """A seeded sample that does not depend on the order of arrival: the same ids are chosen in any order.

    Chosen are the `count` smallest by a digest of seed and id; no more than these are held.

    Args:
        conversations: Where to choose from.
        count: How many; all of them where there are fewer.
        seed: Another seed, another sample.

    Returns:
        The chosen ones in the order in which they came.
    """
    numbered = enumerate(conversations)
    chosen = heapq.nsmallest(count, numbered, key=lambda item: _digest(item[1].id, salt=str(seed)))
    return [conversation for _, conversation in sorted(chosen, key=lambda item: item[0])]


def _digest(text: str, salt: str = "") -> bytes:
    # surrogatepass: an id may be any JSON string.
    return hashlib.blake2b(f"{salt}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _duplicate(conversation: Conversation) -> CtxmodeError:
    return CtxmodeError(f'duplicate id "{conversation.id}"', where=conversation.where)


def _shown(path: str) -> str:
    return "<stdin>" if path == STDIN else path


def _id_prefixes(names: Sequence[str]) -> list[str]:
    """How the ids of records without one begin: the file's base name, or its whole name where two files share it."""
    bases = [PurePath(name).name for name in names]
    counts = Counter(bases)
    return [base if counts[base] == 1 else name for base, name in zip(bases, names, strict=True)]


def _is_log(path: str) -> bool:
    """Whether a file found in a directory is read: by its name, and a .json, which may be anything, by its content."""
    name = path.lower()
    for compression in COMPRESSIONS:
        name = name.removesuffix(compression.extension)
    if not name.endswith(tuple(ending for form in FORMATS for ending in form.extensions)):
        return False
    if not os.path.isfile(path):  # noqa: PTH113 - one call, no object
        # A broken link is read, so that its error is told; a pipe would wait for a writer.
        return not os.path.exists(path)  # noqa: PTH110 - as above
    return not name.endswith(".json") or _begins_with_record(path)


def _begins_with_record(path: str) -> bool:
    try:
        with Content(path) as content:
            first = next(read_jsonl(content.stream, path), None)
    except OSError:
        return True  # it is read, so that its error is told
    return isinstance(first, tuple) and isinstance(first[1], dict) and "messages" in first[1]
