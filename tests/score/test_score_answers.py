"""Probes that a model is asked: which, with what question, after what messages, and whether its answer is right."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from assumptions import simulation

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.conversation.conversation import Conversation, Fact
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.score.answers import Answering, Ask, Grade, Question, by_matcher, question_of
from ctxmode_cli.score.scores import FAILED, NOT_ASKED
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

Wire = Sequence[Mapping[str, Any]]


def fact(value: str, kind: str = "address", *, negative: bool = False, question: str | None = None) -> Fact:
    return Fact("f", kind, value, (), 0, None, None, (), negative=negative, question=question)


@pytest.mark.parametrize(
    ("asked", "lang", "words"),
    [
        (fact("1 Elm St"), "en", "What address was given earlier"),
        (fact("文三路1号"), "zh", "地址是什么？"),
        (fact("TX-1", "tax_id"), "zh", "税号是什么？"),
        (fact("7", "restaurant.phone_number"), "en", "What restaurant phone number was given"),
        (fact("7", "餐馆.推荐菜"), "zh", "餐馆的推荐菜是什么？"),
        (fact("pet food", "preference", negative=True), "en", "is this wanted: pet food?"),
        (fact("香菜", "preference", negative=True), "zh", "用户要香菜吗？"),
        (fact("$kind", "$value", negative=True), "en", "wanted: $kind?"),
    ],
)
def test_question_is_made_of_the_kind(asked: Fact, lang: str, words: str) -> None:
    """In the language that is asked for; only what is denied is named, since whether it is wanted is what is asked."""
    assert words in question_of(asked, lang)
    assert asked.negative == (asked.value in question_of(asked, lang))


def test_label_has_the_first_word() -> None:
    """Its own question is asked as it is."""
    assert question_of(fact("1 Elm St", question="Where to?"), "zh") == "Where to?"


@pytest.mark.parametrize(
    ("answer", "asked", "right"),
    [
        ("1 Elm St.", fact("1 Elm St"), True),
        ("It is 1 ELM ST", fact("1 Elm St"), True),
        ("I do not know.", fact("1 Elm St"), False),
        ("11 Elm St", fact("1 Elm St"), False),
        ("", fact("1 Elm St"), False),
        ("The user does not want pet food.", fact("pet food", negative=True), True),
        ("Yes, the user wants pet food.", fact("pet food", negative=True), False),
        ("No.", fact("pet food", negative=True), False),
        ("The user wants pet food. The user does not want pet food.", fact("pet food", negative=True), False),
        ("用户不要香菜。", fact("香菜", negative=True), True),
        ("用户要香菜。", fact("香菜", negative=True), False),
        ("The user does not want pet food.", fact("pet food"), False),
    ],
)
def test_answer_is_right_with_value_and_polarity(answer: str, asked: Fact, *, right: bool) -> None:
    """A whole value, denied where the fact is a denial; an answer that says both is no answer."""
    assert by_matcher(answer, Question("", asked, "en")) is right


COUNTER = TokenCounter.for_model("gpt-4o")
TEXTS = ("Ship to 1 Elm St please.", "Noted.", "My code is K77.", "Noted.", "Thanks, what now?", "We ship it.")
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def conversation(name: str = "c", **more: Any) -> Conversation:
    """Two facts that the third turn needs: in a window of one turn the address is lost."""
    labels = [("a", "address", "1 Elm St", 0), ("k", "code", "K77", 2)]
    facts = [
        {"id": id_, "kind": kind, "value": value, "stated_at": at, "probe_at": [4]} for id_, kind, value, at in labels
    ]
    talk = [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(TEXTS)]
    return parse_conversation({"id": name, "messages": talk, "facts": facts, **more}, where="", default_id="")


def replayed(
    ask: Ask,
    record: Conversation | None = None,
    *,
    most: int = 9,
    seed: int = 0,
    grade: Grade = by_matcher,
    **settings: Any,
) -> SessionReplay:
    configs = {mode: ContextConfig(mode=mode, sliding_turns=1, **settings) for mode in ("full", "sliding")}
    answering = Answering(ask, most, seed, grade)
    replay = Replay(configs, COUNTER, ExtractiveSummarizer(COUNTER), simulation(), answering=answering)
    return replay(record or conversation())


def reader(messages: Wire, _tools: Wire) -> str:
    """A model that repeats all that it was sent before the question."""
    return " ".join(message["content"] for message in messages[:-1])


def test_what_is_sent_is_the_mode_s_request_and_the_question() -> None:
    """To the message, in the mode's own wire form, with the conversation's tools."""
    sent: list[tuple[Wire, Wire]] = []

    def ask(messages: Wire, tools: Wire) -> str:
        sent.append((messages, tools))
        return ""

    record = conversation(tools=[TOOL])
    replayed(ask, record)
    manager = ContextManager(ContextConfig(mode="sliding", sliding_turns=1), tools=record.tools)
    for message in record.messages[:5]:
        manager.append(message)
    messages, tools = sent[-1]
    assert messages[:-1] == manager.build_request_messages()
    assert messages[-1] == {"role": "user", "content": question_of(record.facts[1], "en")}
    assert list(tools) == [TOOL]


def test_answers_by_mode() -> None:
    """Who reads all that is sent answers what is in context, and nothing else."""
    session = replayed(reader)
    assert session.modes["full"].scores.answered.tolist() == [1, 1]
    assert session.modes["sliding"].scores.answered.tolist() == [0, 1]
    assert [score.answered for score in session.modes["sliding"].scores] == [False, True]


def test_answer_that_could_not_be_had() -> None:
    """It is neither right nor wrong."""
    session = replayed(lambda *_: None)
    assert session.modes["full"].scores.answered.tolist() == [FAILED, FAILED]
    assert [score.answered for score in session.modes["full"].scores] == [None, None]


def test_answers_are_graded_by_who_is_handed_in() -> None:
    """It is given each answer that could be had, with its question; what it cannot grade counts as no answer."""
    graded: list[tuple[str, Question]] = []
    answers = iter(["Elm?", None, "K77", "no idea"])
    verdicts = iter([True, False, None])

    def grade(answer: str, question: Question) -> bool | None:
        graded.append((answer, question))
        return next(verdicts)

    record = conversation()
    session = replayed(lambda *_: next(answers), record, grade=grade)
    assert session.modes["full"].scores.answered.tolist() == [1, FAILED]
    assert session.modes["sliding"].scores.answered.tolist() == [0, FAILED]
    address, code = (Question(question_of(fact, "en"), fact, "en") for fact in record.facts)
    assert graded == [("Elm?", address), ("K77", address), ("no idea", code)]


def test_what_cannot_be_sent_is_wrong_and_nobody_is_asked() -> None:
    """An unsendable request counts 0 in recall of any kind."""
    asked: list[Wire] = []

    def ask(messages: Wire, _tools: Wire) -> str:
        asked.append(messages)
        return "1 Elm St, K77"

    session = replayed(ask, input_tokens=3)
    assert session.modes["sliding"].scores.answered.tolist() == [0, 0]
    assert len(asked) == 2


def test_the_same_few_probes_are_asked_in_every_mode() -> None:
    """At most so many of a conversation, drawn by seed and id: over many conversations each of them about as often."""
    first = 0
    for number in range(40):
        session = replayed(reader, conversation(f"c{number}"), most=1)
        asked = {mode: (rows.scores.answered != NOT_ASKED).tolist() for mode, rows in session.modes.items()}
        assert asked["full"] == asked["sliding"]
        assert sum(asked["full"]) == 1
        first += asked["full"][0]
    assert 10 < first < 30
    seeds = {tuple((replayed(reader, most=1, seed=seed).modes["full"].scores.answered).tolist()) for seed in range(9)}
    assert len(seeds) == 2


def test_language_of_the_questions() -> None:
    """The record's where it has one, else that of what the user writes."""
    asked: list[str] = []

    def ask(messages: Wire, _tools: Wire) -> str:
        asked.append(messages[-1]["content"])
        return ""

    replayed(ask, conversation(lang="zh-CN"))
    assert "是什么" in asked[-1]
    chinese = [{"role": "user", "content": f"{text} 请把这个订单寄到我家里，谢谢你们的帮助，再见"} for text in TEXTS]
    replayed(ask, conversation(messages=chinese))
    assert "是什么" in asked[-1]
    replayed(ask)
    assert "was given" in asked[-1]


def test_nobody_is_asked_unless_wanted() -> None:
    """Without anyone to ask, no probe is answered."""
    configs = {"full": ContextConfig(mode="full")}
    session = Replay(configs, COUNTER, ExtractiveSummarizer(COUNTER), simulation())(conversation())
    assert session.modes["full"].scores.answered.tolist() == [NOT_ASKED, NOT_ASKED]
