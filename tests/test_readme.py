import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from ctxmode_cli import ContextManager, ExitCode
from ctxmode_cli.commands.config_file import read_config
from ctxmode_cli.commands.main import app

ROOT = Path(__file__).resolve().parents[1]
ENGLISH, CHINESE = "README.md", "README.zh-CN.md"
READMES = pytest.mark.parametrize("name", [ENGLISH, CHINESE])
CTXMODE = [sys.executable, "-m", "ctxmode_cli"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """The fenced blocks of one language in a file."""
    return re.findall(rf"^```{language}\n(.*?\n)```$", read(name), flags=re.MULTILINE | re.DOTALL)


def commands(name: str) -> list[list[str]]:
    """Every line that a reader is told to type, split as a shell would."""
    return [shlex.split(line) for block in blocks(name, "bash") for line in block.splitlines()]


@READMES
def test_a_readme_is_short(name: str) -> None:
    """A newcomer reads it at one sitting."""
    assert len(read(name).splitlines()) <= 150


@READMES
def test_the_table_is_what_compare_prints_now(name: str, compared: str) -> None:
    """The figures shown are those of this version; after a change, paste the output of `ctxmode compare` in both."""
    assert blocks(name, "text") == [compared]


@pytest.fixture(scope="module")
def compared() -> str:
    result = subprocess.run([*CTXMODE, "compare"], capture_output=True, encoding="utf-8", check=True, cwd=ROOT)
    return result.stdout


@READMES
def test_the_service_shown_is_the_example(name: str) -> None:
    """The code in a README is a file that is checked and run, word for word, from its first function on."""
    [shown] = blocks(name, "python")
    assert shown.startswith("def ")
    assert read("examples/service.py").endswith(f"\n\n\n{shown}")


def test_the_service_answers_and_keeps_sessions_apart() -> None:
    """The example runs: each session has its system prompt and its own messages, and nothing of another's."""
    service = {"__name__": "service"}
    exec(read("examples/service.py"), service)  # noqa: S102 - running the example is the point
    sent = []

    def call_model(messages: list[dict[str, str]]) -> str:
        sent.append([message["content"] for message in messages])
        return f"reply {len(sent)}"

    reply = service["reply"]
    assert reply("a", "first", call_model) == "reply 1"
    assert reply("b", "other", call_model) == "reply 2"
    assert reply("a", "second", call_model) == "reply 3"
    prompt = "You answer the customers of a bookshop."
    assert sent == [[prompt, "first"], [prompt, "other"], [prompt, "first", "reply 1", "second"]]


def test_the_service_summarises_long_sessions_and_survives_long_messages() -> None:
    """The example keeps within its budget: old turns become a summary, and a message too long is not sent at all."""
    service = {"__name__": "service"}
    exec(read("examples/service.py"), service)  # noqa: S102 - running the example is the point
    sent = []

    def call_model(messages: list[dict[str, str]]) -> str:
        sent.append(messages)
        return "noted"

    for turn in range(12):
        service["reply"]("a", f"Order number {turn} goes to Leeds.", call_model)
    assert [message["role"] for message in sent[-1]].count("user") < 12
    assert "Order number 0" in sent[-1][1]["content"]
    answer = service["reply"]("a", "word " * 9000, call_model)
    assert re.fullmatch(r"Please shorten your message by \d+ tokens\.", answer)
    assert len(sent) == 12
    with service["sessions"].open("a") as manager:
        assert isinstance(manager, ContextManager)
        assert manager.history.messages[-1].content == "noted"


def test_both_readmes_show_the_same_commands() -> None:
    """Whichever of the two someone reads, they type the same."""
    assert commands(ENGLISH) == commands(CHINESE)
    assert any(command[0] == "ctxmode" for command in commands(ENGLISH))


def inline_code(name: str) -> set[str]:
    """What stands between backticks in running text, code blocks left out."""
    prose = re.sub(r"^```.*?^```$", "", read(name), flags=re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`([^`]+)`", prose))


def test_both_readmes_name_the_same_code() -> None:
    """Modes, options, files and figures that one text names, the other names as well."""
    assert inline_code(ENGLISH) == inline_code(CHINESE)


@READMES
def test_every_command_and_option_named_exists(name: str) -> None:
    """No README promises a command or an option that the program does not have."""
    known = get_command(app).commands
    options = {option for command in known.values() for parameter in command.params for option in parameter.opts}
    options |= {"--help", "--version"}
    named = [shlex.split(code) for code in inline_code(name)] + commands(name)
    for words in named:
        if words[0] == "ctxmode" and len(words) > 1:
            assert words[1] in known, words
        if words[0] == "ctxmode" or words[0].startswith("-"):
            assert {word for word in words if word.startswith("-") and word != "-"} <= options, words


@READMES
def test_the_configuration_shown_is_one(name: str, tmp_path: Path) -> None:
    """The lines for ctxmode.toml can be copied as they stand, and the mode shown is the one that they name."""
    lines = sorted(code for code in inline_code(name) if " = " in code)
    (tmp_path / "ctxmode.toml").write_text("\n".join(lines), encoding="utf-8")
    config = read_config(tmp_path, None)
    [mode] = config.modes
    assert config.options == {"model": "gpt-4.1", "modes": f"full,{mode}"}
    assert f"--modes full,{mode}" in inline_code(name)


@READMES
def test_every_make_target_named_exists(name: str) -> None:
    """What demonstrates and tests are rules of the Makefile."""
    named = [*commands(name), *(code.split() for code in inline_code(name))]
    targets = {words[1] for words in named if words[0] == "make"}
    assert targets == {"demo", "test", "test-live", "test-browser"}
    for target in targets:
        assert re.search(rf"^{target}:", read("Makefile"), flags=re.MULTILINE)


@READMES
def test_the_tour_runs_as_shown(name: str, tmp_path: Path) -> None:
    """The log and the commands of the tour do what the text says, in an empty folder."""
    [log] = blocks(name, "json")
    (tmp_path / "logs.jsonl").write_text(log, encoding="utf-8")
    tour = [words[1:] for words in commands(name) if words[0] == "ctxmode"]
    assert [arguments[0] for arguments in tour] == ["compare", "replay", "compare", "tokenizer-check", "inspect"]
    outputs = []
    for arguments in tour:
        result = subprocess.run(
            [*CTXMODE, *arguments],
            capture_output=True,
            encoding="utf-8",
            check=False,
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        )
        assert (result.returncode, result.stderr) == (0, ""), arguments
        outputs.append(result.stdout)
    assert "1 labelled fact, 1 probe" in outputs[0]
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {
        "requests.parquet",
        "probes.parquet",
        "summaries.parquet",
    }
    assert '"format": 1' in outputs[2]
    assert "chars/4" in outputs[3]


@READMES
def test_the_price_and_the_rule_shown_are_taken(name: str, tmp_path: Path) -> None:
    """A price and a cache rule of one's own, written as shown, are what a comparison takes."""
    shown = [code for code in inline_code(name) if re.match(r"(prices|cache_rules)\.\S+ = ", code)]
    assert len(shown) == 2
    (tmp_path / "ctxmode.toml").write_text("\n".join(shown), encoding="utf-8")
    own = ("--modes", "full", "--model", "ft:gpt-4o:acme", "--cache-rules", "ours", "--sessions-per-day", "9")
    result = subprocess.run(
        [*CTXMODE, "compare", "--limit", "1", *own, "--format", "json"],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
    )
    compared = json.loads(result.stdout)
    [price] = compared["prices"]["models"]["ft:gpt-4o:acme"]["usd_per_million"]
    assert price == {"above": 0, "input": 3.75, "cached": 0.9375, "write": 3.75, "output": 15.0}
    assert compared["prompt_cache"]["rules"]["ft:gpt-4o:acme"]["name"] == "ours"
    assert compared["modes"]["full"]["cost_usd"]["per_day"] > 0


@READMES
def test_every_exit_code_stands_in_the_table(name: str) -> None:
    """The codes promised are those of the public enum, all of them."""
    assert re.findall(r"^\| (\d+) \|", read(name), flags=re.MULTILINE) == [str(int(code)) for code in ExitCode]


DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize(
    "name",
    [
        ENGLISH,
        CHINESE,
        "ARCHITECTURE.md",
        "reports/README.md",
        "reports/article/README.md",
        "datasets/README.md",
        *DOCS,
    ],
)
def test_every_link_within_the_project_leads_somewhere(name: str) -> None:
    """A relative link is a file that is there."""
    links = re.findall(r"\]\(([^)#]+)\)", read(name))
    for link in links:
        if "://" not in link:
            assert (ROOT / name).parent.joinpath(link).exists(), link
