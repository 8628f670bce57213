"""Position profiles: the curves by hand, the published ones against the paper's tables, and files that are none."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.score.position import (
    Curve,
    Place,
    PositionProfile,
    find_position_profile,
    position_profile_names,
)

# Liu et al. 2024, tables 1 and 5 to 7: accuracy in per cent with the answer's document alone, and by its index.
ORACLE = {
    "gpt-3.5-turbo": 88.3,
    "gpt-3.5-turbo-16k": 88.6,
    "claude-1.3": 76.1,
    "mpt-30b-instruct": 81.9,
    "longchat-13b-16k": 83.4,
}
TWENTY = {
    "gpt-3.5-turbo": {0: 75.8, 4: 57.2, 9: 53.8, 14: 55.4, 19: 63.2},
    "gpt-3.5-turbo-16k": {0: 75.7, 4: 57.3, 9: 54.1, 14: 55.4, 19: 63.1},
    "claude-1.3": {0: 59.9, 4: 55.9, 9: 56.8, 14: 57.2, 19: 60.1},
    "mpt-30b-instruct": {0: 53.7, 4: 51.8, 9: 52.2, 14: 52.7, 19: 56.3},
    "longchat-13b-16k": {0: 68.6, 4: 57.4, 9: 55.3, 14: 52.5, 19: 55.0},
}
TOKENS_OF_TWENTY = {"mpt-30b-instruct": 2962, "longchat-13b-16k": 3465}
TWO = """
[[length]]
prompt_tokens = 100
position = [0.2, 0.6]
use = [1.0, 0.5]

[[length]]
prompt_tokens = 300
position = [0.0, 1.0]
use = [0.6, 0.2]
"""
"""Two curves with knots of their own."""


def place(profile: PositionProfile, before: int, prompt_tokens: int) -> Place:
    """The place behind `before` of the prompt's tokens."""
    [use] = profile.use(np.array([before / prompt_tokens]), np.array([prompt_tokens])).tolist()
    return Place(before / prompt_tokens, use)


@pytest.fixture
def profile(tmp_path: Path) -> PositionProfile:
    path = tmp_path / "two.toml"
    path.write_text(TWO, encoding="utf-8")
    return find_position_profile(str(path))


@pytest.mark.parametrize(
    ("before", "prompt_tokens", "use"),
    [
        (0, 100, 1.0),  # before the first knot
        (20, 100, 1.0),
        (40, 100, 0.75),  # half way from 0.2 to 0.6
        (60, 100, 0.5),
        (99, 100, 0.5),  # behind the last knot
        (0, 300, 0.6),
        (150, 300, 0.4),
        (300, 300, 0.2),
        (5, 10, 0.625),  # shorter than the shortest: 0.5 on the first curve
        (500, 1000, 0.4),  # longer than the longest
        (100, 200, (0.625 + 0.4) / 2),  # half way between the lengths, at 0.5
        (50, 250, (1.0 + 3 * (0.6 - 0.4 * 0.2)) / 4),  # three quarters of the way, at 0.2
    ],
)
def test_linear_in_position_and_length(profile: PositionProfile, before: int, prompt_tokens: int, use: float) -> None:
    """Between knots and between lengths use is linear; outside both it is held."""
    assert place(profile, before, prompt_tokens) == pytest.approx(Place(before / prompt_tokens, use))


@pytest.mark.parametrize("name", position_profile_names())
@given(st.integers(1, 200_000), st.floats(0, 1))
def test_use_is_a_probability(name: str, prompt_tokens: int, share: float) -> None:
    """Every built-in profile gives a probability everywhere, which lies between the knots around it."""
    found = place(find_position_profile(name), int(share * prompt_tokens), prompt_tokens)
    assert 0 <= found.use <= 1


def test_built_in_profiles() -> None:
    """There are the article's, the paper's, and one that loses nothing; each says where it comes from, and what it is."""
    assert position_profile_names() == ["article", "flat", *sorted(f"liu2023-{model}" for model in ORACLE)]
    for name in position_profile_names():
        profile = find_position_profile(name)
        assert profile.name == name
        assert profile.source
        assert profile.note
    assert "fitted" in find_position_profile("article").note
    assert place(find_position_profile("flat"), 3, 7).use == 1


def test_article_says_what_its_source_says() -> None:
    """Over 0.9 at the head at any length, about 0.6 in the middle of a mean `full` prompt, and falling with length."""
    profile = find_position_profile("article")
    lengths = (500, 1000, 2300, 6100, 12_000, 24_400, 100_000)
    assert all(place(profile, 0, length).use > 0.9 for length in lengths)
    assert place(profile, 3050, 6100).use == pytest.approx(0.6)
    middles = [place(profile, length // 2, length).use for length in lengths]
    assert middles == sorted(middles, reverse=True)
    assert place(profile, 1775, 3550).use == pytest.approx(0.75)


@pytest.mark.parametrize("model", ORACLE)
def test_profiles_of_the_paper(model: str) -> None:
    """Use is the accuracy at that place over the accuracy with the document alone: what could be used was."""
    profile = find_position_profile(f"liu2023-{model}")
    tokens = TOKENS_OF_TWENTY.get(model, 2946)
    for index, accuracy in TWENTY[model].items():
        assert place(profile, index * tokens // 20, tokens).use == pytest.approx(accuracy / ORACLE[model], abs=0.0015)
    assert len(profile.lengths) == (2 if model == "gpt-3.5-turbo" else 3)  # its window does not hold 30 documents


def test_curve_of_one_knot() -> None:
    """One knot says the same everywhere."""
    profile = PositionProfile("one", (10,), (Curve((0.5,), (0.7,)),))
    assert [place(profile, before, 10).use for before in (0, 5, 10)] == pytest.approx([0.7] * 3)


LENGTH = "[[length]]\nprompt_tokens = 10\nposition = [0.0, 1.0]\nuse = [1.0, 0.5]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the position profile has no length"),
        ("length = []", 'the lengths\' "prompt_tokens" do not rise, or there are none: []'),
        ("length = [1]", "this is a table, [[length]]"),
        (LENGTH + LENGTH, 'the lengths\' "prompt_tokens" do not rise, or there are none: [10, 10]'),
        ("head = 1\n" + LENGTH, 'a position profile has no "head"'),
        ("note = 1\n" + LENGTH, '"note" is text in quotes, not 1'),
        (LENGTH + "tail = 1", 'a length of a position profile has no "tail"'),
        (LENGTH.replace("use = [1.0, 0.5]\n", ""), "the length of a position profile has no use"),
        (LENGTH.replace("10", "0"), '"prompt_tokens" is a number above 0, not 0'),
        (LENGTH.replace("10", "nan"), '"prompt_tokens" is a number above 0, not nan'),
        (LENGTH.replace("10", "inf"), '"prompt_tokens" is a number above 0, not inf'),
        (LENGTH.replace("10", "true"), '"prompt_tokens" is a number, not True'),
        (LENGTH.replace("[1.0, 0.5]", "1.0"), '"use" is a list in brackets, not 1.0'),
        (LENGTH.replace("[1.0, 0.5]", "[1.5, 0.5]"), '"use" holds numbers from 0 to 1, not 1.5'),
        (LENGTH.replace("[1.0, 0.5]", "[nan, 0.5]"), '"use" holds numbers from 0 to 1, not nan'),
        (LENGTH.replace("[1.0, 0.5]", "[true, 0.5]"), '"use" holds numbers from 0 to 1, not True'),
        (LENGTH.replace("[1.0, 0.5]", '["a", 0.5]'), "\"use\" holds numbers from 0 to 1, not 'a'"),
        (LENGTH.replace("[1.0, 0.5]", "[0.5]"), '"use" has 1 numbers for 2 positions'),
        (LENGTH.replace("[0.0, 1.0]", "[-0.1, 1.0]"), '"position" holds numbers from 0 to 1, not -0.1'),
        (LENGTH.replace("[0.0, 1.0]", "[1.0, 0.0]"), '"position" does not rise, or is empty: [1.0, 0.0]'),
        (LENGTH.replace("[0.0, 1.0]", "[0.5, 0.5]"), '"position" does not rise, or is empty: [0.5, 0.5]'),
        (LENGTH.replace("[0.0, 1.0]", "[]").replace("[1.0, 0.5]", "[]"), '"position" does not rise, or is empty: []'),
        ("[[length]", "the position profile is not TOML"),
    ],
)
def test_file_that_is_no_profile(tmp_path: Path, text: str, message: str) -> None:
    """What is wrong is told with the file, and with the number of the length where it is in one."""
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CtxmodeError, match=re.escape(message)) as error:
        find_position_profile(str(path))
    assert error.value.where.startswith(str(path))


def test_unknown_names() -> None:
    """An unknown name is told with similar ones, a missing file with what the system says."""
    with pytest.raises(CtxmodeError, match='the position profile "artcle" is unknown') as error:
        find_position_profile("artcle")
    assert error.value.hint.startswith("did you mean article?")
    with pytest.raises(CtxmodeError, match="the position profile cannot be read"):
        find_position_profile("nowhere.toml")
