"""Whether this installation counts as it should, and how wrong everything else would be."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import tiktoken

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.conversation.requests import list_requests
from ctxmode_cli.data import data_file
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.counter import TokenCounter, count_text
from ctxmode_cli.tokens.estimators import (
    ErrorSum,
    EstimatorErrors,
    content_class,
    estimators_beside,
    sample_texts,
)
from ctxmode_cli.tokens.models import Model
from ctxmode_cli.tokens.vocabularies import encodings, load_encoding, vocabulary_sha256


@dataclass(frozen=True, slots=True)
class EncodingCheck:
    """One encoding against its published vocabulary and its golden counts."""

    sha256: str
    """Digest of the vocabulary file in use."""
    cases: int
    """How many golden texts there are."""
    wrong: tuple[str, ...]
    """Names of the golden texts that are not counted as they should be."""
    problem: str
    """Why the encoding could not be loaded, or ""; then every golden count is wrong."""


@dataclass(slots=True)
class RecordErrors:
    """What the user's own records say: estimators on their texts, and our counts against recorded ones."""

    estimators: EstimatorErrors
    usage: ErrorSum = field(default_factory=ErrorSum)
    """Counted against recorded prompt tokens; one for each request that has them."""
    messages: int = 0
    """Messages with text."""
    uncounted: Counter[str] = field(default_factory=Counter)
    """Parts that no published rule counts, by type."""
    other_models: Counter[str] = field(default_factory=Counter)
    """Requests with recorded tokens whose record names another model, by its name."""

    def add(self, conversation: Conversation) -> None:
        """Add one record."""
        for message in conversation.messages:
            text = content_text(message.content)
            if text:
                self.messages += 1
                self.estimators.add(text, content_class(text))
        if any(message.usage for message in conversation.messages):
            self._add_usage(conversation)

    def _add_usage(self, conversation: Conversation) -> None:
        counter, messages = self.estimators.counter, conversation.messages
        for message in messages:
            self.uncounted.update(counter.uncounted_parts(message))
        fixed = counter.tools(conversation.tools) + counter.REPLY_TOKENS
        prompt_tokens = list(accumulate(map(counter.message, messages), initial=fixed))
        model = conversation.recorded.get("model")
        for request in list_requests(messages):
            recorded = _recorded_tokens(messages[request.position : request.reply_stop])
            if recorded:
                self.usage.add(prompt_tokens[request.position], recorded)
                if model not in {None, counter.model.name}:
                    self.other_models[str(model)] += 1


@dataclass(frozen=True, slots=True)
class TokenizerReport:
    """All that `ctxmode tokenizer-check` found."""

    model: Model
    encodings: Mapping[str, EncodingCheck]
    models: Mapping[str, str | None]
    """The encoding that tiktoken's table gives each model; None where it knows the model no more."""
    expected_models: Mapping[str, str]
    builtin: EstimatorErrors | None
    """On the built-in texts; None where the model's own encoding cannot be loaded."""
    records: RecordErrors | None
    """On the user's data; None where there is none."""

    @property
    def failures(self) -> list[str]:
        """What is not as it should be, a sentence each; none where all is well."""
        return [
            *(check.problem for check in self.encodings.values() if check.problem),
            *(
                f'{name}: {len(check.wrong)} of {check.cases} golden counts are wrong, the first is of "{check.wrong[0]}"'
                for name, check in self.encodings.items()
                if check.wrong and not check.problem
            ),
            *(
                f"the encoding of {model} is {self.models[model]}, not {expected} as in the table"
                for model, expected in self.expected_models.items()
                if self.models[model] != expected
            ),
        ]

    @property
    def answer(self) -> str:
        """The report in one sentence."""
        if self.failures:
            more = f", and {len(self.failures) - 1} more" if len(self.failures) > 1 else ""
            return f"Counts are not as they should be: {self.failures[0]}{more}."
        counted = f"All {len(self.encodings)} encodings and {len(self.models)} models are as they should be"
        if not self.builtin:
            return f"{counted}."
        share = self.builtin.by_class["zh"]["chars/4"].mean
        return f"{counted}; for {self.model.name}, characters / 4 would be off by {share:+.0%} on Chinese."

    @property
    def notes(self) -> list[str]:
        """What limits the figures on the user's own data."""
        if not self.records:
            return []
        return [
            *(
                f"{count} requests were recorded from {name} and are counted as {self.model.name}"
                for name, count in sorted(self.records.other_models.items())
            ),
            *(
                f'{count} parts of type "{kind}" count 0: no published rule counts them'
                for kind, count in sorted(self.records.uncounted.items())
            ),
        ]

    def as_json(self) -> dict[str, Any]:
        """The report in the form of `--format json` (format 1); errors are signed shares of the true count."""
        records = self.records
        return {
            "format": 1,
            "ok": not self.failures,
            "model": self.model.name,
            "encoding": self.model.encoding,
            "answer": self.answer,
            "failures": self.failures,
            "notes": self.notes,
            "encodings": {
                name: {
                    "vocabulary_sha256": check.sha256,
                    "golden": {"cases": check.cases, "wrong": len(check.wrong)},
                }
                for name, check in self.encodings.items()
            },
            "models": dict(self.models),
            "estimators": _errors_json(self.builtin),
            "data": {"messages": records.messages, "estimators": _errors_json(records.estimators)} if records else None,
            "recorded_usage": (
                {"requests": records.usage.count, **_error_json(records.usage)}
                if records and records.usage.count
                else None
            ),
        }


def check_tokenizer(model: Model, conversations: Iterable[Conversation] = ()) -> TokenizerReport:
    """Check every encoding that is available offline and the model table, and measure the usual estimates.

    Args:
        model: Whose counts the estimates are measured against.
        conversations: The user's own records, walked through once.
    """
    golden = json.loads(data_file("tokens/golden.json").read_text(encoding="utf-8"))
    checks = {name: _check_encoding(name, golden["cases"]) for name in encodings()}
    builtin = records = None
    if not checks[model.encoding].problem:
        counter = TokenCounter(model)
        usable = [name for name, check in checks.items() if not check.problem]
        estimators = estimators_beside(model.encoding, usable)
        builtin = _builtin_errors(EstimatorErrors(counter, estimators))
        records = _record_errors(RecordErrors(EstimatorErrors(counter, estimators)), conversations)
    return TokenizerReport(
        model=model,
        encodings=checks,
        models={name: _encoding_in_tiktoken(name) for name in golden["models"]},
        expected_models=golden["models"],
        builtin=builtin,
        records=records,
    )


def _check_encoding(name: str, cases: Iterable[Mapping[str, Any]]) -> EncodingCheck:
    names = tuple(case["name"] for case in cases)
    sha256 = ""
    try:
        sha256 = vocabulary_sha256(name)
        encoding = load_encoding(name)
    except CtxmodeError as error:
        return EncodingCheck(sha256, len(names), names, f"{name}: {error}")
    vocabulary = encodings()[name].name
    wrong = tuple(case["name"] for case in cases if count_text(encoding, case["text"]) != case["tokens"][vocabulary])
    return EncodingCheck(sha256, len(names), wrong, "")


def _encoding_in_tiktoken(model: str) -> str | None:
    try:
        return tiktoken.encoding_name_for_model(model)
    except KeyError:
        return None


def _builtin_errors(errors: EstimatorErrors) -> EstimatorErrors:
    for kind, texts in sample_texts().items():
        for text in texts:
            errors.add(text, kind)
    return errors


def _record_errors(errors: RecordErrors, conversations: Iterable[Conversation]) -> RecordErrors | None:
    seen = False
    for conversation in conversations:
        seen = True
        errors.add(conversation)
    return errors if seen else None


def _recorded_tokens(reply: Iterable[Message]) -> int:
    """Prompt tokens of the request that this reply answered, from its first message with usage; 0 where none has."""
    usage = next((message.usage for message in reply if message.usage), {})
    tokens = usage.get("prompt_tokens")
    return tokens if isinstance(tokens, int) else 0


def _errors_json(errors: EstimatorErrors | None) -> dict[str, dict[str, dict[str, float]]]:
    if errors is None:
        return {}
    return {kind: {name: _error_json(error) for name, error in sums.items()} for kind, sums in errors.by_class.items()}


def _error_json(error: ErrorSum) -> dict[str, float]:
    return {"mean_error": round(error.mean, 4), "worst_error": round(error.worst, 4)}
