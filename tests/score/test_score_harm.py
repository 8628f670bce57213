"""Stale values and contradictions, on small records worked out by hand."""

from collections.abc import Sequence
from typing import Any

from ctxmode_cli.context.context import Context, Piece
from ctxmode_cli.context.history import Note, Recorded
from ctxmode_cli.conversation.conversation import Conversation, Fact
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.language.statements import StatementReader
from ctxmode_cli.score.harm import Harm, HarmFinder, Supersessions
from ctxmode_cli.score.recall import FactPlaces

# Every second message is a user's; the fact "new" takes the place of "old" in message 2.
TEXTS = ("Fly me to Paris.", "Paris, noted.", "Make it Rome instead.", "Rome.", "And where do I fly?", "To Rome.")
OLD = {"id": "old", "kind": "city", "value": "Paris", "stated_at": 0, "superseded_at": 2}
NEW = {"id": "new", "kind": "city", "value": "Rome", "stated_at": 2, "probe_at": [4]}


def conversation(*facts: dict[str, Any], texts: Sequence[str] = TEXTS) -> Conversation:
    messages = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    return parse_conversation({"id": "x", "messages": messages, "facts": list(facts)}, where="test:1", default_id="x")


def context(*pieces: Piece, length: int, summarised: int = 0) -> Context:
    return Context(pieces, 100, length, summarised, trimmed=False)


def history(start: int, stop: int) -> Recorded:
    return Recorded("history", start, stop, 10)


def summary(*lines: str) -> Note:
    return Note("summary", "system", "\n".join(lines), 10)


def finder(of: Conversation) -> HarmFinder:
    supersessions = Supersessions.of(of.facts)
    probed = [index for index, fact in enumerate(of.facts) if fact.probe_at]
    places = FactPlaces(of.facts, of.messages, supersessions.wanted(probed))
    return HarmFinder(of.facts, supersessions, places, StatementReader(of.facts, of.messages))


def facts_of(*facts: dict[str, Any]) -> tuple[Fact, ...]:
    return conversation(*facts).facts


INPUT = Recorded("input", 4, 5, 10)


def test_stale_is_an_old_value_in_the_place_of_the_new_one() -> None:
    """The request that needs Rome carries Paris instead; which message says so is told."""
    found = finder(conversation(OLD, NEW)).find(2, context(history(0, 2), INPUT, length=5), lost=[1])
    assert list(found) == [Harm("stale", fact=1, request=2, old=0, message=0, statement="")]


def test_a_request_with_neither_value_is_not_stale() -> None:
    """What is only lost is recall's affair."""
    assert not list(finder(conversation(OLD, NEW)).find(2, context(INPUT, length=5), lost=[1]))


def test_an_old_value_in_the_summary_is_stale() -> None:
    """The line that still says it is told."""
    sent = context(summary("Summary", "- Flies to Paris."), INPUT, length=5, summarised=2)
    found = list(finder(conversation(OLD, NEW)).find(2, sent, lost=[1]))
    assert found == [Harm("stale", 1, 2, 0, None, "- Flies to Paris.")]


def test_a_fact_says_itself_what_it_supersedes() -> None:
    """`supersedes` links facts of different kinds, and what is linked so is not linked by its kind too."""
    named = {**NEW, "kind": "destination", "supersedes": "old"}
    assert Supersessions.of(facts_of(OLD, named)).older == {1: [0]}
    other = {**OLD, "id": "other", "value": "noted"}
    assert Supersessions.of(facts_of(OLD, {**NEW, "supersedes": "old"}, other)) == ({1: [0]}, [2])


def test_links_without_supersedes_go_by_kind_and_message() -> None:
    """Only a fact of the same kind, superseded by the very message that states the new one, is its predecessor."""
    assert Supersessions.of(facts_of(OLD, NEW)) == ({1: [0]}, [])
    assert Supersessions.of(facts_of(OLD, {**NEW, "kind": "hotel"})) == ({}, [0])
    assert Supersessions.of(facts_of({**OLD, "superseded_at": 3}, NEW)) == ({}, [0])
    assert Supersessions.of(facts_of(NEW)) == ({}, ())


def test_a_chain_of_changes_is_one_of_old_values() -> None:
    """What the old value superseded is old too, the latest first; two of one message that name each other end nothing."""
    first = {"id": "first", "kind": "city", "value": "noted", "stated_at": 0, "superseded_at": 2, "supersedes": "old"}
    facts = facts_of({**OLD, "supersedes": "first"}, {**NEW, "supersedes": "old"}, first)
    assert Supersessions.of(facts).older[1] == [0, 2]


def test_a_fact_that_is_not_found_where_stated_is_not_stale() -> None:
    """Where the matcher does not know the new value, nobody can tell that it is missing."""
    unknown = {**NEW, "value": "Roma"}
    assert not list(finder(conversation(OLD, unknown)).find(2, context(history(0, 2), INPUT, length=5), lost=[1]))


def test_without_a_link_the_summary_alone_is_judged() -> None:
    """A value that no label replaces is stale wherever a summary still asserts it after it was superseded."""
    of = conversation(OLD)
    told = summary("- Flies to Paris.")
    late = context(told, INPUT, length=5, summarised=2)
    assert list(finder(of).find(2, late, [])) == [Harm("stale", 0, 2, 0, None, "- Flies to Paris.")]
    assert not list(finder(of).find(1, context(told, length=2, summarised=2), []))  # before the change
    assert not list(finder(of).find(2, context(history(0, 2), INPUT, length=5), []))  # recorded, not told
    asked = context(summary("- Flies to Paris?"), INPUT, length=5, summarised=2)
    assert not list(finder(of).find(2, asked, []))


PET = {"id": "pets", "kind": "preference", "value": "宠物推荐", "stated_at": 0, "polarity": "negative"}
PET_TEXTS = ("你好，我不需要宠物推荐。", "好的。", "有什么餐厅？", "有三家。", "哪家近？", "第一家。")


def contradictions(of: Conversation, *requests: Context) -> list[tuple[int, str]]:
    finds = finder(of)
    found = [harm for number, sent in enumerate(requests) for harm in finds.find(number, sent, [])]
    assert {harm.kind for harm in found} <= {"contradicted"}
    return [(harm.request, harm.statement) for harm in found]


def test_the_summary_turns_a_refusal_into_a_wish() -> None:
    """The user refused recommendations about pets, and the summary says that they want them, in other words."""
    wrong, right = summary("- 用户关注宠物相关推荐"), summary("- 用户不再关注宠物相关推荐")
    of = conversation(PET, texts=PET_TEXTS)
    assert contradictions(of, context(wrong, INPUT, length=5, summarised=2)) == [(0, "- 用户关注宠物相关推荐")]
    assert contradictions(of, context(right, INPUT, length=5, summarised=2)) == []


def test_a_statement_denies_a_fact() -> None:
    """A summary that denies what the user asked for contradicts it."""
    of = conversation(NEW)
    assert contradictions(of, context(summary("- Does not go to Rome."), INPUT, length=5, summarised=4)) == [
        (0, "- Does not go to Rome.")
    ]


def test_a_statement_counts_once_in_a_conversation() -> None:
    """Neither the requests that send it again nor a summary that takes it over count it again; a new statement counts."""
    of = conversation(PET, texts=PET_TEXTS)
    first, second = summary("- 关注宠物推荐"), summary("- 关注宠物推荐", "- 喜欢宠物推荐")
    requests = [context(told, INPUT, length=5, summarised=2) for told in (first, first, second)]
    assert contradictions(of, *requests) == [(0, "- 关注宠物推荐"), (2, "- 喜欢宠物推荐")]


def test_only_a_fact_that_held_is_contradicted() -> None:
    """A superseded fact is not contradicted by its successor, nor one by a summary of what was said before it."""
    denied = summary("- Does not go to Paris.")
    assert contradictions(conversation(OLD), context(denied, INPUT, length=5, summarised=4)) == []
    assert contradictions(conversation(OLD), context(denied, INPUT, length=5, summarised=2)) != []
    later = summary("- Does not go to Rome.")
    assert contradictions(conversation(NEW), context(later, INPUT, length=5, summarised=2)) == []


def test_what_the_record_itself_says_contradicts_nothing() -> None:
    """A sentence that the summary takes over word for word is the record's."""
    texts = ("Rome it is.", "Do not go to Rome today.", "And now?", "Yes.", "Go?", "Yes.")
    of = conversation({**NEW, "stated_at": 0}, texts=texts)
    quoted, made = summary("- Do not go to Rome today."), summary("- Do not go to Rome.")
    assert contradictions(of, context(quoted, INPUT, length=5, summarised=4)) == []
    assert contradictions(of, context(made, INPUT, length=5, summarised=4)) == [(0, "- Do not go to Rome.")]
