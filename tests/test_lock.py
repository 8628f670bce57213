import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REQUIREMENTS = [
    *PROJECT["project"]["dependencies"],
    *PROJECT["project"]["optional-dependencies"]["dev"],
    *PROJECT["build-system"]["requires"],
]
LOCKS = ("requirements.lock", "requirements-live.lock", "requirements-browser.lock")
EACH_LOCK = pytest.mark.parametrize("lock", LOCKS)


def locked(lock: str) -> dict[str, list[str]]:
    """Canonical `name==version` of each locked package, with its hashes."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    entries = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {entry[0]: [word for word in entry if word.startswith("--hash=")] for entry in entries}


def locked_versions(lock: str) -> dict[str, str]:
    return {canonicalize_name(name): version for name, version in (pin.split("==") for pin in locked(lock))}


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_every_dependency_is_locked_at_a_version_it_allows(requirement: str) -> None:
    """Whatever run time, development or the build asks for, the lock names one version that satisfies it."""
    wanted = Requirement(requirement)
    version = locked_versions("requirements.lock")[canonicalize_name(wanted.name)]
    assert Version(version) in wanted.specifier


@EACH_LOCK
def test_every_locked_package_has_its_hashes(lock: str) -> None:
    """An entry is one exact version with the SHA-256 of its files, so that two installs are the same."""
    for pin, hashes in locked(lock).items():
        assert re.fullmatch(r"[a-z0-9-]+==[^=\s]+", pin), pin
        assert hashes, pin
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", word) for word in hashes), pin


@EACH_LOCK
def test_no_lock_names_an_index(lock: str) -> None:
    """Where packages come from is the installing machine's affair, not the project's."""
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")


@pytest.mark.parametrize("tests", ["live", "browser"])
def test_an_extra_lock_is_what_the_makefile_asks_for(tests: str) -> None:
    """These tests' packages are installed without dependencies: each is named, and has its version."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [names] = re.findall(rf"^{tests.upper()} := (.+)$", makefile, flags=re.MULTILINE)
    assert sorted(locked_versions(f"requirements-{tests}.lock")) == sorted(names.split())
