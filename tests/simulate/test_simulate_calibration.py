"""Fitting a latency profile: what is recovered, what is left out, and what is refused."""

import math
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.simulate.calibration import Calibration, Observation, Observations, calibrate
from ctxmode_cli.simulate.latency import LatencyProfile, find_profile, noise_factors

PARAMETERS = ("overhead_s", "per_token_s", "inter_token_s", "quadratic_s", "noise_sigma")
CHAT = LatencyProfile("chat", overhead_s=0.3, per_token_s=2e-4, inter_token_s=0.02, noise_sigma=0.2)
LONG = LatencyProfile("long", 0.2, 2e-4, 0.02, quadratic_s=4e-9, noise_sigma=0.15)
PER_CONVERSATION = 10

Sizes = Callable[[Random], tuple[int, int, int]]


def between(rng: Random, low: float, high: float) -> int:
    """A whole number whose logarithm is evenly spread."""
    return int(math.exp(rng.uniform(math.log(low), math.log(high))))


def spread(rng: Random) -> tuple[int, int, int]:
    """Prompts, half of them partly cached, and replies of very different sizes."""
    prompt = between(rng, 20, 120_000)
    return prompt, int(prompt * rng.random()) if rng.random() < 0.5 else 0, between(rng, 1, 800)


def recorded(
    profile: LatencyProfile, sizes: Sizes = spread, *, count: int = 3000, seed: int = 0, timeouts: float = 0
) -> Observations:
    """What a service of this profile would have logged; a share of the times is fifty times as long."""
    rng = Random(seed)  # noqa: S311 - the same log each time
    observations = Observations()
    for number in range(count // PER_CONVERSATION):
        noise = noise_factors(profile, seed, f"c{number}", PER_CONVERSATION)
        observations.by_conversation[f"c{number}"] = [
            Observation(*size, profile.seconds(*size) * factor * (50 if rng.random() < timeouts else 1))
            for size, factor in ((sizes(rng), factor) for factor in noise)
        ]
    return observations


def fit(observations: Observations, **options: Any) -> Calibration:
    return calibrate(observations, name="fitted", source="a log", **options)


@pytest.mark.parametrize("timeouts", [0, 0.03])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("profile", "count"),
    [
        (CHAT, 3000),
        (LONG, 5000),
        (find_profile("article"), 3000),
        (find_profile("h100-8b"), 3000),
        (find_profile("h100-405b"), 2000),
        (find_profile("dynamo-mocker"), 2000),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_parameters_are_recovered(profile: LatencyProfile, count: int, seed: int, timeouts: float) -> None:
    """Each parameter comes back within 5 %, time-outs or not; what is not there comes back as 0."""
    fitted = fit(recorded(profile, count=count, seed=seed, timeouts=timeouts)).profile
    for parameter in PARAMETERS:
        assert getattr(fitted, parameter) == pytest.approx(getattr(profile, parameter), rel=0.05, abs=1e-12), parameter


@pytest.mark.parametrize("missing", ["overhead_s", "per_token_s", "inter_token_s"])
def test_a_parameter_of_zero(missing: str) -> None:
    """A service without one of the terms gets next to nothing there, and the others as they are."""
    values = {"overhead_s": 0.3, "per_token_s": 2e-4, "inter_token_s": 0.02} | {missing: 0.0}
    fits = [fit(recorded(LatencyProfile("p", **values, noise_sigma=0.1), seed=seed)) for seed in range(6)]
    for calibration in fits:
        for parameter, value in values.items():
            tolerance = 0.01 * getattr(CHAT, parameter)
            assert getattr(calibration.profile, parameter) == pytest.approx(value, rel=0.05, abs=tolerance)
    if missing != "overhead_s":
        # In about half of the logs the noise points below 0, and the term is not there at all.
        gone = [item for item in fits if getattr(item.profile, missing) == 0]
        assert gone
        assert all(item.standard_errors[missing] is None for item in gone)


def test_long_requests_that_time_out() -> None:
    """Time-outs that strike long prompts alone do not make a token dearer."""
    observations = recorded(CHAT)
    rng = Random(0)  # noqa: S311 - as above
    for items in observations.by_conversation.values():
        items[:] = [
            item._replace(seconds=item.seconds * (50 if item.prompt > 10_000 and rng.random() < 0.45 else 1))
            for item in items
        ]
    assert fit(observations).profile.per_token_s == pytest.approx(CHAT.per_token_s, rel=0.05)


def test_few_noisy_replies_of_all_sizes_are_enough() -> None:
    """Sixty replies tell the parameters to a quarter where their sizes are spread."""
    noisy = LatencyProfile("noisy", 0.3, 2e-4, 0.02, noise_sigma=0.5)
    calibration = fit(recorded(noisy, count=60), holdout=0)
    for parameter in ("overhead_s", "per_token_s", "inter_token_s"):
        assert 0.05 < calibration.standard_errors[parameter] < 0.25


def test_the_mean_time_is_kept() -> None:
    """Wide noise is skewed: the profile's seconds are the mean of the times, not their median."""
    wide = LatencyProfile("wide", 0.3, 2e-4, 0.02, noise_sigma=0.5)
    calibration = fit(recorded(wide, count=5000))
    assert calibration.fitted.bias == pytest.approx(0, abs=0.03)
    assert calibration.profile.overhead_s == pytest.approx(0.3, rel=0.05)


def test_errors_are_what_the_noise_explains() -> None:
    """The median error is 0.67 sigma, on what was fitted and on what was held out; time-outs are counted apart."""
    calibration = fit(recorded(CHAT, timeouts=0.03))
    assert calibration.held_out is not None
    assert (calibration.fitted.replies, calibration.held_out.replies) == (2400, 600)
    for error in (calibration.fitted, calibration.held_out):
        assert error.median == pytest.approx(0.67 * 0.2, rel=0.1)
        assert error.p95 == pytest.approx(0.42, rel=0.2)
        assert abs(error.bias) < 0.03
        assert error.outliers == pytest.approx(0.03 * error.replies, rel=0.3)
    assert calibration.answer.startswith("Fitted to 2,400 replies; on held-out conversations the median error is 13.")


def test_an_error_by_hand() -> None:
    """Held-out times that are all 10 % above the prediction: error 9.1 %, and as much bias, downwards."""
    observations = recorded(LatencyProfile("exact", 0.3, 2e-4, 0.02), count=1000)
    ids = sorted(observations.by_conversation)
    held_out = fit(observations).held_out
    assert held_out is not None
    assert held_out.median == pytest.approx(0, abs=1e-6)
    slow = {
        name: [item._replace(seconds=item.seconds * 1.03) for item in items]
        if name in _held_out(observations)
        else items
        for name, items in observations.by_conversation.items()
    }
    error = fit(Observations({name: slow[name] for name in ids})).held_out
    assert error is not None
    assert (error.median, error.bias) == pytest.approx((1 - 1 / 1.03, 1 / 1.03 - 1), abs=1e-5)


def _held_out(observations: Observations) -> set[str]:
    """The conversations whose times do not change the profile."""
    from ctxmode_cli.simulate.calibration import _split

    chosen = set(map(id, _split(observations.by_conversation, 0, 0.2)[1]))
    return {name for name, items in observations.by_conversation.items() if id(items[0]) in chosen}


def test_whole_conversations_are_held_out() -> None:
    """No conversation is on both sides; the seed chooses, the order of the log does not."""
    observations = recorded(CHAT, count=500)
    turned = Observations(dict(reversed(observations.by_conversation.items())))
    assert len(_held_out(observations)) == 10
    assert fit(turned) == fit(observations)
    assert fit(observations, seed=1).profile != fit(observations).profile


def test_nothing_held_out() -> None:
    """With --holdout 0, or one conversation, the error is that of the fit, and a note says so."""
    observations = recorded(CHAT, count=500)
    single = Observations({"a": [item for items in observations.by_conversation.values() for item in items]})
    for calibration in (fit(observations, holdout=0), fit(single)):
        assert calibration.held_out is None
        assert calibration.fitted.replies == 500
        assert "no conversation was held out" in calibration.notes[-1]
        assert "on these replies the median error" in calibration.answer


def test_a_quadratic_term_that_is_not_told_is_dropped() -> None:
    """Where prompts are too short to show it, the profile is linear and says so; where they show it, it is kept."""
    short = fit(recorded(LONG, lambda rng: (between(rng, 20, 4000), 0, between(rng, 1, 400)), count=1000))
    assert short.profile.quadratic_s == 0
    assert "the replies do not tell a quadratic term from 0; the profile has none" in short.notes
    kept = fit(recorded(LONG))
    assert kept.profile.quadratic_s > 0
    assert not kept.notes


def test_standard_errors() -> None:
    """They are about as large as the parameters vary from log to log."""
    fits = [fit(recorded(CHAT, count=1000, seed=seed), holdout=0) for seed in range(30)]
    for parameter in ("overhead_s", "per_token_s", "inter_token_s"):
        off = [getattr(item.profile, parameter) / getattr(CHAT, parameter) - 1 for item in fits]
        scatter = math.sqrt(sum(value**2 for value in off) / len(off))
        assert fits[0].standard_errors[parameter] == pytest.approx(scatter, rel=0.5)


@pytest.mark.parametrize(
    ("sizes", "complaint"),
    [
        (lambda rng: (1000 + rng.randrange(60), 0, between(rng, 1, 400)), "uncached prompt tokens vary too little"),
        (lambda rng: (between(rng, 100, 9000), 0, 100), "completion tokens vary too little"),
        (lambda rng: (between(rng, 100, 9000), 0, 1), "completion tokens vary too little"),
        (lambda rng: ((p := between(rng, 1000, 9000)), p - 500, between(rng, 1, 400)), "uncached prompt tokens vary"),
        (lambda rng: ((p := between(rng, 1000, 9000)), p, between(rng, 1, 400)), "uncached prompt tokens vary"),
        (lambda rng: (10 * (n := between(rng, 10, 900)), 0, 1 + n), r"do not tell (per|inter)_token_s"),
    ],
    ids=["prompts", "completions", "no decoding", "cache grows in step", "all cached", "collinear"],
)
@pytest.mark.parametrize("sigma", [0.0, 0.2])
def test_too_little_spread_is_refused(sizes: Sizes, complaint: str, sigma: float) -> None:
    """Without spread, or with prompts and replies that grow together, no parameter is made up."""
    profile = LatencyProfile("p", 0.3, 2e-4, 0.02, noise_sigma=sigma)
    with pytest.raises(CtxmodeError, match=complaint) as caught:
        fit(recorded(profile, sizes))
    assert "give " in caught.value.hint


def test_spread_of_outliers_alone_is_refused() -> None:
    """Where the only longer replies took whatever time, nothing is known of decoding."""
    observations = recorded(CHAT, lambda rng: (between(rng, 20, 9000), 0, 1), count=1000)
    for number, items in enumerate(observations.by_conversation.values()):
        items[0] = items[0]._replace(completion=300, seconds=10.0 ** (2 + number % 5))
    with pytest.raises(CtxmodeError, match="completion tokens vary too little"):
        fit(observations)


def test_too_few_replies_are_refused() -> None:
    """It says how many there are, how many are needed, and what was wrong with the others."""
    observations = recorded(CHAT, count=60)
    observations.left_out["without latency_s"] = 1200
    with pytest.raises(CtxmodeError, match=r"needs 50 replies .* has 40 beside the 20 held out") as caught:
        fit(observations, holdout=0.3)
    assert caught.value.hint == "replies left out: 1,200 without latency_s"
    assert fit(observations, holdout=0).fitted.replies == 60
    with pytest.raises(CtxmodeError, match="the log has 0") as caught:
        fit(Observations())
    assert caught.value.hint == "give more logs"


def test_too_much_noise_is_refused() -> None:
    """Where noise hides what a token takes, the parameters that cannot be told are named."""
    noisy = LatencyProfile("noisy", 0.3, 2e-4, 0.02, noise_sigma=0.6)
    sizes: Sizes = lambda rng: (rng.randrange(500, 900), 0, rng.randrange(100, 200))  # noqa: E731
    with pytest.raises(CtxmodeError, match=r"these 80 replies do not tell overhead_s, per_token_s, inter_token_s"):
        fit(recorded(noisy, sizes, count=100))


def test_milliseconds_are_refused() -> None:
    """A log in milliseconds fits as well as one in seconds, but no model takes 20 s a token; a slow one's 4 s pass."""
    in_ms = LatencyProfile("in ms", 300, 0.2, 20, noise_sigma=0.2)
    with pytest.raises(CtxmodeError, match=r"these replies take 20 s a token") as caught:
        fit(recorded(in_ms))
    assert caught.value.hint == "latency_s is in seconds; are these milliseconds?"
    assert fit(recorded(LatencyProfile("slow", 30, 0.2, 4, noise_sigma=0.2))).profile.inter_token_s == pytest.approx(
        4, rel=0.05
    )


def reply(seconds: float | None = 1.5, usage: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 30} if usage is None else usage
    return {"role": "assistant", "content": "a", "latency_s": seconds, "usage": usage, **fields}


def observed(*messages: dict[str, Any]) -> Observations:
    observations = Observations()
    record = {"id": "a", "messages": [{"role": "user", "content": "q"}, *messages]}
    observations.add(parse_conversation(record, where="log:1", default_id="1"))
    return observations


def test_one_observation_a_reply() -> None:
    """Tokens and time are those recorded; a reply in two messages is one request."""
    question = {"role": "user", "content": "q"}
    observations = observed(reply(), question, reply(None), reply(2), question, reply(3.0))
    assert observations.by_conversation == {
        "a": [Observation(100, 30, 20, 1.5), Observation(100, 30, 20, 2.0), Observation(100, 30, 20, 3.0)]
    }
    assert (observations.count, observations.left_out, observations.cache_unknown) == (3, {}, 0)


def test_an_unknown_cache_counts_as_none() -> None:
    """Usage without cached_tokens is taken as uncached, counted, and told."""
    observations = observed(reply(usage={"prompt_tokens": 100, "completion_tokens": 20}))
    assert observations.by_conversation == {"a": [Observation(100, 0, 20, 1.5)]}
    assert observations.cache_unknown == 1
    many = recorded(CHAT, count=500)
    many.cache_unknown = 7
    assert "7 of 500 replies do not say what was cached; all their prompt tokens count as uncached" in fit(many).notes


IMPOSSIBLE = "with tokens or a time that cannot be"


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (reply(None), "without latency_s"),
        (reply(usage={}), "without prompt_tokens and completion_tokens in usage"),
        (reply(usage={"prompt_tokens": 5}), "without prompt_tokens and completion_tokens in usage"),
        (reply(0), IMPOSSIBLE),
        (reply(-1), IMPOSSIBLE),
        (reply(1e-300), IMPOSSIBLE),
        (reply(math.nan), IMPOSSIBLE),
        (reply(math.inf), IMPOSSIBLE),
        (reply(10**400), IMPOSSIBLE),
        (reply(usage={"prompt_tokens": "5", "completion_tokens": 1}), IMPOSSIBLE),
        (reply(usage={"prompt_tokens": [], "completion_tokens": 1}), IMPOSSIBLE),
        (reply(usage={"prompt_tokens": True, "completion_tokens": 1}), IMPOSSIBLE),
        (reply(usage={"prompt_tokens": 5, "completion_tokens": -1}), IMPOSSIBLE),
        (reply(usage={"prompt_tokens": 10**400, "completion_tokens": 1}), IMPOSSIBLE),
        (reply(usage={"prompt_tokens": 5, "completion_tokens": 1, "cached_tokens": 6}), IMPOSSIBLE),
        (reply(usage={"prompt_tokens": 5, "completion_tokens": 1, "cached_tokens": "x"}), IMPOSSIBLE),
    ],
)
def test_replies_that_cannot_be_used(answer: dict[str, Any], fault: str) -> None:
    """What is missing or impossible is counted by its name."""
    observations = observed(answer)
    assert observations.left_out == {fault: 1}
    assert observations.by_conversation == {}


def test_open_requests_are_no_replies() -> None:
    """A question without an answer is neither used nor left out."""
    observations = observed()
    assert (observations.count, observations.left_out) == (0, {})


def test_the_date_is_that_of_the_newest_message() -> None:
    """The day as recorded, in whatever message."""
    observations = observed(reply(ts="2026-03-01T23:30:00-08:00"), reply(ts="2026-02-28T10:00:00Z"), reply(ts=None))
    assert observations.newest == "2026-03-01"
    assert observed(reply()).newest == ""


def test_what_the_profile_says_of_itself() -> None:
    """Source, date and note say where it came from, for which prompts it holds, and how good it is."""
    observations = recorded(CHAT, count=1000)
    observations.newest = "2026-03-01"
    calibration = fit(observations)
    profile = calibration.profile
    prompts = [item.prompt for name, items in observations.by_conversation.items() for item in items]
    assert (profile.name, profile.source, profile.date) == ("fitted", "a log", "2026-03-01")
    assert profile.note.startswith("fitted to 800 replies of 20 to 1")
    assert profile.note.endswith(" on held-out conversations")
    assert max(prompts) < 120_000
    document = calibration.as_json()
    assert document["format"] == 1
    assert document["profile"]["overhead_s"] == profile.overhead_s
    assert set(document["held_out"]) == {"replies", "outliers", "median_error", "p95_error", "bias"}
