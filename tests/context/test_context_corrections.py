"""A person's corrections of the summary and of the card, and another mode within a session."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from dialogues import MODEL, counter, dialogue, play, unhurried
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.context.card import CardFact
from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import Note
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import Corrections, SummaryRequest, SummaryResult
from ctxmode_cli.context.steps.corrections import correct, corrected, kept_tokens, without_kept
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer

TOLD = "## Decided\n- Budget: 500\n- Seat: aisle\n## The user's hard constraints\n- no nuts\n"
BY_PERSON = "## Decided\n- Budget: 800\n## The user's hard constraints\n- no nuts\n- Bob drives\n"
AFTER = """\
## Decided
## Corrected by a person
- Budget: 800
- Bob drives
## The user's hard constraints
- no nuts
"""


@dataclass
class Teller:
    """A summarizer that always tells the same, and remembers what it was asked."""

    text: str = TOLD
    asked: list[SummaryRequest] = field(default_factory=list)

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        self.asked.append(request)
        return SummaryResult(self.text, counter().text(self.text), request.messages_tokens)


def manager(summarizer: Any = None, mode: str = "summary", **settings: Any) -> ContextManager:
    settings = {"summary_threshold": 1, "summary_every": 0, **settings}
    return ContextManager(ContextConfig(mode=mode, model=MODEL, **settings), summarizer=summarizer or Teller())


def notes(context: Context, purpose: str = "summary") -> list[Note]:
    return [piece for piece in context.pieces if isinstance(piece, Note) and piece.purpose == purpose]


def fact(kind: str, value: str) -> CardFact:
    return CardFact(kind, value, negative=False, changes=False, position=0)


# --- which lines are corrected ---


def test_a_changed_line_is_removed_and_kept() -> None:
    """A line that was changed is kept as it is now, and removed as it was; headings are nobody's statement."""
    assert correct(Corrections(), TOLD, BY_PERSON) == Corrections(
        ("- Budget: 800", "- Bob drives"), ("- Budget: 500", "- Seat: aisle")
    )


def test_a_second_correction_goes_on_from_the_first() -> None:
    """A kept line that is taken out is removed from then on, and a removed one that is put back is kept."""
    first = correct(Corrections(), TOLD, BY_PERSON)
    second = correct(first, AFTER, AFTER.replace("- Budget: 800", "- Budget: 500"))
    assert second == Corrections(("- Bob drives", "- Budget: 500"), ("- Seat: aisle", "- Budget: 800"))


def test_a_spelling_that_only_differs_in_case_is_kept() -> None:
    """What carries no meaning for a reader may be what the person corrects."""
    corrections = correct(Corrections(), "- call bob\n", "- call Bob\n")
    assert corrections == Corrections(("- call Bob",), ())
    assert corrected("- call bob\n", corrections) == "## Corrected by a person\n- call Bob\n"


# --- what a later summary says ---


def test_later_summaries_are_corrected() -> None:
    """Removed lines go, kept ones stand word for word under a heading; the hard constraints stay the last section."""
    assert corrected(TOLD, correct(Corrections(), TOLD, BY_PERSON)) == AFTER


@pytest.mark.parametrize("line", ["Seat: aisle", "* seat: Aisle.", "2. Seat：aisle", "  - Seat: aisle"])
def test_a_removed_line_does_not_come_back_in_other_dress(line: str) -> None:
    """Bullet, case, width and a full stop make no other line."""
    assert corrected(f"- x\n{line}\n", Corrections((), ("- Seat: aisle",))) == "- x\n"


def test_chinese_corrections_have_a_chinese_heading() -> None:
    """The heading is in the language of the lines under it."""
    assert corrected("- 预算五百\n", Corrections(("- 预算八百",), ("- 预算五百",))) == "## 经人工更正\n- 预算八百\n"


def test_kept_lines_are_not_retold() -> None:
    """The summarizer is not shown the kept lines, wherever they stand, since the next summary has them anyway."""
    corrections = correct(Corrections(), TOLD, BY_PERSON)
    bare = "## Decided\n## The user's hard constraints\n- no nuts\n"
    assert without_kept(AFTER, corrections) == without_kept(BY_PERSON, corrections) == bare
    assert without_kept("- Bob drives\n", corrections) is None


lines = st.lists(
    st.sampled_from(["- a", "- b.", "c", "  - d", "- 五百", "## h", "", "- no nuts", "[t]", "/e"]), max_size=6
)
texts = st.tuples(lines, st.sampled_from(["", "\n"])).map(lambda drawn: "\n".join(drawn[0]) + drawn[1])


@unhurried
@given(old=texts, by_person=texts, new=texts, constraints=st.booleans())
def test_corrections_hold_in_any_later_summary(old: str, by_person: str, new: str, *, constraints: bool) -> None:
    """Whatever is told later: kept lines once, removed lines never, twice applied as once, tokens as reserved."""
    new += "\n## The user's hard constraints\n- z" if constraints else ""
    corrections = correct(Corrections(), old, by_person)
    after = corrected(new, corrections)
    said = after.splitlines()
    assert all(said.count(line) == 1 for line in corrections.kept)
    assert not set(corrections.removed) & set(said)
    assert corrected(after, corrections) == after
    assert counter().text(after) <= counter().text(new) + kept_tokens(corrections, counter().text) + 1


# --- in a session ---


@pytest.mark.parametrize("strategy", ["rolling", "rebuild"])
def test_a_correction_stays_through_refreshes(strategy: str) -> None:
    """Three summaries later, rolling or rebuilt, the person's lines are there, and what was removed is not."""
    teller = Teller()
    session = manager(teller, summary_strategy=strategy)
    play(session, "s u a u a u")
    assert session.summary == TOLD
    session.correct_summary(BY_PERSON)
    assert session.summary == BY_PERSON
    [as_written] = notes(session.build_context())
    assert (as_written.text, as_written.tokens) == (BY_PERSON, counter().generated("system", counter().text(BY_PERSON)))
    contexts = play(session, "a u a u a u a u")
    assert len(teller.asked) == 5
    [note] = notes(contexts[-1])
    assert (note.text, note.tokens) == (AFTER, counter().generated("system", counter().text(AFTER)))
    seen = "## Decided\n## The user's hard constraints\n- no nuts\n"
    assert [asked.previous for asked in teller.asked[1:]] == ([seen] * 4 if strategy == "rolling" else [None] * 4)


@pytest.mark.parametrize("strategy", ["rolling", "rebuild"])
def test_the_whole_summary_stays_within_its_target(strategy: str) -> None:
    """The summarizer is asked for less by what the kept lines take, so that both together fit the target."""
    target = 120
    session = manager(
        ExtractiveSummarizer(counter()), summary_strategy=strategy, summary_target_tokens=target, summary_every=0
    )
    spoken = {f"u{n}": f"I have decided on room {n} for {n * 7} euros on May {n}." for n in range(40)}
    play(session, "u a u a u a u", **spoken)
    told = session.summary or ""
    removed = next(line for line in told.splitlines() if line.startswith("- "))
    session.correct_summary(told.replace(removed, "- The room is number 77, and its price is 1,234 euros."))
    for context in play(session, "a u " * 12, **spoken):
        for note in notes(context):
            assert note.tokens - counter().generated("system", 0) == counter().text(note.text) <= target
            assert "- The room is number 77, and its price is 1,234 euros.\n" in note.text
            assert removed not in note.text
    assert counter().text(session.summary or "") > target - 40  # the room that is left is used


def test_the_target_is_less_by_the_kept_lines() -> None:
    """What is asked for is the target less the section of kept lines, in exact tokens, and its line break."""
    teller = Teller()
    session = manager(teller)
    play(session, "u a u a u")
    session.correct_summary(BY_PERSON)
    play(session, "a u")
    section = counter().text("## Corrected by a person\n- Budget: 800\n- Bob drives\n")
    assert [asked.target_tokens for asked in teller.asked] == [800, 800 - section - 1]


def test_a_correction_that_leaves_no_room_is_refused() -> None:
    """Kept lines that fill the target are an error that says by how much, and the summary stays as it was."""
    session = manager(summary_target_tokens=30)
    play(session, "u a u a u")
    section = counter().text("## Corrected by a person\n- " + "word " * 30 + "\n".lstrip())
    with pytest.raises(CtxmodeError, match=f"no room for a summary: {section + 2 - 30} tokens over"):
        session.correct_summary("- " + "word " * 30)
    assert session.summary == TOLD


def test_kept_lines_that_a_smaller_target_does_not_hold_step_down() -> None:
    """Where the settings change to a target below the kept lines, requests go without a summary, and lose nothing."""
    teller = Teller()
    session = manager(teller)
    play(session, "u a u a u")
    session.correct_summary(BY_PERSON)
    session.change_mode(
        ContextConfig(mode="summary", model=MODEL, summary_threshold=1, summary_every=0, summary_target_tokens=5)
    )
    context = play(session, "a u")[-1]
    assert (context.stepped_down, len(teller.asked)) == ("sliding", 1)


def test_a_summary_of_which_nothing_is_left_is_not_sent() -> None:
    """Where the person removed all that the summarizer tells, there is no empty message."""
    teller = Teller("- a\n- b\n")
    session = manager(teller)
    play(session, "u a u a u")
    session.correct_summary("[nothing to tell]")
    context = play(session, "a u")[-1]
    assert (notes(context), session.summary) == ([], None)


def test_there_must_be_a_summary_to_correct() -> None:
    """A correction of nothing, and an empty one, are errors."""
    session = manager()
    with pytest.raises(CtxmodeError, match="no summary to correct yet"):
        session.correct_summary("- x")
    play(session, "u a u a u")
    with pytest.raises(CtxmodeError, match="is empty"):
        session.correct_summary(" \n")


def test_reset_forgets_corrections() -> None:
    """A session that begins anew has no corrections."""
    session = manager()
    play(session, "u a u a u")
    session.correct_summary(BY_PERSON)
    session.reset()
    play(session, "u a u a u")
    assert session.summary == TOLD


# --- the card ---


def test_a_corrected_card_is_sent_and_stays() -> None:
    """What a person puts on the card is in the next request, and what is taken off does not come back when said again."""
    session = manager(mode="sliding", fact_card=True)
    spoken = {"u0": "My order number is 55512.", "u2": "My email is bob@example.com.", "u4": "Order number 55512!"}
    play(session, "u a u a", **spoken)
    assert "55512" in notes(session.build_context(), "card")[0].text
    session.correct_card(set_=[fact("order_number", "77713")], remove=[fact("order_number", "55512")])
    for context in play(session, "u u a u a u", u0=spoken["u4"]):
        [note] = notes(context, "card")
        assert "77713" in note.text
        assert "55512" not in note.text
        assert note.tokens == counter().generated("system", counter().text(note.text))
    assert [pinned.value for pinned in session.card.pinned] == ["77713"]


def test_a_card_that_is_not_kept_cannot_be_corrected() -> None:
    """Without a fact card a correction of it is an error that says which setting keeps one."""
    with pytest.raises(CtxmodeError, match="no fact card") as error:
        manager().correct_card(set_=[fact("name", "Bob")])
    assert "fact_card=True" in error.value.hint


# --- another mode ---


def test_summary_is_kept_while_another_mode_goes_on() -> None:
    """From summary to sliding and back: nothing is summarised twice, and the summary goes on where it was."""
    teller = Teller()
    session = manager(teller)
    play(session, "s u a u a u")
    first = session.config
    session.change_mode(ContextConfig(mode="zero", model=MODEL))
    assert session.build_request_messages() == dialogue("s u a u a u")[:1] + dialogue("s u a u a u")[-1:]
    assert session.summary == TOLD
    session.change_mode(first)
    [note] = notes(session.build_context())
    assert (note.text, len(teller.asked)) == (TOLD, 1)


def test_the_window_is_kept_while_another_mode_goes_on() -> None:
    """A window that starts at the third turn starts there again after a request of another mode."""
    session = manager(mode="sliding", sliding_turns=3, sliding_low=1)
    play(session, "u a " * 4 + "u")
    before = session.build_request_messages()
    sliding = session.config
    session.change_mode(ContextConfig(mode="full", model=MODEL))
    assert len(session.build_request_messages()) == 9
    session.change_mode(sliding)
    assert session.build_request_messages() == before


def test_the_card_goes_and_comes_with_the_mode() -> None:
    """A mode without a card sends none; the card that comes back has what was said before and in between."""
    session = manager(mode="full", fact_card=True)
    with_card = session.config
    play(session, "u a u", u0="My order number is 55512.")
    session.change_mode(ContextConfig(mode="full", model=MODEL))
    assert notes(session.build_context(), "card") == []
    play(session, "a u a u", u1="My email is bob@example.com.")
    session.change_mode(with_card)
    assert notes(session.build_context(), "card")[0].text.count("\n- ") == 2


def test_a_card_is_written_anew_for_another_limit() -> None:
    """A smaller limit holds from the next request on."""
    session = manager(mode="full", fact_card=True)
    play(session, "u a u", u0="My order number is 55512. My email is bob@example.com. My phone is 13800138000.")
    session.change_mode(ContextConfig(mode="full", model=MODEL, fact_card=True, fact_card_tokens=25))
    [note] = notes(session.build_context(), "card")
    assert counter().text(note.text) <= 25


def test_a_cut_of_another_budget_is_forgotten() -> None:
    """Where one mode's budget has cut history back, another mode's cuts it anew."""
    session = manager(mode="sliding", max_tokens=60, budget_low=0.5)
    play(session, "u a " * 10 + "u")
    assert session.state.cut_start
    session.change_mode(ContextConfig(mode="sliding", model=MODEL, max_tokens=100, budget_low=0.5))
    changed = session.build_request_messages()
    alone = manager(mode="sliding", max_tokens=100, budget_low=0.5)
    for message in session.history.messages:
        alone.append(message)
    assert changed == alone.build_request_messages()


def test_another_model_needs_another_manager() -> None:
    """Counts belong to a model: another one is refused, with what to do, and the mode stays."""
    session = manager()
    with pytest.raises(CtxmodeError, match="counts tokens for gpt-4o, the settings are for gpt-4") as error:
        session.change_mode(ContextConfig(model="gpt-4"))
    assert "begin a new manager" in error.value.hint
    assert session.config.mode == "summary"


def test_a_mode_that_cannot_be_had_changes_nothing() -> None:
    """Settings that need a summarizer where there is none are refused, and the session goes on as it was."""
    session = ContextManager(ContextConfig(mode="zero", model=MODEL))
    play(session, "u a u")
    with pytest.raises(CtxmodeError, match="needs a summarizer"):
        session.change_mode(ContextConfig(mode="summary", model=MODEL))
    assert session.config.mode == "zero"
    assert session.build_request_messages() == [{"role": "user", "content": "u2"}]
