"""The package as a stranger gets it: built from the source distribution, installed elsewhere, run without a network."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[1]

REFUSE_SOCKETS = """
import socket

class NoNetwork(socket.socket):
    def __init__(self, *args, **kwargs):
        raise OSError("no network here")

socket.socket = NoNetwork
"""

TYPED_USE = """
from ctxmode_cli import ContextManager, ContextManger

reveal_type(ContextManager().build_request_messages("hello"))
"""


def run(*command: str | Path, cwd: Path, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False
    )


def build(source: Path, kind: str, to: Path) -> Path:
    """Build the source distribution ("sdist") or the wheel of the project in `source`."""
    result = run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", to, cwd=source)
    assert result.returncode == 0, result.stderr
    [built] = to.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the unpacked source distribution as pip does it."""
    work = tmp_path_factory.mktemp("build")
    with tarfile.open(build(ROOT, "sdist", work / "sdist")) as archive:
        archive.extractall(work / "source", filter="data")
    [source] = (work / "source").iterdir()
    return build(source, "wheel", work / "wheel")


class Installation:
    """The wheel in an empty virtual environment, with no network, no cache and an empty home.

    ctxmode comes from the wheel alone. Its dependencies are those of the development environment, whose folder is
    added after the environment's own; an editable install there stays out, since .pth files in it are not read.
    """

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir()
        home = folder / "home"
        home.mkdir()
        self.bin = folder / "venv" / "bin"
        venv.create(folder / "venv", with_pip=False)
        pip = [sys.executable, "-m", "pip", "--python", self.bin / "python", "--disable-pip-version-check"]
        result = run(*pip, "install", "--no-index", "--no-deps", wheel, cwd=self.elsewhere)
        assert result.returncode == 0, result.stderr
        [self.packages] = (folder / "venv").glob("lib/python*/site-packages")
        (self.packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
        (self.packages / "sitecustomize.py").write_text(REFUSE_SOCKETS, encoding="utf-8")
        self._environment = {"PATH": os.defpath, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        self._cut_off = network_cut()

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        return run(*self._cut_off, *command, cwd=self.elsewhere, environment=self._environment)

    def ctxmode(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(self.bin / "ctxmode", *arguments)

    def python(self, script: str) -> subprocess.CompletedProcess[str]:
        return self.run(self.bin / "python", "-c", script)


def network_cut() -> Sequence[str]:
    """The command that starts another one without any network, where this machine permits it."""
    for cut in (["unshare", "--net"], ["unshare", "--net", "--map-root-user"]):
        try:
            permitted = subprocess.run([*cut, "true"], capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            return ()
        if permitted:
            return cut
    return ()


@pytest.fixture(scope="module")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(wheel, tmp_path_factory.mktemp("installation"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    """One top-level package, typed, with its licence; no tests, no compiled leftovers, no second package."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"ctxmode_cli"}
    assert len(tops) == 2
    assert "ctxmode_cli/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if "test" in name.casefold() or name.endswith(".pyc")]


def test_the_wheel_holds_every_data_file_as_it_is(wheel: Path) -> None:
    """What lies in `datasets/` travels in the wheel to the byte."""
    sources = {path.relative_to(ROOT / "datasets").as_posix(): path for path in (ROOT / "datasets").rglob("*.*")}
    assert sources
    with ZipFile(wheel) as archive:
        for name, path in sources.items():
            assert archive.read(f"ctxmode_cli/_data/{name}") == path.read_bytes(), name


def test_the_wheel_makes_a_page(installation: Installation) -> None:
    """What a page is put together from travels in the wheel."""
    result = installation.ctxmode("compare", "--limit", "2", "-o", "report.html")
    assert (result.returncode, result.stderr) == (0, "")
    assert (installation.elsewhere / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_installed_package_is_the_wheels(installation: Installation) -> None:
    """What runs below is the installed package, not the checkout."""
    result = installation.python("import ctxmode_cli; print(ctxmode_cli.__file__)")
    assert Path(result.stdout.strip()) == installation.packages / "ctxmode_cli" / "__init__.py"


def test_the_installation_has_no_network(installation: Installation) -> None:
    """The tests below mean something: a connection is refused."""
    result = installation.python("import socket; socket.create_connection(('127.0.0.1', 9))")
    assert "no network here" in result.stderr


def test_compare_runs_on_the_built_in_sessions_without_a_network(installation: Installation) -> None:
    """The first command of a newcomer works offline: four modes, none with an invalid request."""
    result = installation.ctxmode("compare", "--limit", "5", "--format", "json")
    assert (result.returncode, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert document["data"]["conversations"] == 5
    assert set(document["modes"]) == {"full", "zero", "sliding", "summary"}
    assert not any(mode["invalid"] for mode in document["modes"].values())


def test_tokenizer_check_passes_without_a_network(installation: Installation) -> None:
    """The vocabularies come with the installation, and are the published ones."""
    result = installation.ctxmode("tokenizer-check", "--format", "json")
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["ok"] is True


def test_a_type_checker_sees_the_public_types(installation: Installation, tmp_path: Path) -> None:
    """Users' own mypy knows what the API returns, and that a misspelt name does not exist."""
    script = tmp_path / "use.py"
    script.write_text(TYPED_USE, encoding="utf-8")
    result = run(
        *[sys.executable, "-m", "mypy", "--strict", "--python-executable", installation.bin / "python"],
        *["--cache-dir", tmp_path / "cache", script],
        cwd=tmp_path,
    )
    assert 'Module "ctxmode_cli" has no attribute "ContextManger"' in result.stdout
    assert 'Revealed type is "list[dict[str, Any]]"' in result.stdout
