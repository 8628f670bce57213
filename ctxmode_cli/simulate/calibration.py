"""A latency profile from logs that carry times: the fit, its error on conversations it has not seen, when it is refused.

This module needs scipy, which comes with the extra `calibrate`; no other one imports it before a fit is asked for.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import blake2b
from math import exp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, nnls

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.requests import list_requests
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.simulate.latency import LatencyProfile

LEAST_REPLIES = 50
"""Fewer say too little about four parameters and their noise."""
LEAST_SPREAD = 0.25
"""Of the 95th percentile of uncached prompt tokens, and of completion tokens: how far below it the 5th must lie."""
OUTLIER_SIGMAS = 4.0
LEAST_SIGMA = 0.01
"""Logs round their times: no reply is an outlier, and no parameter certain, on a finer scale than this."""
LARGEST_ERROR = 0.25
"""The relative standard error beyond which a parameter is not known …"""
LARGEST_SHARE = 0.05
"""… where that error is more than this share of the predicted times as well; a parameter that hardly counts may be vague."""
LARGEST_TOKENS = 10**8
LEAST_SECONDS = 1e-6
LARGEST_SECONDS = 10**6
LARGEST_ITL = 5.0
"""Seconds between two tokens of a reply: no model is that slow, but milliseconds that are taken for seconds are."""
NOTHING = 1e-6
"""A term whose share of the predicted times is less than this in the mean is not there."""
DIGITS = 6
"""Significant ones of a fitted parameter: more than any log carries, and fewer than processors differ in."""

TERMS = ("overhead_s", "per_token_s", "inter_token_s", "quadratic_s")
"""What is fitted, in the order of the columns; a fit without the last one is a linear profile."""

Floats = NDArray[np.float64]


class Observation(NamedTuple):
    """What a log says of one request that was answered: tokens and seconds, as recorded."""

    prompt: int
    """All prompt tokens, those from the cache included."""
    cached: int
    completion: int
    seconds: float


@dataclass(slots=True)
class Observations:
    """The replies of a log that carry time and usage, and what is known of the others."""

    by_conversation: dict[str, list[Observation]] = field(default_factory=dict)
    """By conversation id; no conversation without an observation."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Replies that cannot be used, by what is wrong with them."""
    cache_unknown: int = 0
    """Observations whose usage does not say what was cached; all their tokens count as uncached."""
    newest: str = ""
    """The newest day in the log, as recorded (ISO 8601), or ""."""

    @property
    def count(self) -> int:
        """How many observations there are."""
        return sum(map(len, self.by_conversation.values()))

    def add(self, conversation: Conversation) -> None:
        """Add the replies of one conversation."""
        messages = conversation.messages
        self.newest = max(self.newest, *map(_day, messages))
        for request in list_requests(messages):
            if not request.is_open:
                self._add_reply(conversation.id, messages[request.position : request.reply_stop])

    def _add_reply(self, conversation_id: str, reply: Iterable[Message]) -> None:
        timed = next((message for message in reply if message.recorded.get("latency_s") is not None), None)
        fault = _fault(timed.recorded) if timed else "without latency_s"
        if fault or not timed:
            self.left_out[fault] += 1
            return
        usage = timed.usage or {}
        cached = usage.get("cached_tokens")
        self.cache_unknown += cached is None
        observation = Observation(
            usage["prompt_tokens"], cached or 0, usage["completion_tokens"], float(timed.recorded["latency_s"])
        )
        self.by_conversation.setdefault(conversation_id, []).append(observation)


def _fault(recorded: Mapping[str, Any]) -> str:
    """Why a timed reply cannot be used, or ""."""
    usage = recorded.get("usage") or {}
    prompt, completion, cached = (usage.get(f"{kind}_tokens") for kind in ("prompt", "completion", "cached"))
    if prompt is None or completion is None:
        return "without prompt_tokens and completion_tokens in usage"
    cached = cached or 0
    counts = all(type(tokens) is int and 0 <= tokens <= LARGEST_TOKENS for tokens in (prompt, completion, cached))
    if not counts or cached > prompt or not LEAST_SECONDS <= recorded["latency_s"] <= LARGEST_SECONDS:
        return "with tokens or a time that cannot be"
    return ""


def _day(message: Message) -> str:
    recorded = message.recorded.get("ts")
    return datetime.fromisoformat(recorded).date().isoformat() if recorded else ""


@dataclass(frozen=True, slots=True)
class FitError:
    """How far a profile's seconds are from the recorded ones, as shares of the recorded ones."""

    replies: int
    outliers: int
    """Replies more than four standard deviations of the noise away; not in the figures below."""
    median: float
    """Of the absolute errors; noise alone makes it 0.67 sigma."""
    p95: float
    bias: float
    """Sum of the predicted times over the sum of the recorded ones, less 1."""

    def as_json(self) -> dict[str, float]:
        """The figures in the form of `--format json`."""
        return {
            "replies": self.replies,
            "outliers": self.outliers,
            "median_error": round(self.median, 4),
            "p95_error": round(self.p95, 4),
            "bias": round(self.bias, 4),
        }


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted profile, and how good it is."""

    profile: LatencyProfile
    standard_errors: Mapping[str, float | None]
    """Of each fitted parameter, as a share of it; None where the parameter is 0."""
    fitted: FitError
    """On the replies that the profile was fitted to."""
    held_out: FitError | None
    """On the conversations that were held out; None where none was."""
    left_out: Mapping[str, int]
    """Replies that could not be used, by what is wrong with them."""
    notes: Sequence[str]
    """What limits the profile, a sentence each."""

    @property
    def answer(self) -> str:
        """The calibration in one sentence."""
        error, where = (self.held_out, "held-out conversations") if self.held_out else (self.fitted, "these replies")
        return (
            f"Fitted to {self.fitted.replies:,} replies; on {where} the median error is {error.median:.1%} "
            f"and the bias {error.bias:+.1%}."
        )

    def as_json(self) -> dict[str, Any]:
        """The calibration in the form of `--format json` (format 1); errors are shares."""
        return {
            "format": 1,
            "answer": self.answer,
            "profile": asdict(self.profile),
            "standard_errors": dict(self.standard_errors),
            "fitted": self.fitted.as_json(),
            "held_out": self.held_out.as_json() if self.held_out else None,
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }


def calibrate(
    observations: Observations, *, name: str, source: str, seed: int = 0, holdout: float = 0.2
) -> Calibration:
    """Fit a latency profile to recorded times, and measure it on conversations that were held out.

    Times are taken as f x noise, where f is what `LatencyProfile.seconds` says and noise is log-normal with mean 1.

    Args:
        observations: What was recorded.
        name: The profile's name.
        source: What the profile says of where it comes from.
        seed: Chooses, with the conversation ids, which conversations are held out.
        holdout: The share of the conversations that is held out, from 0 to below 1.

    Raises:
        CtxmodeError: The replies cannot carry a fit; the message says what is missing.
    """
    chosen, held_out = _split(observations.by_conversation, seed, holdout)
    if len(chosen) < LEAST_REPLIES:
        raise _too_few(len(chosen), len(held_out), observations.left_out)
    terms, seconds = _columns(chosen)
    _refuse_little_spread(terms)
    fit = _fit_known(terms, seconds)
    error = fit.error(terms, seconds)
    held_out_error = fit.error(*_columns(held_out)) if held_out else None
    profile = LatencyProfile(
        name=name,
        **dict.fromkeys(TERMS, 0.0) | fit.parameters(),
        noise_sigma=_rounded(fit.sigma),
        source=source,
        date=observations.newest,
        note=_note(error, held_out_error, chosen),
    )
    notes = _notes(observations, fit, held_out_error)
    return Calibration(profile, fit.relative_errors(), error, held_out_error, observations.left_out, notes)


def _split(
    by_conversation: Mapping[str, Sequence[Observation]], seed: int, holdout: float
) -> tuple[list[Observation], list[Observation]]:
    """The observations to fit and those to hold out: whole conversations, the smallest by a digest of seed and id."""

    def digest(conversation_id: str) -> bytes:
        return blake2b(f"{seed}\0{conversation_id}".encode("utf-8", "surrogatepass"), digest_size=16).digest()

    held_out = set(heapq.nsmallest(round(holdout * len(by_conversation)), by_conversation, key=digest))
    parts: tuple[list[Observation], list[Observation]] = ([], [])
    for conversation_id in sorted(by_conversation):
        parts[conversation_id in held_out].extend(by_conversation[conversation_id])
    return parts


def _too_few(chosen: int, held_out: int, left_out: Mapping[str, int]) -> CtxmodeError:
    kept = f" beside the {held_out:,} held out" if held_out else ""
    causes = ", ".join(f"{count:,} {fault}" for fault, count in sorted(left_out.items()))
    hint = f"replies left out: {causes}" if causes else "give more logs"
    return CtxmodeError(
        f"a fit needs {LEAST_REPLIES} replies with latency_s and usage, and the log has {chosen:,}{kept}", hint=hint
    )


def _columns(observations: Sequence[Observation]) -> tuple[Floats, Floats]:
    """What each term's parameter is multiplied by, a row an observation, and the recorded seconds."""
    prompt, cached, completion, seconds = np.array(observations, dtype=np.float64).T
    terms = (np.ones_like(prompt), prompt - cached, np.maximum(completion - 1, 0), prompt**2 - cached**2)
    return np.column_stack(terms), seconds


def _refuse_little_spread(terms: Floats) -> None:
    for title, column in (("uncached prompt tokens", terms[:, 1]), ("completion tokens", terms[:, 2] + 1)):
        low, high = np.percentile(column, (5, 95))
        if high - low <= LEAST_SPREAD * high:
            message = f"{title} vary too little for a fit: most replies have {low:,.0f} to {high:,.0f}"
            raise CtxmodeError(message, hint="give logs of requests of different sizes")


@dataclass(frozen=True, slots=True)
class _Fit:
    """Parameters of some terms, and how well they are known."""

    values: Floats
    """The parameters, in the order of TERMS; as many as were fitted."""
    errors: Floats
    """Their standard errors."""
    shares: Floats
    """The share of the predicted times that each standard error is, in the mean."""
    sigma: float
    """Standard deviation of the logarithm of the noise, outliers left out."""

    @property
    def unknown(self) -> list[str]:
        """The parameters that the observations do not tell."""
        vague = (self.errors > LARGEST_ERROR * self.values) & (self.shares > LARGEST_SHARE)
        return [TERMS[index] for index in np.flatnonzero(vague)]

    @property
    def is_linear(self) -> bool:
        """Whether the quadratic term was left out."""
        return len(self.values) < len(TERMS)

    def parameters(self) -> dict[str, float]:
        """The parameters by name."""
        return {term: _rounded(value) for term, value in zip(TERMS, self.values, strict=False)}

    def relative_errors(self) -> dict[str, float | None]:
        """The standard errors as shares of their parameters."""
        pairs = zip(TERMS, self.values, self.errors, strict=False)
        return {term: round(float(error / value), 4) if value else None for term, value, error in pairs}

    def error(self, terms: Floats, seconds: Floats) -> FitError:
        """How far this fit is from recorded seconds."""
        predicted = terms[:, : len(self.values)] @ self.values
        inlier = _inliers(np.log(seconds / predicted), self.sigma)
        errors = np.abs(predicted / seconds - 1)[inlier]
        median, p95 = np.percentile(errors, (50, 95)) if errors.size else (0.0, 0.0)
        total = seconds[inlier].sum()
        bias = predicted[inlier].sum() / total - 1 if total else 0.0
        return FitError(len(seconds), int((~inlier).sum()), float(median), float(p95), float(bias))


def _fit_known(terms: Floats, seconds: Floats) -> _Fit:
    """The fit with all terms, or without the quadratic one where the replies do not tell it from 0.

    Raises:
        CtxmodeError: Two parameters cannot be told apart, the noise hides one, or no model can be that slow.
    """
    fit = _fit(terms, seconds)
    if fit.errors[-1] > LARGEST_ERROR * fit.values[-1]:
        fit = _fit(terms[:, :-1], seconds)
    if fit.unknown:
        message = f"these {len(seconds):,} replies do not tell {', '.join(fit.unknown)}"
        hint = "give more logs, with requests whose prompts and replies are long and short independently of each other"
        raise CtxmodeError(message, hint=hint)
    inter_token_s = fit.parameters()["inter_token_s"]
    if inter_token_s > LARGEST_ITL:
        message = f"these replies take {inter_token_s:,.0f} s a token, which no model does"
        raise CtxmodeError(message, hint="latency_s is in seconds; are these milliseconds?")
    return fit


def _fit(terms: Floats, seconds: Floats) -> _Fit:
    """Parameters, at least 0, that fit the logarithms of the seconds.

    Noise multiplies, so that logarithms have the same spread for short and long requests. A first fit with a robust
    loss finds the outliers, such as time-outs; the second is plain least squares on the others.
    """
    scale = terms.mean(axis=0)
    terms = terms / scale
    # Start: least relative errors, in which a time-out hardly counts.
    start, _ = nnls(terms / seconds[:, None], np.ones_like(seconds))
    robust = _least_squares(terms, seconds, start, loss="soft_l1", f_scale=0.1)
    residuals = np.log(seconds / (terms @ robust))
    centre = np.median(residuals)
    inlier = _inliers(residuals - centre, 1.4826 * float(np.median(np.abs(residuals - centre))))
    terms, seconds = terms[inlier], seconds[inlier]
    _refuse_little_spread(terms * scale)  # the outliers may have been all there was of it
    values = _least_squares(terms, seconds, robust)
    shares = terms * values / (terms @ values)[:, None]
    # A parameter at its bound comes out as something next to nothing; the overhead stays, so that no time is 0.
    values[1:][shares.mean(axis=0)[1:] < NOTHING] = 0.0
    predicted = terms @ values
    sigma = float(np.sqrt(np.sum(np.log(seconds / predicted) ** 2) / (len(seconds) - terms.shape[1])))
    relative = terms / predicted[:, None]
    errors = max(sigma, LEAST_SIGMA) * _unit_errors(relative)
    # The noise has mean 1, so that its logarithm has mean -sigma^2 / 2: the seconds are that much larger.
    correction = exp(sigma**2 / 2) / scale
    return _Fit(values * correction, errors * correction, errors * relative.mean(axis=0), sigma)


def _least_squares(terms: Floats, seconds: Floats, start: Floats, **loss: object) -> Floats:
    logarithms = np.log(seconds)
    found = least_squares(
        lambda values: np.log(terms @ values) - logarithms,
        start,
        jac=lambda values: terms / (terms @ values)[:, None],
        bounds=(0, np.inf),
        **loss,
    )
    values: Floats = found.x
    return values


def _inliers(residuals: Floats, sigma: float) -> NDArray[np.bool_]:
    inlier: NDArray[np.bool_] = np.abs(residuals) <= OUTLIER_SIGMAS * max(sigma, LEAST_SIGMA)
    return inlier


def _unit_errors(jacobian: Floats) -> Floats:
    """Standard errors of a least-squares fit whose residuals have the standard deviation 1; huge where it has no end."""
    norms = np.linalg.norm(jacobian, axis=0)
    _, singular, rows = np.linalg.svd(jacobian / norms, full_matrices=False)
    spread = rows / np.maximum(singular, 1e-9)[:, None]
    errors: Floats = np.linalg.norm(spread, axis=0) / norms
    return errors


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _note(error: FitError, held_out: FitError | None, chosen: Sequence[Observation]) -> str:
    """What the profile says of itself: what it was fitted to, how well, and for which prompts."""
    prompts = sorted(observation.prompt for observation in chosen)
    measured = held_out or error
    where = "held-out conversations" if held_out else "these replies"
    return (
        f"fitted to {error.replies:,} replies of {prompts[0]:,} to {prompts[-1]:,} prompt tokens; "
        f"median error {measured.median:.1%} on {where}"
    )


def _notes(observations: Observations, fit: _Fit, held_out: FitError | None) -> list[str]:
    notes = [f"{count:,} replies were left out: {fault}" for fault, count in sorted(observations.left_out.items())]
    if observations.cache_unknown:
        unknown = f"{observations.cache_unknown:,} of {observations.count:,} replies"
        notes.append(f"{unknown} do not say what was cached; all their prompt tokens count as uncached")
    if fit.is_linear:
        notes.append("the replies do not tell a quadratic term from 0; the profile has none")
    if held_out is None:
        notes.append("no conversation was held out; the error is that on the replies that were fitted")
    return notes
