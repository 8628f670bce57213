"""Generated sessions: the same again, well-formed, varied, and truthfully labelled."""

import hashlib
import itertools
import json
import re
import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import pytest

from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.generate.director import MAX_FACTS
from ctxmode_cli.generate.grammar import load_grammar
from ctxmode_cli.generate.sessions import generate_sessions
from ctxmode_cli.language.matching import FactMatcher
from ctxmode_cli.tokens.counter import TokenCounter

SESSIONS = 200
DIGEST = "fd6514f90c4134df89234a2df18868196ca3460aa0fcbf4792bde2046cb74e07"
"""sha256 of the first 20 sessions of seed 1 as JSON lines; change it only when sessions are meant to change."""
PERIODS = ((0, 6), (7, 10), (11, 13), (14, 16), (19, 21))
"""First and last hour of night, morning, noon, afternoon and evening."""

Record = dict[str, Any]


@pytest.fixture(scope="module")
def sessions() -> Sequence[Record]:
    return list(generate_sessions(SESSIONS, seed=11))


def lines(records: Iterator[Record]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def text_of(message: Record) -> str:
    """All that a model reads of a message."""
    calls = message.get("tool_calls", ())
    return "\n".join([message["content"] or "", *(call["function"]["arguments"] for call in calls)])


def says(text: str, form: str) -> bool:
    """Whether the form stands in the text as a whole: no Latin letter or digit goes on at either end."""
    return re.search(rf"(?<![0-9a-z]){re.escape(form.lower())}(?![0-9a-z])", text.lower()) is not None


def says_any(message: Record, fact: Record) -> bool:
    return any(says(text_of(message), form) for form in (fact["value"], *fact["aliases"]))


def facts(sessions: Sequence[Record]) -> Iterator[tuple[Sequence[Record], Record]]:
    """Each fact with the messages of its session."""
    return ((session["messages"], fact) for session in sessions for fact in session["facts"])


def user_positions(messages: Sequence[Record]) -> list[int]:
    return [position for position, message in enumerate(messages) if message["role"] == "user"]


def probe_distances(sessions: Sequence[Record]) -> list[int]:
    """User turns from the statement of a fact to each of its probes."""
    distances = []
    for messages, fact in facts(sessions):
        users = user_positions(messages)
        stated_in = bisect_right(users, fact["stated_at"])
        distances += [bisect_right(users, probe) - stated_in for probe in fact.get("probe_at", ())]
    return distances


def test_same_seed_same_bytes() -> None:
    """A seed gives the same bytes on every platform, today and tomorrow."""
    assert hashlib.sha256(lines(generate_sessions(20, seed=1)).encode()).hexdigest() == DIGEST


def test_sessions_do_not_depend_on_their_number(sessions: Sequence[Record]) -> None:
    """Session i is the same however many sessions are asked for."""
    assert list(generate_sessions(5, seed=11)) == sessions[:5]


def test_seeds_and_sessions_differ(sessions: Sequence[Record]) -> None:
    """No two sessions are equal, neither of one seed nor of two."""
    others = list(generate_sessions(SESSIONS // 4, seed=12))
    contents = {json.dumps([text_of(message) for message in each["messages"]]) for each in [*sessions, *others]}
    ids = {each["id"] for each in [*sessions, *others]}
    assert len(contents) == len(ids) == SESSIONS + SESSIONS // 4


def test_languages_take_turns(sessions: Sequence[Record]) -> None:
    """Half of the sessions are Chinese, half English, and one language can be asked for."""
    assert [session["lang"] for session in sessions[:4]] == ["zh", "en", "zh", "en"]
    assert {session["lang"] for session in generate_sessions(3, seed=1, langs=("en",))} == {"en"}
    for session in sessions:
        has_chinese = re.search(r"[\u4e00-\u9fff]", json.dumps(session, ensure_ascii=False)) is not None
        assert has_chinese == (session["lang"] == "zh"), session["id"]


def test_unknown_language_is_refused() -> None:
    """A language without grammars is an error the user can act on."""
    with pytest.raises(CtxmodeError, match="no grammars"):
        list(generate_sessions(1, seed=1, langs=("fr",)))


def test_sessions_parse(sessions: Sequence[Record]) -> None:
    """Every session is a native record, with the fields that are promised."""
    for session in sessions:
        parse_conversation(session, where=session["id"], default_id="")
        assert session["source"] == "generated"
        assert session["tags"]


def test_turns(sessions: Sequence[Record]) -> None:
    """A session has 6 to 180 user turns: half of them have at most 25, one in ten over 55."""
    turns = sorted(len(user_positions(session["messages"])) for session in sessions)
    assert turns[0] >= 6
    assert turns[-1] <= 180
    assert turns[SESSIONS // 2] <= 25
    assert turns[-SESSIONS // 10] > 55


def test_order_of_roles(sessions: Sequence[Record]) -> None:
    """A system prompt, then a user; users are answered one at a time; the agent has the last word."""
    for session in sessions:
        roles = [message["role"] for message in session["messages"]]
        assert roles[:2] == ["system", "user"]
        assert roles[-1] == "assistant"
        assert all(after == "assistant" for before, after in itertools.pairwise(roles) if before == "user")


def test_calls_and_results(sessions: Sequence[Record]) -> None:
    """Every call is answered directly, in order, by a tool that the session declares, whether it calls all or not, with its arguments."""
    shapes: Counter[str] = Counter()
    for session in sessions:
        schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in session["tools"]}
        called = set()
        messages = session["messages"]
        for position, message in enumerate(messages):
            calls = message.get("tool_calls", ())
            results = messages[position + 1 : position + 1 + len(calls)]
            assert [each["tool_call_id"] for each in results] == [call["id"] for call in calls]
            for call, result in zip(calls, results, strict=True):
                called.add(call["function"]["name"])
                assert result["name"] == call["function"]["name"]
                assert list(json.loads(call["function"]["arguments"])) == schemas[result["name"]]["required"]
                assert isinstance(json.loads(result["content"]), dict)
            shapes["two calls at once"] += len(calls) > 1
            shapes["two calls in a row"] += bool(calls) and messages[position - 1]["role"] == "tool"
            shapes["orphans"] += message["role"] == "tool" and messages[position - 1]["role"] == "user"
        assert called <= set(schemas)
        ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
        assert len(ids) == len(set(ids))
    assert shapes["two calls at once"] > SESSIONS // 10
    assert shapes["two calls in a row"] > SESSIONS // 10
    assert shapes["orphans"] == 0


def test_times_go_forward(sessions: Sequence[Record]) -> None:
    """Times are UTC in ISO 8601; each message comes after the one before, in seconds or minutes."""
    for session in sessions:
        times = [datetime.strptime(each["ts"], "%Y-%m-%dT%H:%M:%S%z") for each in session["messages"]]
        gaps = [(after - before).total_seconds() for before, after in itertools.pairwise(times)]
        assert min(gaps) >= 1
        assert max(gaps) <= 1500
        assert statistics.median(gaps) < 60


def test_sessions_begin_when_people_are_up(sessions: Sequence[Record]) -> None:
    """More sessions begin around noon and in the evening than at other times, and few at night."""
    hours = Counter(int(each["messages"][0]["ts"][11:13]) for each in sessions)
    per_hour = [sum(hours[hour] for hour in hours if low <= hour <= high) / (high - low + 1) for low, high in PERIODS]
    night, morning, noon, afternoon, evening = per_hour
    assert night < morning < noon > afternoon < evening


def test_system_prompts(sessions: Sequence[Record]) -> None:
    """A system prompt has 250 to 650 tokens."""
    counter = TokenCounter.for_model("gpt-4o")
    counts = [counter.text(session["messages"][0]["content"]) for session in sessions]
    assert min(counts) >= 250
    assert max(counts) <= 650


def test_user_messages_vary(sessions: Sequence[Record]) -> None:
    """No user message of more than 12 characters makes up two in a hundred."""
    said = [each["content"] for session in sessions for each in session["messages"] if each["role"] == "user"]
    _, most_common = Counter(text for text in said if len(text) > 12).most_common(1)[0]
    assert most_common < 0.01 * len(said)
    assert len(set(said)) > 0.5 * len(said)


def test_texts_are_tidy(sessions: Sequence[Record]) -> None:
    """No message is empty, padded, or shows a mark of the grammars' language."""
    for session in sessions:
        for message in session["messages"]:
            content = message["content"]
            if content is None:
                assert message["tool_calls"]
                continue
            assert content
            assert content == content.strip()
            assert message["role"] == "tool" or not set("{}|") & set(content)


def test_number_of_facts(sessions: Sequence[Record]) -> None:
    """A session has 1 to 12 facts, numbered in the order in which they are stated; in all, most are needed later."""
    for session in sessions:
        ids = [fact["id"] for fact in session["facts"]]
        assert ids == [f"f{number}" for number in range(len(ids))]
        assert 1 <= len(ids) <= MAX_FACTS
        assert sorted(fact["stated_at"] for fact in session["facts"]) == [f["stated_at"] for f in session["facts"]]
    probed = [bool(fact.get("probe_at")) for _, fact in facts(sessions)]
    assert sum(probed) > 0.75 * len(probed)


def test_facts_are_said_where_they_are_stated(sessions: Sequence[Record]) -> None:
    """A value stands literally, as a whole, in the message that states it, and neither it nor an alias stands before."""
    for messages, fact in facts(sessions):
        stated_at = fact["stated_at"]
        content = messages[stated_at]["content"]
        assert fact["value"] in content
        assert says(content, fact["value"]), (content, fact)
        for message in messages[:stated_at]:
            assert not any(form.lower() in text_of(message).lower() for form in (fact["value"], *fact["aliases"]))


def test_the_matcher_agrees(sessions: Sequence[Record]) -> None:
    """The matcher that measures recall finds each fact first where it is labelled."""
    for session in sessions:
        conversation = parse_conversation(session, where="", default_id="")
        places = FactMatcher(conversation.facts).locate(conversation.messages)
        assert [places[index][0] for index in range(len(conversation.facts))] == [
            fact.stated_at for fact in conversation.facts
        ]


def test_facts_are_stated_by_all(sessions: Sequence[Record]) -> None:
    """Most facts come from users, others from tools and from agents."""
    roles = Counter(messages[fact["stated_at"]]["role"] for messages, fact in facts(sessions))
    assert roles["user"] > roles["tool"] > roles["assistant"] > 0


def test_probes_need_the_fact(sessions: Sequence[Record]) -> None:
    """A probe is a later user message that does not say the fact, and the agent's very next message does."""
    for messages, fact in facts(sessions):
        for probe in fact.get("probe_at", ()):
            assert probe > fact["stated_at"]
            assert messages[probe]["role"] == "user"
            assert not says_any(messages[probe], fact)
            assert says_any(messages[probe + 1], fact), (messages[probe], messages[probe + 1], fact)
            assert probe < fact.get("superseded_at", len(messages))


def test_unmarked_uses_are_no_probes(sessions: Sequence[Record]) -> None:
    """Every turn that an agent opens with an identifier which the user did not say is labelled as a probe of it."""
    unmistakable = {"order_number", "phone", "email", "tracking_number", "membership", "address"}
    for messages, fact in facts(sessions):
        if fact["kind"] in unmistakable:
            later = [each for each in user_positions(messages) if each > fact["stated_at"]]
            current = [each for each in later if each < fact.get("superseded_at", len(messages))]
            silent = [each for each in current if not says_any(messages[each], fact)]
            assert [each for each in silent if says_any(messages[each + 1], fact)] == fact.get("probe_at", [])


def test_questions(sessions: Sequence[Record]) -> None:
    """A fact has a question in the language of its session just where it has probes, and the question does not say it."""
    for _, fact in facts(sessions):
        assert ("question" in fact) == ("probe_at" in fact)
        assert fact.get("probe_at", ["none"])
        if question := fact.get("question"):
            assert question[-1] in "？?"
            assert not says(question, fact["value"])


def test_changes_of_mind(sessions: Sequence[Record]) -> None:
    """A fact that supersedes another is of its kind, differs from it, and is stated where the old one ends."""
    changes = 0
    for session in sessions:
        by_id = {fact["id"]: fact for fact in session["facts"]}
        superseding = [fact for fact in session["facts"] if "supersedes" in fact]
        superseded = [fact for fact in session["facts"] if "superseded_at" in fact]
        assert sorted(fact["supersedes"] for fact in superseding) == sorted(fact["id"] for fact in superseded)
        for fact in superseding:
            old = by_id[fact["supersedes"]]
            assert old["superseded_at"] == fact["stated_at"] > old["stated_at"]
            assert (old["kind"], old["value"] == fact["value"]) == (fact["kind"], False)
        changes += len(superseding)
        assert len(superseding) <= load_grammar(session["lang"]).plan["max_changes"]
    assert changes > SESSIONS / 2


def test_denials(sessions: Sequence[Record]) -> None:
    """A negative fact stands right behind its denial, where it is stated and where the agent repeats it."""
    denials = 0
    for messages, fact in facts(sessions):
        if fact.get("polarity") == "negative":
            denials += 1
            denied = rf"(不要|不需要|不想要|别|\bno |not want |not need ){re.escape(fact['value'])}"
            assert re.search(denied, messages[fact["stated_at"]]["content"])
            for probe in fact.get("probe_at", ()):
                assert re.search(denied, text_of(messages[probe + 1]))
    assert denials > SESSIONS / 4


def test_probe_distances() -> None:
    """About a third of the probes come within 5 turns, and more than a third after 15."""
    distances = probe_distances(list(generate_sessions(2 * SESSIONS, seed=2)))
    near, late = (sum(each <= 5 for each in distances), sum(each > 15 for each in distances))
    assert 0.28 < near / len(distances) < 0.38
    assert 0.36 < late / len(distances) < 0.50


def test_subjects_are_taken_up_again(sessions: Sequence[Record]) -> None:
    """Users break off for something else and come back to what was open."""
    said = [each["content"] for session in sessions for each in session["messages"] if each["role"] == "user"]
    breaks = ("By the way", "One more thing first", "Before I forget", "对了，", "先打断一下", "插一句")
    returns = ("Back to ", "Returning to ", "Where were we", "回到", "接着说", "再说回")
    assert sum(text.startswith(breaks) for text in said) > SESSIONS / 10
    assert sum(text.startswith(returns) for text in said) > SESSIONS / 10
