"""Bytes in and out: inputs decompressed and hashed as they are stored, outputs compressed and put in place whole."""

import errno
import gzip
import hashlib
import io
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self, cast

from ctxmode_cli.conversation.inputs import STDIN
from ctxmode_cli.errors import system_errors

CHUNK = 1 << 16
"""Bytes read at once; also the most that a damaged stream can lose before the damage."""
HEAD = 4
"""Bytes that tell a compression or Parquet."""

PART_PREFIX = ".ctxmode-"
"""How the folders begin in which outputs lie until they are whole."""

Read = Callable[[int], bytes]
DAMAGE = (EOFError, OSError, zlib.error)
"""What reading raises where a file vanishes, breaks off or is damaged."""


class RawStream(io.RawIOBase):
    """A raw stream over a `read(size)` function, whose first bytes can be looked at before they are read."""

    def __init__(self, read: Read) -> None:
        super().__init__()
        self._read = read
        self._head = b""

    def readable(self) -> bool:
        """It only reads."""
        return True

    def head(self) -> bytes:
        """The first bytes, fewer only where the stream is shorter."""
        while len(self._head) < HEAD and (more := self._read(HEAD - len(self._head))):
            self._head += more
        return self._head

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the library's Buffer has no length
        """Fill `buffer` with what one call of `read` gives."""
        data = self._head[: len(buffer)] or self._read(len(buffer))
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _gunzip(stream: BinaryIO) -> Read:
    # read1, not read: what was decompressed before the damage is delivered before the error.
    return gzip.GzipFile(fileobj=stream).read1


def _unzstd(stream: BinaryIO) -> Read:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only zstd needs it

    decompressed = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")
    # Small reads: one that meets the damage gives up what it had decompressed before.
    read: Read = lambda size: decompressed.read(min(size, 4096))  # noqa: E731
    return read


def _gzip(stream: BinaryIO) -> BinaryIO:
    # No name and no time inside: equal records give equal bytes.
    return cast("BinaryIO", gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=stream, mtime=0))


def _zstd(stream: BinaryIO) -> BinaryIO:
    import pyarrow as pa  # noqa: PLC0415 - as above

    return cast("BinaryIO", pa.CompressedOutputStream(pa.PythonFile(stream, mode="w"), "zstd"))


class Compression(NamedTuple):
    """A compression: of inputs told by their first bytes and never by their name, of outputs by their extension."""

    name: str
    extension: str
    magic: re.Pattern[bytes]
    decompress: Callable[[BinaryIO], Read]
    compress: Callable[[BinaryIO], BinaryIO]


COMPRESSIONS = (
    Compression("gzip", ".gz", re.compile(rb"\x1f\x8b"), _gunzip, _gzip),
    # The second form is a skippable frame, with which seekable zstd files may begin.
    Compression("zstd", ".zst", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), _unzstd, _zstd),
)


class Content:
    """The decompressed bytes of one input, and the digest of its bytes as they are stored.

    Args:
        path: A file, a pipe, or "-" for stdin.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = sys.stdin.buffer if path == STDIN else Path(path).open("rb")  # noqa: SIM115 - closed on exit
        self.is_file = path != STDIN and Path(path).is_file()
        """Whether it can be read again: a file on disk, not a stream."""
        self.ended = False
        """Whether all of it was read, or as much as can be."""
        self._digest = hashlib.sha256()
        stored = RawStream(self._read_stored)
        head = stored.head()
        self.compression = next((known for known in COMPRESSIONS if known.magic.match(head)), None)
        """The compression that was found, or None."""
        if self.compression:
            content = RawStream(self.compression.decompress(io.BufferedReader(stored, CHUNK)))
        else:
            content = stored
        self._content = content
        self.stream = io.BufferedReader(content, CHUNK)
        """The decompressed bytes."""

    def head(self) -> bytes:
        """The first decompressed bytes, without reading them from `stream`; call it before `stream` is read."""
        return self._content.head()

    @contextmanager
    def seekable(self) -> Iterator[BinaryIO]:
        """All decompressed bytes as a file that can be sought in: the file itself, or a temporary copy of a stream."""
        if self.compression or not self.is_file:
            with tempfile.TemporaryFile() as spool:
                shutil.copyfileobj(self.stream, spool, CHUNK)
                spool.seek(0)
                yield spool
        else:
            with Path(self._path).open("rb") as file:
                yield file

    def read_rest(self) -> None:
        """Read what is left, for the digest's sake."""
        with suppress(OSError):  # a broken disk; whoever read the content was told
            while self._read_stored(CHUNK):
                pass
        self.ended = True

    def sha256(self) -> str:
        """The hexadecimal SHA-256 of the bytes that were read so far, as they are stored."""
        return self._digest.hexdigest()

    def _read_stored(self, size: int) -> bytes:
        data: bytes = self._file.read1(size)  # type: ignore[union-attr] # a BufferedReader, whatever its stub says
        self._digest.update(data)
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not sys.stdin.buffer:
            self._file.close()


def file_sha256(path: str) -> str | None:
    """The hexadecimal SHA-256 of a file's bytes; None where it cannot be read, or is not a file on disk."""
    with suppress(OSError):
        if path != STDIN and Path(path).is_file():
            with Path(path).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return None


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when all went well, and leaves nothing behind when it did not.

    Args:
        path: Where it ends up; a link is followed. "-" is stdout.

    Raises:
        CtxmodeError: It cannot be written.
    """
    with system_errors("the file cannot be written", where="<stdout>" if path == STDIN else path):
        if path == STDIN:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        with beside(Path(path).resolve()) as part, part.open("wb") as file:
            yield file


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A place for a file or a folder that is moved to `target` when all went well, and removed when it did not.

    It lies in a hidden folder of its own next to `target`, so that runs which write to one target never meet: the
    last file to be moved wins, and a folder that is there already stays. What a killed run leaves harms no other.

    Args:
        target: Where it ends up.

    Raises:
        OSError: It cannot be made there, cannot be moved, or a folder is there already.
    """
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    folder = Path(tempfile.mkdtemp(prefix=PART_PREFIX, dir=target.parent))
    try:
        # Inside, files get the rights that the user's umask gives; the folder itself is private.
        part = folder / target.name
        yield part
        part.replace(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
