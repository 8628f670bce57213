"""The configuration file: where it is found, what beats what, named modes, and what is wrong with it."""

import hashlib
import itertools
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from command_line import Ctxmode
from hypothesis import example, given
from hypothesis import strategies as st
from typer.main import get_command

from ctxmode_cli.commands.config_file import ConfigFile, NamedMode, read_config
from ctxmode_cli.commands.main import app
from ctxmode_cli.errors import CtxmodeError

NARROW = '[modes.sliding_4]\nbase = "sliding"\nsliding_turns = 4\n'


def write(folder: Path, text: str, name: str = "ctxmode.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def report(result: Any) -> dict[str, Any]:
    """The JSON that a run printed, with nothing on stderr."""
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


# --- what beats what ---


@pytest.mark.parametrize(
    "layers", [set(some) for n in range(5) for some in itertools.combinations(range(4), n)], ids=str
)
def test_what_beats_what(
    ctxmode: Ctxmode, talk: str, here: Path, monkeypatch: pytest.MonkeyPatch, layers: set[int]
) -> None:
    """Command line over environment over the mode's own section over the top of the file over the default."""
    flag, variable, section, top = range(4)
    arguments = ["--sliding-turns", "11"] if flag in layers else []
    if variable in layers:
        monkeypatch.setenv("CTXMODE_SLIDING_TURNS", "12")
    text = "sliding_turns = 14\n" if top in layers else ""
    text += '[modes.mine]\nbase = "sliding"\n' + ("sliding_turns = 13\n" if section in layers else "")
    write(here, text)
    result = ctxmode("compare", talk, "--modes", "mine,sliding", "--limit", "1", "--format", "json", *arguments)
    settings = json.loads(result.out)["settings"]
    order = [11, 12, 13, 14, 10]
    assert settings["mine"]["sliding_turns"] == order[min(layers, default=4)]
    assert settings["sliding"]["sliding_turns"] == order[min(layers - {section}, default=4)]


def test_the_file_sets_every_kind_of_option(
    ctxmode: Ctxmode, talk: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers, choices, switches, lists and the commands' own options come from the file; what is set elsewhere wins."""
    write(
        here,
        'seed = 3\nlimit = 1\nformat = "json"\nmodes = "zero,sliding"\nbaseline = "sliding"\nmode = "zero"\n'
        'output = ["x.json", "x.md"]\nverbose = true\ncompress_ratio = 0.5\nmodel = "gpt-4"\n',
    )
    result = ctxmode("compare", talk)
    compared = json.loads(result.out)
    assert (compared["seed"], compared["baseline"], compared["model"]) == (3, "sliding", "gpt-4")
    assert (set(compared["modes"]), compared["data"]["conversations"]) == ({"zero", "sliding"}, 1)
    assert compared["settings"]["zero"]["compress_ratio"] == 0.5
    assert (here / "x.json").read_text(encoding="utf-8") == result.out
    assert (here / "x.md").exists()
    assert result.err.startswith("settings from ctxmode.toml\nreplaying ")
    assert set(json.loads(ctxmode("replay", talk).out)["modes"]) == {"zero"}
    monkeypatch.setenv("CTXMODE_LIMIT", "2")
    monkeypatch.setenv("CTXMODE_VERBOSE", "0")
    compared = report(ctxmode("compare", talk, "--seed", "4", "--modes", "full", "--baseline", "full", "-o", "y.json"))
    assert (compared["seed"], set(compared["modes"]), compared["data"]["conversations"]) == (4, {"full"}, 2)
    assert ctxmode("compare", talk, "--format", "csv").out.startswith("mode,")


def test_equal_bytes_from_flags_and_from_the_file(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """Where a setting stood makes no difference to the result."""
    flags = ["--sliding-turns", "3", "--compress-ratio", "0.5", "--summary-trigger", "both", "--max-tokens", "400"]
    with_flags = ctxmode("compare", talk, *flags, "--probes", "all", "--format", "json")
    write(
        here,
        'sliding_turns = 3\ncompress_ratio = 0.5\nsummary_trigger = "both"\nmax_tokens = 400\nprobes = "all"\n'
        'format = "json"\n',
    )
    assert ctxmode("compare", talk) == with_flags
    (here / "ctxmode.toml").unlink()
    write(here, 'max_tokens = 400\nformat = "json"\nprobes = "all"\n[modes.sliding]\nsliding_turns = 3\n')
    sections = report(ctxmode("compare", talk))
    assert sections["modes"]["sliding"] == json.loads(with_flags.out)["modes"]["sliding"]


def test_every_option_has_its_key(tmp_path: Path) -> None:
    """Each option of the replaying commands can stand in the file under its name, and nothing else can."""
    commands = get_command(app).commands
    options = {
        parameter.name
        for name in ("compare", "replay", "forecast")
        for parameter in commands[name].params
        if parameter.param_type_name == "option"
    } - {"help", "config"}
    assert {"sliding_turns", "seed", "modes", "mode", "baseline", "output"} <= options
    everything = {parameter.name for command in commands.values() for parameter in command.params}
    for key in {*everything, "config", "help", "install_completion"}:
        with pytest.raises(CtxmodeError) as raised:
            read_config(tmp_path, str(write(tmp_path, f"{key} = 1979-05-27\n")))
        assert raised.value.message.endswith(" is unknown") == (key not in options), key


# --- where the file is ---


def test_own_file_before_the_projects(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """ctxmode.toml counts alone where it is; else the section of pyproject.toml; else nothing."""
    run = ("compare", talk, "--limit", "1", "--format", "json")
    assert report(ctxmode(*run))["seed"] == 0
    project = write(here, '[project]\nname = "x"\n[tool.other]\nseed = 1\n', "pyproject.toml")
    assert report(ctxmode(*run))["seed"] == 0
    write(here, "[tool.ctxmode]\nseed = 2\n[tool.ctxmode.modes.sliding]\nsliding_turns = 5\n", "pyproject.toml")
    compared = report(ctxmode(*run))
    assert (compared["seed"], compared["settings"]["sliding"]["sliding_turns"]) == (2, 5)
    write(here, "limit = 1\n")
    assert report(ctxmode(*run))["seed"] == 0
    assert report(ctxmode(*run, "--config", str(project)))["seed"] == 2


def test_a_named_file(ctxmode: Ctxmode, talk: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--config and CTXMODE_CONFIG name another file, which is then the only one."""
    write(here, "seed = 1\nlimit = 1\n")
    write(here, "seed = 2\n", "other.toml")
    write(here, "seed = 3\n", "third.toml")
    run = ("compare", talk, "--format", "json")
    compared = report(ctxmode(*run, "--config", "other.toml"))
    assert (compared["seed"], compared["selection"]["limit"]) == (2, None)
    monkeypatch.setenv("CTXMODE_CONFIG", "third.toml")
    assert report(ctxmode(*run))["seed"] == 3
    assert report(ctxmode(*run, "--config", "other.toml"))["seed"] == 2


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("none.toml", "error: none.toml: the configuration cannot be read: No such file or directory\n"),
        ("folder", "error: folder: the configuration cannot be read: Is a directory\n"),
        ("pyproject.toml", "error: pyproject.toml: there is no [tool.ctxmode]\n"),
    ],
)
def test_a_named_file_has_to_be_there(ctxmode: Ctxmode, talk: str, here: Path, name: str, error: str) -> None:
    """What was named and cannot be used is wrong usage."""
    (here / "folder").mkdir()
    write(here, "tool = 3\n", "pyproject.toml")
    assert ctxmode("compare", talk, "--config", name) == (2, "", error)
    assert ctxmode("replay", talk, "--config", name) == (2, "", error)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_folder_that_may_not_be_searched(tmp_path: Path) -> None:
    """Where no file can be looked for, there is none."""
    tmp_path.chmod(0)
    try:
        assert read_config(tmp_path, None) == ConfigFile()
    finally:
        tmp_path.chmod(0o700)


def test_the_run_folder_names_the_file(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """run.json says which file was used, and by its digest in which state; null where there was none."""
    assert ctxmode("replay", talk, "-o", "without").code == 0
    path = write(here, "seed = 1\n")
    assert ctxmode("replay", talk, "-o", "with").code == 0
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert json.loads((here / "with" / "run.json").read_text())["config"] == {"name": "ctxmode.toml", "sha256": digest}
    assert json.loads((here / "without" / "run.json").read_text())["config"] is None


def test_what_does_not_replay_does_not_read_it(ctxmode: Ctxmode, here: Path) -> None:
    """A faulty file is in the way of a replay only: help and the other commands answer."""
    write(here, "seed =")
    assert ctxmode("compare").code == 2
    for arguments in (["compare", "--help"], ["replay", "-h"], ["modes"], ["--version"]):
        assert ctxmode(*arguments).code == 0


# --- named modes ---


def test_a_named_mode_beside_its_base(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """A named mode is its base with its own settings, and goes by its own name everywhere."""
    write(here, NARROW)
    compared = report(ctxmode("compare", talk, "--modes", "full,sliding,sliding_4", "--format", "json"))
    assert list(compared["settings"]) == ["full", "sliding", "sliding_4"]
    settings = compared["settings"]
    assert settings["sliding_4"] == settings["sliding"] | {"sliding_turns": 4}
    assert settings["sliding_4"]["mode"] == "sliding"
    four = ("compare", talk, "--modes", "full,sliding", "--sliding-turns", "4", "--format", "json")
    assert compared["modes"]["sliding_4"] == json.loads(ctxmode(*four).out)["modes"]["sliding"]
    assert compared["modes"]["sliding_4"] != compared["modes"]["sliding"]
    assert ctxmode("replay", talk, "--mode", "sliding_4").out.splitlines()[-1].startswith("sliding_4 costs ")


def test_a_table_says_which_of_its_names_to_use(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """`use` stands for the option that has the table's name, since a key of that name has no room beside it."""
    write(
        here,
        f'[modes]\nuse = "zero,a"\n{SECTION}[cache_rules]\nuse = "ours"\n[cache_rules.ours]\nminimum = 0\nread = 0.5\n',
    )
    compared = report(ctxmode("compare", talk, "--format", "json"))
    assert list(compared["settings"]) == ["a", "zero"]
    assert compared["prompt_cache"]["rules"]["gpt-4o"]["name"] == "ours"
    given = report(ctxmode("compare", talk, "--modes", "full", "--cache-rules", "none", "--format", "json"))
    assert list(given["settings"]) == ["full"]
    assert given["prompt_cache"]["rules"]["gpt-4o"]["name"] == "none"


def test_a_section_without_base_changes_the_built_in_mode(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """[modes.sliding] is for sliding alone, not for what is made of it; base may be repeated."""
    write(here, '[modes.sliding]\nbase = "sliding"\nsliding_turns = 2\n[modes.ten]\nbase = "sliding"\n')
    compared = report(ctxmode("compare", talk, "--modes", "sliding,ten", "--format", "json"))
    assert {name: part["sliding_turns"] for name, part in compared["settings"].items()} == {"sliding": 2, "ten": 10}


def test_what_was_given_is_stronger_than_a_section_and_says_so(
    ctxmode: Ctxmode, talk: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flag that changes a mode's own setting is told on stderr, once for each mode that is replayed."""
    write(here, NARROW + '[modes.other]\nbase = "sliding"\nsliding_turns = 5\n')
    run = ("compare", talk, "--limit", "1", "--modes", "sliding_4,sliding")
    told = "3 is stronger than sliding_turns = 4 in [modes.sliding_4] of ctxmode.toml\n"
    assert ctxmode(*run, "--sliding-turns", "3").err == f"note: --sliding-turns {told}"
    assert ctxmode(*run, "--sliding-turns", "3", "-q").err == ""
    assert ctxmode(*run, "--sliding-turns", "4").err == ""
    assert ctxmode(*run, "--sliding-low", "3").err == ""
    monkeypatch.setenv("CTXMODE_SLIDING_TURNS", "3")
    assert ctxmode(*run).err == f"note: CTXMODE_SLIDING_TURNS {told}"


def test_a_section_and_a_flag_that_do_not_go_together(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """Where only both together are wrong, the error names the section."""
    write(here, '[modes.low]\nbase = "sliding"\nsliding_turns = 12\nsliding_low = 6\n')
    result = ctxmode("compare", talk, "--modes", "low", "--sliding-turns", "4")
    error = "error: ctxmode.toml: modes.low.sliding_low is 6, more than sliding_turns (4)\n"
    assert (result.code, result.out, result.err) == (2, "", error)
    result = ctxmode("compare", talk, "--modes", "full", "--sliding-turns", "-1")
    assert result.err == "error: sliding_turns is -1, less than 0\n"


@pytest.mark.parametrize("arguments", [("compare", "--modes", "sliding_5"), ("replay", "--mode", "sliding_5")])
def test_an_unknown_mode(ctxmode: Ctxmode, talk: str, here: Path, arguments: tuple[str, ...]) -> None:
    """An unknown name is answered with those there are, the file's too."""
    write(here, NARROW)
    result = ctxmode(*arguments, talk)
    assert (result.code, result.out) == (2, "")
    assert result.err == 'error: mode is "sliding_5"\nhint: one of zero, full, sliding, summary, sliding_4\n'


@pytest.mark.parametrize(
    ("modes", "baseline"),
    [
        ("zero,everything,full", "full"),
        ("zero,everything,wide", "everything"),
        ("zero,sliding", "zero"),
    ],
)
def test_default_baseline(ctxmode: Ctxmode, talk: str, here: Path, modes: str, baseline: str) -> None:
    """Modes are related to the one named full, else to one that is full under another name, else to the first."""
    write(here, '[modes.everything]\nbase = "full"\n[modes.wide]\nbase = "full"\nreserved_output = 100\n')
    assert report(ctxmode("compare", talk, "--modes", modes, "--format", "json"))["baseline"] == baseline


def test_recall_is_normalised_between_named_modes(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """Floor and ceiling are modes whose base is zero and full, whatever they are called."""
    write(here, '[modes.none]\nbase = "zero"\n[modes.all]\nbase = "full"\n')
    run = ("compare", talk, "--max-tokens", "400", "--format", "json", "--modes")
    usual = report(ctxmode(*run, "zero,full,sliding"))["modes"]
    named = report(ctxmode(*run, "none,all,sliding"))["modes"]
    assert named == {"none": usual["zero"], "all": usual["full"], "sliding": usual["sliding"]}
    assert named["sliding"]["recall"]["normalised"] == 0.25


# --- what the file says, as values ---


def test_what_is_read(tmp_path: Path) -> None:
    """Options and settings come as their options take them; prices and cache rules as they were written."""
    path = write(
        tmp_path,
        'compress_ratio = 1\nseed = 5\n[modes.tight]\nbase = "summary"\ncompress_ratio = 0.1\n'
        "[prices.mine]\ninput = 0.1\noutput = 2\n[cache_rules.ours]\nunit = 128\nread = 0.1\n",
    )
    assert read_config(tmp_path, None) == ConfigFile(
        path=path,
        where=str(path),
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        options={"compress_ratio": 1.0, "seed": 5},
        modes={"tight": NamedMode("summary", {"compress_ratio": 0.1})},
        prices={"mine": {"input": Decimal("0.1"), "output": 2}},
        cache_rules={"ours": {"unit": 128, "read": Decimal("0.1")}},
    )
    assert type(read_config(tmp_path, None).options["compress_ratio"]) is float


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfseed = 1\n", b"seed = 1\r\n", b"seed = 1", "# 种子\nseed = 1".encode()])
def test_editors_differ(tmp_path: Path, data: bytes) -> None:
    """A byte order mark, Windows line ends, no line end, Chinese comments: all are read."""
    (tmp_path / "ctxmode.toml").write_bytes(data)
    assert read_config(tmp_path, None).options == {"seed": 1}


SECTION = '[modes.a]\nbase = "sliding"\n'
FAULTS = [
    # keys
    ("sliding-turns = 4", 'the key "sliding-turns" is unknown', "did you mean sliding_turns?"),
    ("Seed = 4", 'the key "Seed" is unknown', "did you mean seed?"),
    ("count = 3", 'the key "count" is unknown', "keys are the options of compare, replay and forecast, with _ for -"),
    ('data = "x.jsonl"', 'the key "data" is unknown', "keys are the options"),
    ('config = "x.toml"', 'the key "config" is unknown', "keys are the options"),
    ("[price]", 'the key "price" is unknown', "did you mean prices?"),
    ('"\\u001b[31m\\u202e" = 1', 'the key "\\x1b[31m\\u202e" is unknown', "keys are the options"),
    (f"{SECTION}sliding_turn = 4", 'the key "modes.a.sliding_turn" is unknown', "did you mean sliding_turns?"),
    (f"{SECTION}seed = 4", 'the key "modes.a.seed" is unknown', ""),
    (f"{SECTION}bases = 4", 'the key "modes.a.bases" is unknown', "did you mean base?"),
    (f'{SECTION}model = "gpt-4"', "modes.a.model cannot be set: all modes have the same model", "above all tables"),
    # types
    ('seed = "4"', 'seed is "4", not a whole number', ""),
    ("seed = 4.0", "seed is 4.0, not a whole number", ""),
    ("seed = true", "seed is true, not a whole number", ""),
    ("seed = 2024-05-01", "seed is 2024-05-01, not a whole number", ""),
    ("quiet = 1", "quiet is 1, not true or false", ""),
    ("compress_ratio = true", "compress_ratio is true, not a number", ""),
    ("model = 4", "model is 4, not a text", ""),
    ('modes = ["full"]', "modes is a list, not a text", ""),
    ("[seed]", "seed is a table, not a whole number", ""),
    ('output = "x.json"', 'output is "x.json", not a list', ""),
    ('output = ["x.json", 3]', "output[1] is 3, not a text", ""),
    ("prices = 3", "prices is 3, not a table", ""),
    ("prices = []", "prices is a list, not a table", ""),
    ("cache_rules = []", "cache_rules is a list, not a text", ""),
    ("[cache_rules]\nuse = 3", "cache_rules is 3, not a text", ""),
    ("[modes]\nuse = []", "modes is a list, not a text", ""),
    ("[modes]\na = 3", "modes.a is 3, not a table", ""),
    (f'{SECTION}sliding_turns = "4"', 'modes.a.sliding_turns is "4", not a whole number', ""),
    # choices and ranges
    ('format = "yaml"', 'format is "yaml"', "one of table, json, jsonl, csv, markdown"),
    ("format = 3", "format is 3", "one of table, json"),
    ("probes = []", "probes is a list", "one of labelled, all"),
    ('summary_role = "user"', 'summary_role is "user"', "one of system, assistant"),
    ("limit = 0", "limit is 0; it is at least 1", ""),
    ("think_time = -1", "think_time is -1.0; it is at least 0 and at most 1,000,000,000", ""),
    ("think_time = inf", "think_time is inf; it is at least 0 and at most 1,000,000,000", ""),
    ("think_time = nan", "think_time is nan; it is at least 0 and at most 1,000,000,000", ""),
    ("sessions_per_day = 1000000001", "sessions_per_day is 1000000001; it is at least 1 and at most 1,000,000,000", ""),
    ("sliding_turns = -1", "sliding_turns is -1, less than 0", ""),
    ("compress_ratio = nan", "compress_ratio is nan; it lies above 0 and up to 1", ""),
    (f'{SECTION}summary_trigger = "x"', 'modes.a.summary_trigger is "x"', "one of turns, tokens, both"),
    (f"{SECTION}sliding_low = 12", "modes.a.sliding_low is 12, more than sliding_turns (10)", ""),
    (f"sliding_turns = 5\n{SECTION}sliding_low = 6", "modes.a.sliding_low is 6, more than sliding_turns (5)", ""),
    # modes
    ("[modes.fast]\nsliding_turns = 4", "modes.fast has no base", "base is one of zero, full, sliding, summary"),
    ('[modes.fast]\nbase = "sldng"', 'modes.fast.base is "sldng"', "one of zero, full, sliding, summary"),
    ("[modes.fast]\nbase = []", "modes.fast.base is a list", "one of zero, full, sliding, summary"),
    ('[modes.full]\nbase = "zero"', 'modes.full.base is "zero"', "choose another name"),
    ("[modes.-a]", '"-a" is no name of a mode', "letters, digits, _ and -"),
    ('[modes."a,b"]', '"a,b" is no name of a mode', "letters, digits, _ and -"),
    ('[modes."a\\n"]', '"a\\n" is no name of a mode', "letters, digits, _ and -"),
    ('[modes."滑动"]', '"滑动" is no name of a mode', "letters, digits, _ and -"),
    ('[modes.""]', '"" is no name of a mode', "letters, digits, _ and -"),
    (f"[modes.{'a' * 41}]", f'"{"a" * 41}" is no name of a mode', "at most 40"),
]


@pytest.mark.parametrize(("text", "error", "hint"), FAULTS)
def test_what_is_wrong_is_told_with_file_and_key(
    ctxmode: Ctxmode, here: Path, text: str, error: str, hint: str
) -> None:
    """A fault anywhere in the file ends the run before anything is read, even where nothing would use it."""
    write(here, text)
    result = ctxmode("compare", "none.jsonl", "--modes", "full", "--format", "json")
    assert (result.code, result.out) == (2, "")
    first, *hints = result.err.splitlines()
    assert first == f"error: ctxmode.toml: {error}"
    assert hint in "".join(hints)


def test_faults_of_a_projects_file(ctxmode: Ctxmode, here: Path) -> None:
    """In pyproject.toml the section is named too; other tools' sections are none of our business."""
    write(here, "[tool.other]\nseed = 'x'\n[tool.ctxmode]\nsede = 1\n", "pyproject.toml")
    error = 'error: pyproject.toml [tool.ctxmode]: the key "sede" is unknown\nhint: did you mean seed?\n'
    assert ctxmode("compare") == (2, "", error)
    write(here, "[tool]\nctxmode = 3\n", "pyproject.toml")
    assert ctxmode("compare") == (2, "", "error: pyproject.toml [tool.ctxmode]: it is 3, not a table\n")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"seed = 1\nlimit = \n", "ctxmode.toml:2: it is not TOML: invalid value"),
        (b"seed = 1\n\nseed = 2\n", "ctxmode.toml:3: it is not TOML: cannot overwrite a value"),
        (b'a = "\x1b"', "ctxmode.toml:1: it is not TOML: illegal character '\\x1b'"),
        (b"seed = '''", "ctxmode.toml: it is not TOML: "),
        (b"seed = 1\nmodel = '\xff'", "ctxmode.toml:2: it is not UTF-8"),
        ("seed = 1".encode("utf-16"), "ctxmode.toml:1: it is not UTF-8"),
        (b"seed = " + b"[" * 100_000, "ctxmode.toml: it is nested too deep"),
        (b"seed = " + b"9" * 5_000, "ctxmode.toml: it is not TOML: exceeds the limit (4300 digits)"),
        (b"seed = 1e" + b"9" * 30, "ctxmode.toml: it is not TOML: a number is too large"),
    ],
    ids=range(9),
)
def test_what_is_not_toml(ctxmode: Ctxmode, here: Path, data: bytes, error: str) -> None:
    """A file that cannot be parsed is told with its line, where there is one, and is never a crash."""
    (here / "ctxmode.toml").write_bytes(data)
    result = ctxmode("compare")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {error}")
    assert result.err.isascii()


KEYS = st.sampled_from(
    ["seed", "modes", "base", "modes.a", "modes.full", "output", "prices", "quiet", "limit", "x", '""']
)
VALUES = st.sampled_from(
    ["1", "0.5", "1e99999", "nan", "true", '"zero"', '"\\u001b"', "[]", "[[1]]", "{}", "{a=1}", "12:00:00"]
)
LINES = st.one_of(st.builds("{} = {}".format, KEYS, VALUES), st.builds("[{}]".format, KEYS), st.text(max_size=8))


@given(st.one_of(st.binary(max_size=40), st.lists(LINES, max_size=5).map(lambda lines: "\n".join(lines).encode())))
@example(b"[[modes]]")
@example(b"modes.a.base.b = 1")
def test_any_file_is_read_or_told(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Whatever stands in the file, it is a configuration or an error that names the file."""
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(data)
    try:
        assert read_config(Path(), str(path)).path == path
    except CtxmodeError as error:
        assert error.where.startswith(str(path))  # noqa: PT017 - either way out is right
