"""What stands for a file that was sent before."""

import json
from typing import Any

import pytest

from ctxmode_cli.context.outlines.files import file_reference

CODE = "import os\nimport re\n\nclass App:\n    def run(self):\n        pass\n\ndef main():\n    App().run()\n"
SENT = "lines 1-9 of this file were sent before: imports os, re; class App; def run, main"


def reference(name: str, text: str = CODE, **arguments: Any) -> str | None:
    return file_reference(name, json.dumps(arguments), text)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": "src/app.py"}),
        ("Read", {"file_path": "src/app.py"}),
        ("openFile", {"filename": "src/app.py"}),
        ("get_file_contents", {"file": "src/app.py"}),
        ("str_replace_based_edit_tool", {"command": "view", "path": "src/app.py"}),
        ("bash", {"command": "cat src/app.py"}),
        ("bash", {"command": "cd /repo && cat -n src/app.py"}),
        ("exec", {"cmd": "sed -n '1,9p' src/app.py"}),
        ("shell", {"command": ["bash", "-lc", "head -n 9 src/app.py"]}),
        ("shell", {"command": ["head", "-9", "src/app.py"]}),
    ],
)
def test_a_call_that_read_a_file_is_known(name: str, arguments: dict[str, Any]) -> None:
    """By the tool's name and an argument that names a file, or by a command that only shows one."""
    assert reference(name, **arguments) == f"src/app.py, {SENT}"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "a.py"}),
        ("str_replace_based_edit_tool", {"command": "create", "path": "a.py"}),
        ("grep", {"pattern": "x", "path": "src"}),
        ("read_url", {"path": "a.py"}),
        ("read", {"path": "https://example.com/a"}),
        ("view", {"path": "src/"}),
        ("open_ticket", {"file": "a.py"}),
        ("read_file", {}),
        ("bash", {"command": "cat a.py b.py"}),
        ("bash", {"command": "cat a.py | wc -l"}),
        ("bash", {"command": "cat > a.py"}),
        ("bash", {"command": "make && cat a.py"}),
        ("bash", {"command": "rm a.py"}),
        ("bash", {"command": "cat 'a.py"}),
        ("bash", {"command": 5}),
        ("bash", {"command": ""}),
    ],
)
def test_a_call_that_did_something_else_is_none(name: str, arguments: dict[str, Any]) -> None:
    """What writes, searches, fetches, shows several files or feeds another command read no file."""
    assert reference(name, **arguments) is None


@pytest.mark.parametrize("text", ["", "  \n", "Error: no such file", "FileNotFoundError: a.py"])
def test_a_file_that_was_not_read_is_none(text: str) -> None:
    """An error and nothing at all are no file."""
    assert reference("read_file", text, path="a.py") is None


def test_arguments_that_are_no_object_are_none() -> None:
    """Broken arguments name no file."""
    for arguments in ("", "{", "[]", '"a.py"', "null"):
        assert file_reference("read_file", arguments, CODE) is None


@pytest.mark.parametrize(
    ("arguments", "which"),
    [
        ({"offset": 100, "limit": 9}, "lines 100-108 of this file were"),
        ({"start_line": 20, "end_line": 28}, "lines 20-28 of this file were"),
        ({"view_range": [5, 13]}, "lines 5-13 of this file were"),
        ({"offset": 0}, "lines 1-9 of this file were"),
        ({"offset": "x", "view_range": []}, "lines 1-9 of this file were"),
    ],
)
def test_lines_begin_where_the_arguments_say(arguments: dict[str, Any], which: str) -> None:
    """The first line is the call's, the last follows from how many lines came back."""
    assert (reference("read_file", path="a.py", **arguments) or "").startswith(f"a.py, {which} sent before: ")


@pytest.mark.parametrize("mark", [":", "→", "\t", "|"])
def test_lines_that_are_numbered_say_it_themselves(mark: str) -> None:
    """Numbers in the output are believed before the arguments, and are no part of the code."""
    numbered = "".join(f"{n:5}{mark}{code}\n" for n, code in enumerate(CODE.splitlines(), 1457))
    text = f"[File: a.py (1997 lines total)]\n{numbered}(441 more lines below)\n"
    said = reference("open", text, path="a.py", offset=3)
    assert said == "a.py, lines 1457-1465 of this file were sent before: imports os, re; class App; def run, main"


def test_sed_says_where_it_begins() -> None:
    """The first line of a range that sed prints."""
    said = reference("bash", "one\ntwo\n", command="sed -n '30,31p' notes.txt")
    assert said == "notes.txt, lines 30-31 of this file were sent before: one"


@pytest.mark.parametrize(
    ("path", "text", "summary"),
    [
        ("a.md", "# Setup\ntext\n## Use of it\n", "sections Setup, Use of it"),
        ("a.json", '{"name": "x",\n "版本": 2}', "keys name, 版本"),
        ("a.json", "[1,\n2]", "list of 2 items"),
        ("a.txt", "\n  First words. \nmore", "First words."),
        ("a.txt", "First " + "word " * 40 + "\nx", "First " + "word " * 14 + "wor…"),
        (
            "a.js",
            "import { a } from './b'\nconst c = require('d')\nexport async function run() {\nconst f = (x) => x\n",
            "imports ./b, d; function run; const f",
        ),
        ("a.go", "func (s *Server) Run() {\nfunc main() {\ntype Server struct {\n", "func Run, main; type Server"),
        (
            "a.rs",
            "use std::fs;\npub(crate) async fn run() {\npub struct App {\n",
            "imports std::fs; fn run; struct App",
        ),
        (
            "A.java",
            "import a.b.C;\npublic class A {\n  private static int run(int x) {\n",
            "imports a.b.C; class A; private run",
        ),
        ("a.c", "#include <stdio.h>\nint main(int c, char **v) {\n", "imports stdio.h; int main"),
        ("a.sql", "CREATE TABLE orders (\n", "CREATE TABLE orders"),
        ("a.py", "".join(f"def f{n}():\n" for n in range(10)), "def f0, f1, f2, f3, f4, f5, f6, f7, … 2 more"),
    ],
)
def test_what_is_in_a_file_is_told(path: str, text: str, summary: str) -> None:
    """Keys of JSON, headings, imports and definitions of several languages, or else the first line."""
    assert (reference("read_file", text, path=path) or "").split("sent before: ")[1] == summary


def test_one_line_of_a_file_is_one() -> None:
    """A single line is no range."""
    assert reference("read_file", "x = 1", path="a.py") == "a.py, line 1 of this file was sent before: x = 1"
