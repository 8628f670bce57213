"""The live reader of facts for the fact card: a model behind an OpenAI-compatible endpoint lists what a message states."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import NamedTuple

from ctxmode_cli.context.card import CardFact, card_data
from ctxmode_cli.context.card_facts import CardReading, extract_card_facts
from ctxmode_cli.context.context import AuxiliaryCall
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.language.matching import stances_of
from ctxmode_cli.language.sentences import language_of
from ctxmode_cli.llm import ChatModel, Completion, Failures, LlmError
from ctxmode_cli.summarize.asking import question
from ctxmode_cli.tokens.counter import TokenCounter

ANSWER_TOKENS = 600
"""Most tokens of an answer: some twenty facts."""
LONGEST_VALUE = 200
"""Characters; a constraint may be a clause, and what is longer is a quotation and no fact."""
LONGEST_KIND = 40
"""Characters of a kind's name."""
_KIND = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_POLARITIES = ("positive", "negative")
_FIELDS = {
    "kind": {"type": "string"},
    "value": {"type": "string"},
    "polarity": {"type": "string", "enum": list(_POLARITIES)},
    "changes": {"type": "boolean"},
}
_FORM = {
    "type": "json_schema",
    "json_schema": {
        "name": "facts",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "facts": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": _FIELDS,
                        "required": list(_FIELDS),
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["facts"],
            "additionalProperties": False,
        },
    },
}
"""What the answer must look like, in the API's form."""


class _Said(NamedTuple):
    """A fact as the model lists it."""

    kind: str
    value: str
    polarity: str
    changes: bool


class OpenAiFactExtractor:
    """Has a model read what the user says, a `FactExtractor`: one call for each user message that has a text.

    What the assistant says is read by rules as ever: most of it repeats or offers, and the numbers and dates that are
    taken from it take no model to find. The message goes in as data, between tags that nothing in it can close.

    Nothing in an answer is believed that the message does not bear out. An answer that is none (failed, refused, cut
    off, not of the form) leaves the message without facts; of one that is, only facts are kept whose kind is a name,
    and whose value the message states. A call that failed is billed like one that was answered.

    Args:
        model: The model that is asked.
        counter: Its own: counts what the calls are billed for, and knows its window.
    """

    def __init__(self, model: ChatModel, counter: TokenCounter) -> None:
        self._model = model
        self._counter = counter
        self.failures = Failures()
        """How often a message could not be read, by what was wrong."""
        self.left_out = Failures()
        """How many facts were left out of answers, by what was wrong with them."""

    def __call__(self, message: Message, position: int) -> CardReading:
        """The facts of one message.

        Raises:
            CtxmodeError: The endpoint cannot be used as things are set.
        """
        text = content_text(message.content)
        if message.role != "user" or not text.strip():
            return extract_card_facts(message, position)
        call, said = self._read(message, text)
        if isinstance(said, str):
            self.failures.add(said)
            return CardReading((), call._replace(failed=True, message=position))
        kept = list(self._kept(said, text))
        return CardReading(_card_facts(kept, position), call._replace(message=position))

    def _read(self, message: Message, text: str) -> tuple[AuxiliaryCall, list[_Said] | str]:
        """The call, and what the model lists, or else what was wrong."""
        counter = self._counter
        asked = question(_instructions(language_of([message])), {"message": text}, counter)
        call = AuxiliaryCall("card", counter.model.name, asked.prompt_tokens, 0)
        if asked.prompt_tokens + ANSWER_TOKENS > counter.model.window:
            unseen = call._replace(prompt_tokens=0, unseen_tokens=counter.message(message))
            return unseen, f"the call is over the window of {counter.model.name}"
        try:
            answer = self._model.complete(asked.messages, max_tokens=ANSWER_TOKENS, response_format=_FORM)
        except LlmError as error:
            return call, str(error)
        return call._replace(completion_tokens=counter.text(answer.text), text=answer.text), _listed(answer)

    def _kept(self, said: Sequence[_Said], text: str) -> Iterator[_Said]:
        """Those of the facts that can be believed."""
        carried, denied = stances_of([(one.kind, one.value) for one in said], text)
        stated = carried | denied
        for index, one in enumerate(said):
            if len(one.kind) > LONGEST_KIND or not _KIND.fullmatch(one.kind):
                self.left_out.add("the kind is no name")
            elif len(one.value) > LONGEST_VALUE:
                self.left_out.add(f"the value is over {LONGEST_VALUE} characters")
            elif index not in stated:
                self.left_out.add("the message does not state the value")
            else:
                yield one


def listing(facts: Iterable[CardFact]) -> str:
    """An answer that lists these facts."""
    said = [_Said(fact.kind, fact.value, _POLARITIES[fact.negative], fact.changes) for fact in facts]
    return json.dumps({"facts": [one._asdict() for one in said]})


def _listed(answer: Completion) -> list[_Said] | str:
    """What an answer lists; or what is wrong with it."""
    if answer.fault is not None:
        return f"the answer {answer.fault}"
    try:
        facts = json.loads(answer.text)["facts"]
        said = [_Said(**fact) for fact in facts] if isinstance(facts, list) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        said = None
    if said is None or not all(map(_is_well_typed, said)):
        return "the answer is not of the form that was asked for"
    return said


def _is_well_typed(said: _Said) -> bool:
    kind, value, polarity, changes = said
    return isinstance(kind, str) and isinstance(value, str) and isinstance(changes, bool) and polarity in _POLARITIES


def _card_facts(said: Sequence[_Said], position: int) -> list[CardFact]:
    """The facts as the card takes them.

    Where a message gives up a value and puts another of its kind there, the denial is the change: it takes the place of
    the value that it denies, and the new one must not take that of a third.
    """
    changed = {one.kind for one in said if one.changes}
    given_up = {one.kind for one in said if one.polarity == "negative" and one.kind in changed}
    facts = []
    for one in said:
        negative = one.polarity == "negative"
        changes = negative if one.kind in given_up else one.changes
        facts.append(CardFact(one.kind, one.value, negative, changes, position))
    return facts


@cache
def _instructions(lang: str) -> str:
    """What a model is told to do, in one of the languages."""
    text = (files("ctxmode_cli.summarize") / "prompts" / "facts" / f"{lang}.toml").read_text(encoding="utf-8")
    prompt = Template(tomllib.loads(text)["instructions"].strip())
    kinds = "\n".join(f"  {kind} ({names[lang]})" for kind, names in card_data().kinds.items())
    return prompt.substitute(kinds=kinds, characters=LONGEST_VALUE)
