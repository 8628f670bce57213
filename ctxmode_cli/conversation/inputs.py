# ruff: noqa: PTH112, PTH118, PTH207
# Names stay as they were given: pathlib would make "a" of "./a".
"""Which files an input path stands for: the file itself, the logs in a directory, a glob's matches, or stdin."""

import glob
import os
from collections.abc import Callable, Sequence
from typing import NoReturn

from ctxmode_cli.errors import CtxmodeError

STDIN = "-"
"""The path that stands for standard input."""

PATHS_HINT = 'give files, directories, globs in quotes, or "-" for standard input'


def find_inputs(paths: Sequence[str], *, is_log: Callable[[str], bool]) -> list[str]:
    """The files that `paths` stand for, in the order given, a directory's and a glob's sorted by name.

    Args:
        paths: Files, directories (searched for logs in all their folders), globs, or "-" for stdin.
        is_log: Whether a file that was found in a directory is a log.

    Raises:
        CtxmodeError: A path does not exist, a directory holds no logs, or a glob matches nothing.
    """
    return [found for path in paths for found in _expand(path, is_log)]


def _expand(path: str, is_log: Callable[[str], bool]) -> list[str]:
    if path == STDIN:
        return [path]
    if os.path.isdir(path):
        return _logs_in(path, is_log) or _none("the directory holds no logs", path)
    if os.path.lexists(path):
        return [path]
    if not glob.has_magic(path):
        raise CtxmodeError("no such file or directory", where=path, hint=PATHS_HINT)
    found = []
    for match in sorted(glob.glob(path, recursive=True)):
        found += _logs_in(match, is_log) if os.path.isdir(match) else [match]
    return list(dict.fromkeys(found)) or _none("the glob matches no logs", path)


def _none(message: str, path: str) -> NoReturn:
    raise CtxmodeError(message, where=path, hint=f"`ctxmode formats` lists the names of logs; {PATHS_HINT}")


def _logs_in(directory: str, is_log: Callable[[str], bool]) -> list[str]:
    """Every log below `directory`, hidden files and folders left out."""
    found = []
    for folder, subfolders, names in os.walk(directory, onerror=_refuse):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        paths = (os.path.join(folder, name) for name in names if not name.startswith("."))
        found += [path for path in paths if is_log(path)]
    return sorted(found)


def _refuse(error: OSError) -> NoReturn:
    raise CtxmodeError(f"the directory cannot be read: {error.strerror}", where=str(error.filename)) from None
