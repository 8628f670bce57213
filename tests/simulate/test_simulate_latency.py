"""Latency profiles: the formula, the noise around it, and the files they come from."""

import math
import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.simulate.latency import LatencyProfile, as_toml, find_profile, noise_factors, profile_names

PROFILE = LatencyProfile("p", overhead_s=0.5, per_token_s=0.001, quadratic_s=1e-6, inter_token_s=0.02)
NOISY = LatencyProfile("n", overhead_s=1.0, per_token_s=0.0, inter_token_s=0.0, noise_sigma=0.3)
MINIMAL = "overhead_s = 0.5\nper_token_s = 0.001\ninter_token_s = 0.02\n"

tokens = st.integers(0, 2_000_000)


def write(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("prompt", "cached", "completion", "seconds"),
    [
        (0, 0, 1, 0.5),
        (1000, 0, 1, 0.5 + 1.0 + 1.0),
        (1000, 600, 1, 0.5 + 0.4 + 0.64),
        (1000, 1000, 1, 0.5),
        (0, 0, 101, 0.5 + 2.0),
        (1000, 600, 11, 0.5 + 0.4 + 0.64 + 0.2),
        (0, 0, 0, 0.5),
    ],
)
def test_seconds(prompt: int, cached: int, completion: int, seconds: float) -> None:
    """Overhead, uncached tokens, squares of all less squares of the cached, and a pause before each token but one."""
    assert PROFILE.seconds(prompt, cached, completion) == pytest.approx(seconds, rel=1e-12)


@given(prompt=tokens, cached=tokens, completion=tokens, more=st.integers(1, 1000))
def test_more_tokens_take_longer(prompt: int, cached: int, completion: int, more: int) -> None:
    """A longer prompt or reply never takes less time, a larger cached part never more."""
    cached = min(cached, prompt)
    seconds = PROFILE.seconds(prompt, cached, completion)
    assert 0 < seconds < math.inf
    assert PROFILE.seconds(prompt + more, cached, completion) > seconds
    assert PROFILE.seconds(prompt, cached, completion + more) >= seconds
    assert PROFILE.seconds(prompt + more, cached + more, completion) <= PROFILE.seconds(
        prompt + more, cached, completion
    )


def test_noise_has_mean_one_and_the_spread_of_the_profile() -> None:
    """The mean of the factors is 1, and their logarithms have the profile's standard deviation."""
    factors = noise_factors(NOISY, 0, "c", 100_000)
    assert statistics.fmean(factors) == pytest.approx(1, abs=0.004)
    assert statistics.stdev(map(math.log, factors)) == pytest.approx(0.3, abs=0.003)


def test_noise_is_the_same_on_every_platform() -> None:
    """The first factors of a conversation are known: they never change."""
    assert noise_factors(NOISY, 7, "cs-zh-0", 3) == pytest.approx(
        [1.4358633460022399, 0.690980770398275, 0.6291568792823626], rel=1e-12
    )


@given(conversation_id=st.text(st.characters()), seed=st.integers(), count=st.integers(0, 20), more=st.integers(0, 20))
def test_noise_belongs_to_the_request(conversation_id: str, seed: int, count: int, more: int) -> None:
    """A request has the same factor however many follow it; an id may be any JSON string."""
    factors = noise_factors(NOISY, seed, conversation_id, count)
    assert len(factors) == count
    assert all(0 < factor < math.inf for factor in factors)
    assert noise_factors(NOISY, seed, conversation_id, count + more)[:count] == factors


def test_noise_of_an_id_that_is_no_text() -> None:
    """A lone surrogate, which JSON can carry, has noise as well."""
    assert noise_factors(NOISY, 0, "\ud800", 1) != noise_factors(NOISY, 0, "\ud801", 1)


def test_noise_differs_between_seeds_and_conversations() -> None:
    """Seed and id both decide, and are not run together."""
    draws = [noise_factors(NOISY, seed, name, 1)[0] for seed, name in ((1, "1"), (11, ""), (1, "2"), (2, "1"))]
    assert len(set(draws)) == 4


def test_noise_scales_with_the_profile() -> None:
    """Two profiles have the same underlying draws; without noise every factor is 1."""
    calm = LatencyProfile("q", 1.0, 0.0, 0.0, noise_sigma=0.1)
    [wide], [narrow] = noise_factors(NOISY, 0, "c", 1), noise_factors(calm, 0, "c", 1)
    assert (math.log(wide) + 0.045) / 0.3 == pytest.approx((math.log(narrow) + 0.005) / 0.1)
    assert noise_factors(PROFILE, 0, "c", 3) == [1.0, 1.0, 1.0]


def test_a_draw_of_zero_is_a_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uniform draw of exactly 0 gives a small factor, and no error."""
    monkeypatch.setattr("ctxmode_cli.simulate.latency.Random", lambda _: type("Zero", (), {"random": lambda _: 0.0})())
    [factor] = noise_factors(NOISY, 0, "c", 1)
    assert 0 < factor < 0.1


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, 2500.0])
@pytest.mark.parametrize("key", ["overhead_s", "per_token_s", "quadratic_s", "inter_token_s", "noise_sigma"])
def test_parameters_are_checked(key: str, value: float) -> None:
    """A parameter is a number from 0 up, and small enough not to be milliseconds by mistake."""
    parameters = {"overhead_s": 0.0, "per_token_s": 0.0, "inter_token_s": 0.0} | {key: value}
    with pytest.raises(CtxmodeError, match=f"p: {key} is a number from 0 to 1000, not {value}"):
        LatencyProfile("p", **parameters)


def test_built_in_profiles() -> None:
    """Each has its name, a source, a date and a note that says how far it goes."""
    assert profile_names() == ["article", "dynamo-mocker", "h100-405b", "h100-70b", "h100-8b"]
    for name in profile_names():
        profile = find_profile(name)
        assert profile.name == name
        assert profile.source
        assert profile.date >= "2026"
        assert profile.note
    assert "fitted" in find_profile("article").note


@pytest.mark.parametrize(("prompt", "by_hand", "published"), [(16_079, 2.72, 2.8), (3_092, 1.16, 1.4)])
def test_the_article_profile_is_near_the_published_figures(prompt: int, by_hand: float, published: float) -> None:
    """The p95 prompts of both modes, without noise, take what the file works out: noise adds the rest up to the published p95."""
    seconds = find_profile("article").seconds(prompt, 0, 62)
    assert seconds == pytest.approx(by_hand, abs=0.005)
    assert 0.8 * published < seconds < published


@pytest.mark.parametrize(("tokens_uncached", "milliseconds"), [(1_000, 32.1), (10_000, 210), (100_000, 5_745)])
def test_the_polynomial_is_the_published_one(tokens_uncached: int, milliseconds: float) -> None:
    """Prefill times of the mocker, worked out by hand."""
    seconds = find_profile("dynamo-mocker").seconds(tokens_uncached, 0, 1)
    assert seconds * 1000 == pytest.approx(milliseconds, rel=0.005)


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    """A file needs three numbers; it is named as it was given."""
    path = write(tmp_path, MINIMAL + 'note = "mine"\nquadratic_s = 0\n')
    assert find_profile(path) == LatencyProfile(path, 0.5, 0.001, 0.02, note="mine")


parameter = st.floats(0, 1000)
text = st.text(st.characters(exclude_categories=["Cs"]))


@given(numbers=st.tuples(*[parameter] * 5), texts=st.tuples(text, text, text))
def test_a_written_profile_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, numbers: tuple[float, ...], texts: tuple[str, ...]
) -> None:
    """Whatever numbers and texts a profile has, its file holds them."""
    path = str(tmp_path_factory.getbasetemp() / "written.toml")
    profile = LatencyProfile(path, *numbers, *texts)
    Path(path).write_bytes(as_toml(profile).encode())
    assert find_profile(path) == profile


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("overhead_s = 1", "no per_token_s and no inter_token_s"),
        (MINIMAL + "overhead_ms = 3", 'has no "overhead_ms"'),
        (MINIMAL + 'name = "x"', 'has no "name"'),
        (MINIMAL + 'noise_sigma = "big"', "\"noise_sigma\" is a number, not 'big'"),
        (MINIMAL + "noise_sigma = true", '"noise_sigma" is a number, not True'),
        (MINIMAL + "date = 2026-01-01", '"date" is text in quotes'),
        (MINIMAL + "quadratic_s = -1", "quadratic_s is a number from 0 to 1000, not -1"),
        (MINIMAL + "quadratic_s = nan", "quadratic_s is a number from 0 to 1000, not nan"),
        ("overhead_s = ", "is not TOML"),
        ("x = " + "[" * 100_000, "is not TOML"),
    ],
)
def test_faulty_files(tmp_path: Path, text: str, complaint: str) -> None:
    """What is wrong is told with file and key."""
    path = write(tmp_path, text)
    with pytest.raises(CtxmodeError) as caught:
        find_profile(path)
    assert str(caught.value).startswith(path)
    assert complaint in str(caught.value)


def test_unreadable_files(tmp_path: Path) -> None:
    """No file, a folder and bytes that are no text are errors of the user's."""
    for path, content in ((tmp_path / "none.toml", None), (tmp_path / "bytes.TOML", b"\xff")):
        if content:
            path.write_bytes(content)
        with pytest.raises(CtxmodeError, match=path.name):
            find_profile(str(path))
    with pytest.raises(CtxmodeError, match="cannot be read"):
        find_profile(str(tmp_path) + "/.toml/../.toml")


def test_unknown_profile() -> None:
    """An unknown name is told with similar ones, or with all, and with what a file is called."""
    with pytest.raises(CtxmodeError, match='"h100-8B-x" is unknown') as caught:
        find_profile("h100-8B-x")
    assert caught.value.hint.startswith("did you mean h100-8b")
    with pytest.raises(CtxmodeError) as caught:
        find_profile("?")
    assert caught.value.hint.startswith("there are article, dynamo-mocker")
    assert caught.value.hint.endswith("ends in .toml")
