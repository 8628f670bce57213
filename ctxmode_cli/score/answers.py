"""Whether a model answers with the fact: a sample of the probes, a question for each, and its answer graded.

A request is exactly what the mode sends, with the question as one more user message. Who grades is handed in: the
matcher (`by_matcher`), or a model that judges (`judge`).
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from heapq import nsmallest
from string import Template
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from ctxmode_cli.context.card import card_data
from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import History
from ctxmode_cli.conversation.conversation import Conversation, Fact
from ctxmode_cli.data import data_file
from ctxmode_cli.language.matching import FactMatcher
from ctxmode_cli.language.sentences import language_of
from ctxmode_cli.score.position import Ints
from ctxmode_cli.score.scores import FAILED, NOT_ASKED, Probes

Ask: TypeAlias = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], str | None]
"""Given messages in wire form and tool schemas, a model's answer; None where it could not be had."""


class Question(NamedTuple):
    """What a model is asked."""

    text: str
    fact: Fact
    """What a right answer has."""
    lang: str
    """"zh" or "en", the language of its conversation."""


Grade: TypeAlias = Callable[[str, Question], bool | None]
"""Given an answer and its question, whether it is right; None where that could not be had."""


def by_matcher(answer: str, question: Question) -> bool:
    """Whether the matcher finds the fact in an answer, with its polarity; one that says the opposite too is wrong."""
    stances = FactMatcher([question.fact]).stances_in(answer)
    return bool(stances.carried) and not stances.contradicted


class Answering(NamedTuple):
    """Who is asked, how much, and who grades the answers."""

    ask: Ask
    per_conversation: int
    """Most probes of a conversation."""
    seed: int
    """Draws them."""
    grade: Grade = by_matcher


@dataclass(frozen=True, slots=True)
class Examination:
    """The questions that one conversation's probes are asked with, the same in every mode."""

    probes: Probes
    questions: Mapping[int, Question]
    """By index of the probe."""
    answering: Answering | None

    @classmethod
    def of(cls, conversation: Conversation, probes: Probes, answering: Answering | None) -> Self:
        """The examination of a conversation; without anyone to ask, one without questions."""
        if answering is None or not len(probes):
            return cls(probes, {}, None)
        lang = _language(conversation)
        facts = {index: conversation.facts[probes.fact[index]] for index in _drawn(conversation, probes, answering)}
        questions = {index: Question(question_of(fact, lang), fact, lang) for index, fact in facts.items()}
        return cls(probes, questions, answering)

    def __call__(self, contexts: Sequence[Context | None], history: History) -> Ints:
        """For each probe 1 or 0, whether its answer is right; or `NOT_ASKED`, or `FAILED`.

        Args:
            contexts: What one mode sends at each of the probes' requests; None, where nothing can be, is 0.
            history: What they were built from.
        """
        answered = np.full(len(self.probes), NOT_ASKED)
        if self.answering is not None:
            for index, question in self.questions.items():
                context = contexts[self.probes.asked[index]]
                answered[index] = 0 if context is None else _asked(self.answering, question, context, history)
        return answered


def _asked(answering: Answering, question: Question, context: Context, history: History) -> int:
    messages = [*context.messages(history), {"role": "user", "content": question.text}]
    answer = answering.ask(messages, history.tools)
    right = None if answer is None else answering.grade(answer, question)
    return FAILED if right is None else right


def question_of(fact: Fact, lang: str) -> str:
    """What a model is asked for a fact: the label's question, else one made of its kind.

    Args:
        fact: What is asked for.
        lang: "zh" or "en", the language of a question that is made.
    """
    if fact.question:
        return fact.question
    words = _data()[lang]
    form = words["denied" if fact.negative else "stated"]
    return Template(form).substitute(kind=_kind(fact.kind, lang), value=fact.value)


def _kind(kind: str, lang: str) -> str:
    """What a kind is called; one that is unknown goes by its own name, in words."""
    data = _data()
    named = data["kinds"].get(kind) or card_data().kinds.get(kind)
    if named:
        return str(named[lang])
    parts = (" ".join(part.replace("_", " ").split()) for part in kind.split("."))
    return str(data[lang]["joint"]).join(part for part in parts if part)


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(data_file("score/questions.toml").read_text(encoding="utf-8"))


def _language(conversation: Conversation) -> str:
    """The record's language, else the user's."""
    if conversation.lang:
        return "zh" if conversation.lang.lower().startswith("zh") else "en"
    return language_of(conversation.messages)


def _drawn(conversation: Conversation, probes: Probes, answering: Answering) -> list[int]:
    """Indexes of the probes that are asked: those of the smallest hashes, whatever else is replayed."""

    def key(index: int) -> bytes:
        request = probes.requests[probes.asked[index]].request
        parts = ("answers", answering.seed, conversation.id, conversation.facts[probes.fact[index]].id, request)
        # surrogatepass: an id may be any JSON string.
        return sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()

    return sorted(nsmallest(answering.per_conversation, range(len(probes)), key))
