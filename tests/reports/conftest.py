"""The report's scripts, which are no package, as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ARTICLE = Path(__file__).resolve().parents[2] / "reports" / "article"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"article_{name}", ARTICLE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for the module of their annotations
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def runner() -> ModuleType:
    return script("run")


@pytest.fixture(scope="session")
def growth() -> ModuleType:
    return script("growth")


@pytest.fixture(scope="session")
def shares() -> ModuleType:
    return script("shares")
