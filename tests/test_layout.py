"""What the tests share is found under its own name, whichever of them are collected together."""

import ast
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent
FILES = sorted(TESTS.rglob("*.py"))


def imported(tree: ast.AST) -> set[str]:
    """Names of the modules that a file imports."""
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    return names | {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}


def test_module_names_are_unique() -> None:
    """Folders of tests are no packages: of two modules of one name only the first would ever be imported."""
    names = Counter(path.stem for path in FILES if path.name != "conftest.py")
    assert {name for name, count in names.items() if count > 1} == set()


def test_shared_helpers_have_names_of_their_own() -> None:
    """No test imports from a `conftest`, of which there are several, nor changes where modules are looked for."""
    sources = {path: path.read_text(encoding="utf-8") for path in FILES}
    assert [path.name for path, source in sources.items() if "conftest" in imported(ast.parse(source))] == []
    by_hand = "sys" + ".path"
    assert [path.name for path, source in sources.items() if by_hand in source] == []


def test_a_helper_lies_where_all_that_use_it_find_it() -> None:
    """In the folder of the tests that import it, or above, which is on the path for all."""
    helpers = {path.stem: path.parent for path in FILES if not path.name.startswith(("test_", "conftest"))}
    for path in FILES:
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))) & helpers.keys():
            assert helpers[name] in {path.parent, TESTS}, f"{path.name} imports {name}"
