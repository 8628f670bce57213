"""A model that judges answers: whether each has the fact that was asked for."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from string import Template
from typing import Any

from ctxmode_cli.data import data_file
from ctxmode_cli.language.tagged import call_messages
from ctxmode_cli.llm import ChatModel, Failures, LlmError
from ctxmode_cli.score.answers import Question

JUDGEMENT_TOKENS = 50
"""Most tokens of a judgement: more than its JSON takes, however it is spaced."""
JUDGEMENT: Mapping[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "judgement",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"right": {"type": "boolean"}},
            "required": ["right"],
            "additionalProperties": False,
        },
    },
}
"""What a judgement must look like, in the API's form."""


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """Has a model grade answers; question, expected value and answer go in as data between tags."""

    model: ChatModel
    failures: Failures = field(default_factory=Failures)
    """How often a judgement could not be had, by what was wrong."""

    def __call__(self, answer: str, question: Question) -> bool | None:
        """Whether an answer is right; None where the call failed, or what came of it is no judgement.

        Raises:
            CtxmodeError: The endpoint cannot be used as things are set.
        """
        messages = judge_messages(answer, question)
        try:
            said = self.model.complete(messages, max_tokens=JUDGEMENT_TOKENS, response_format=JUDGEMENT)
        except LlmError as error:
            self.failures.add(str(error))
            return None
        right = None if said.fault else _verdict(said.text)
        if right is None:
            self.failures.add(f"the judgement {said.fault or 'is not the JSON that was asked for'}")
        return right


def judge_messages(answer: str, question: Question) -> list[dict[str, Any]]:
    """What is sent, in wire form: instructions in the conversation's language, and one message of data."""
    words, fact = _words(question.lang), question.fact
    expected = words["denied" if fact.negative else "stated"]
    forms = {"other-forms": "\n".join(fact.aliases)} if fact.aliases else {}
    parts = {"question": question.text, "value": fact.value, **forms, "answer": answer}
    instructions = Template(words["instructions"]).substitute(expected=expected).strip()
    return call_messages(instructions, parts)


def _verdict(text: str) -> bool | None:
    """What a judgement says; None where it is not the JSON that was asked for, and no more."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match said:
        case {"right": bool(right), **rest} if not rest:
            return right
    return None


@cache
def _words(lang: str) -> Mapping[str, str]:
    return tomllib.loads(data_file(f"score/judge/{lang}.toml").read_text(encoding="utf-8"))
