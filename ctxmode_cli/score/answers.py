"""Whether a model answers with the fact: a sample of the probes, a question for each, and its answer graded.

A request is exactly what the mode sends, with the question as one more user message. An answer is right where the
matcher finds the fact in it, as stated or as denied, and nothing in it says the opposite.
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


class Answering(NamedTuple):
    """Who is asked, and how much."""

    ask: Ask
    per_conversation: int
    """Most probes of a conversation."""
    seed: int
    """Draws them."""


@dataclass(frozen=True, slots=True)
class Examination:
    """The questions that one conversation's probes are asked with, the same in every mode."""

    probes: Probes
    facts: Sequence[Fact]
    questions: Mapping[int, str]
    """By index of the probe."""
    ask: Ask | None

    @classmethod
    def of(cls, conversation: Conversation, probes: Probes, answering: Answering | None) -> Self:
        """The examination of a conversation; without anyone to ask, one without questions."""
        facts = conversation.facts
        if answering is None or not len(probes):
            return cls(probes, facts, {}, None)
        lang = _language(conversation)
        drawn = _drawn(conversation, probes, answering)
        questions = {index: question_of(facts[probes.fact[index]], lang) for index in drawn}
        return cls(probes, facts, questions, answering.ask)

    def __call__(self, contexts: Sequence[Context | None], history: History) -> Ints:
        """For each probe 1 or 0, whether its answer is right; or `NOT_ASKED`, or `FAILED`.

        Args:
            contexts: What one mode sends at each of the probes' requests; None, where nothing can be, is 0.
            history: What they were built from.
        """
        answered = np.full(len(self.probes), NOT_ASKED)
        for index, question in self.questions.items():
            context = contexts[self.probes.asked[index]]
            answered[index] = 0 if context is None else self._asked(index, question, context, history)
        return answered

    def _asked(self, index: int, question: str, context: Context, history: History) -> int:
        messages = [*context.messages(history), {"role": "user", "content": question}]
        answer = self.ask(messages, history.tools) if self.ask else None
        return FAILED if answer is None else is_right(answer, self.facts[self.probes.fact[index]])


def is_right(answer: str, fact: Fact) -> bool:
    """Whether an answer has the fact, with its polarity; one that says the opposite too is wrong."""
    stances = FactMatcher([fact]).stances_in(answer)
    return bool(stances.carried) and not stances.contradicted


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
