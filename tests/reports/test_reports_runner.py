"""What run.py does with a table of figures, and what the scripts beside it work out."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ARTICLE = Path(__file__).resolve().parents[2] / "reports" / "article"


def figure(runner: ModuleType, **table: Any) -> Any:
    """A figure of which only what matters is given."""
    table = {"name": "one", "title": "One", "claim": "It is so.", "commands": [], "files": [], "values": [], **table}
    return runner.Figure.of(table)


def test_a_name_that_stands_for_several_makes_a_line_for_each(runner: ModuleType) -> None:
    """Every choice comes once, and a name means the same in all texts of a line."""
    names = {"seed": [1, 2], "lang": ["zh", "en"], "sessions": 9}
    assert list(runner.filled(["a {sessions}"], names)) == [["a 9"]]
    assert list(runner.filled(["seed {seed}", "{seed}-{lang}.json"], names)) == [
        ["seed 1", "1-zh.json"],
        ["seed 1", "1-en.json"],
        ["seed 2", "2-zh.json"],
        ["seed 2", "2-en.json"],
    ]


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ({"path": ["share"], "show": ".0%"}, "62%"),
        ({"path": ["share"], "show": ".0%", "within": [0.62, 0.62]}, "62% ✓"),
        ({"path": ["share"], "show": ".0%", "within": [0.63, float("inf")]}, "62% ✗"),
        ({"path": ["share"], "show": ".0%", "within": [0, 0.61]}, "62% ✗"),
        ({"path": ["rows", 1, "n"], "show": ",.0f"}, "1,200"),
        ({"path": ["counts"], "show": "d"}, "5"),
        ({"path": ["unknown"], "within": [0, 1]}, "–"),
    ],
)
def test_a_number_says_whether_the_statement_holds(
    runner: ModuleType, tmp_path: Path, table: dict[str, Any], shown: str
) -> None:
    """Limits are part of what holds, counts by name are added, and of what is not known nothing is said."""
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"share": 0.62, "rows": [{}, {"n": 1200}], "counts": {"a": 2, "b": 3}, "unknown": None}))
    assert runner.Value(label="x", file="x.json", **table).shown(file) == shown


def test_the_page_gets_a_column_for_each_choice_and_keeps_its_own_words(runner: ModuleType, tmp_path: Path) -> None:
    """What stands between the markers is made anew, what stands outside stays; a file of no choice is in each column."""
    for name, number in (("a-1", 10), ("a-2", 20), ("b", 7)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"n": number}))
    values = [
        {"label": "A", "file": "a-{seed}.json", "path": ["n"], "expected": "20", "within": [20, 20]},
        {"label": "B", "file": "b.json", "path": ["n"]},
    ]
    one = figure(runner, commands=["ctxmode x --seed {seed}"], values=values, column="seed {seed}")
    page = "Before.\n<!-- begin one -->\nold\n<!-- end one -->\nAfter.\n"
    made = runner.with_results(page, [one], {"seed": [1, 2]}, tmp_path)
    assert (
        made
        == """Before.
<!-- begin one -->

## One

It is so.

```bash
ctxmode x --seed 1
ctxmode x --seed 2
```

|  | expected | seed 1 | seed 2 |
| --- | --- | --: | --: |
| A | 20 | 10 ✗ | 20 ✓ |
| B | – | 7 | 7 |

<!-- end one -->
After.
"""
    )
    assert runner.with_results(made, [one], {"seed": [1, 2]}, tmp_path) == made


def test_a_page_without_a_place_for_a_figure_is_told(runner: ModuleType, tmp_path: Path) -> None:
    """A figure that nobody would see is an error."""
    with pytest.raises(SystemExit, match="0 places for the figure one"):
        runner.with_results("Nothing here.", [figure(runner)], {}, tmp_path)


def test_a_shared_command_runs_once_and_only_named_files_are_kept(runner: ModuleType, tmp_path: Path) -> None:
    """Figures go on with what the ones before them wrote."""
    add = "python -c \"open('log', 'a').write('x')\""
    show = "python -c \"print(open('log').read())\" > {name}.txt"
    names = {"name": "shown"}
    figures = [
        figure(runner, commands=[add]),
        figure(runner, commands=[add, show], files=["{name}.txt"]),
    ]
    runner.make(figures, names, tmp_path / "out")
    assert [(path.name, path.read_text()) for path in (tmp_path / "out").iterdir()] == [("shown.txt", "x\n")]


def test_settings_of_the_user_do_not_reach_a_figure(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A figure is made of its command alone, whatever CTXMODE_ or OPENAI_ variables there are."""
    monkeypatch.setenv("CTXMODE_MODEL", "gpt-4")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.example")
    show = "python -c \"import os; print([key for key in os.environ if key[:4] in ('CTXM', 'OPEN')])\" > keys"
    runner.make([figure(runner, commands=[show], files=["keys"])], {}, tmp_path)
    assert (tmp_path / "keys").read_text() == "[]\n"


def test_a_command_that_fails_ends_the_run(
    runner: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What it said is shown, and nothing is kept of it."""
    fails = "python -c \"import sys; sys.exit('no such thing')\" > kept"
    with pytest.raises(SystemExit, match="exit code 1"):
        runner.make([figure(runner, commands=[fails], files=["kept"])], {}, tmp_path)
    assert "no such thing" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_endpoint_says_its_text_for_as_long_as_the_command_runs() -> None:
    """The command finds the endpoint in its environment, and its exit code is passed on."""
    client = """
import json, os, sys, urllib.request
request = urllib.request.Request(os.environ["CTXMODE_BASE_URL"] + "/chat/completions", data=b"{}")
print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
sys.exit(3)
"""
    command = [sys.executable, str(ARTICLE / "saying.py"), "不需要", sys.executable, "-c", client]
    finished = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (finished.returncode, finished.stdout) == (3, "不需要\n")


def test_growth_finds_where_the_published_figures_are_reached(growth: ModuleType) -> None:
    """By hand: n turns take n² tokens and as many dollars, and 0.3 n seconds; sliding takes n dollars.

    1.2 s is reached at 4 turns and 16 dollars, 3 s at 10 and 100, so 6.25 times as much for a session and 2.5 times for
    a request. Three times 16 dollars is reached at 7 turns (49). Where 2 / 5.25 of the sessions go on from 4 to 10 turns,
    the mean is three times 16 dollars: 0.619 x 16 + 0.381 x 100. Three times sliding's: n² = 3 n at 3 turns.
    """
    full = [
        {"turns": n, "tokens_total": n * n, "cost_uncached_usd": n * n, "latency_p95_s": 0.3 * n} for n in range(1, 61)
    ]
    sliding = [{**point, "cost_uncached_usd": point["turns"]} for point in full]
    found = growth.growth({"full": full, "sliding": sliding})
    longer = found.pop("longer_for_three_times_the_cost")
    assert longer == pytest.approx({"sessions": 0.38095, "requests": 0.60606}, rel=1e-4)
    assert found == {
        "tokens_a_turn": {"least": 2, "most": 2},
        "tokens_of_twice_the_turns": 4,
        "before": {"turns": 4, "last_prompt_tokens": 7},
        "after": {"turns": 10, "last_prompt_tokens": 19},
        "cost_after_over_before": {"session": 6.25, "request": 2.5},
        "turns_of_three_times_the_cost_before": 7,
        "turns_of_three_times_sliding": 3,
    }


def test_shares_are_the_largest_of_any_request(shares: ModuleType) -> None:
    """History is all but system messages and current input, notes too; a cut request counts once, a refused one apart."""

    def line(request: int, what: str, tokens: int, action: str = "kept", why: str = "as_recorded") -> dict[str, Any]:
        key = {"conversation_id": "a", "mode": "m", "request": request}
        return key | {"what": what, "sent_tokens": tokens, "action": action, "why": why}

    lines = [
        *(line(0, "system", 10), line(0, "input", 50)),
        *(line(1, "system", 10), line(1, "card", 5), line(1, "history", 30), line(1, "input", 20)),
        *(line(1, "older", 0, "dropped", "budget"), line(1, "recent", 0, "dropped", "budget")),
        line(1, "older", 0, "dropped", "window"),
        {"conversation_id": "a", "mode": "m", "request": 2, "action": "unsendable", "why": "input"},
    ]
    assert shares.shares(lines) == {
        "m": {
            "most_tokens": {"system": 10, "input": 50, "history": 35, "request": 68},
            "requests": 2,
            "cut_by_the_budget": 1,
            "unsendable": {"input": 1},
        }
    }


def test_shares_of_several_conversations_are_kept_apart(shares: ModuleType) -> None:
    """Requests of the same number in two conversations are two requests."""
    lines = [
        {
            "conversation_id": name,
            "mode": "m",
            "request": 0,
            "what": "input",
            "sent_tokens": 7,
            "action": "kept",
            "why": "",
        }
        for name in ("a", "b")
    ]
    assert shares.shares(lines)["m"]["requests"] == 2
