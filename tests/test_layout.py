"""What the tests share is found under its own name, whichever of them are collected together."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent
FILES = sorted(TESTS.rglob("*.py"))


@cache
def imported(path: Path) -> set[str]:
    """Names of the modules that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    return names | {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}


def test_module_names_are_unique() -> None:
    """Folders of tests are no packages: of two modules of one name only the first would ever be imported."""
    names = Counter(path.stem for path in FILES if path.name != "conftest.py")
    assert {name for name, count in names.items() if count > 1} == set()


def test_shared_helpers_have_names_of_their_own() -> None:
    """No test imports from a `conftest`, of which there are several, nor changes where modules are looked for."""
    assert [path.name for path in FILES if "conftest" in imported(path)] == []
    by_hand = "sys" + ".path"
    assert [path.name for path in FILES if by_hand in path.read_text(encoding="utf-8")] == []


def test_a_helper_lies_where_all_that_use_it_find_it() -> None:
    """In the folder of the tests that import it, or above, which is on the path for all."""
    helpers = {path.stem: path.parent for path in FILES if not path.name.startswith(("test_", "conftest"))}
    for path in FILES:
        for name in imported(path) & helpers.keys():
            assert helpers[name] in {path.parent, TESTS}, f"{path.name} imports {name}"
