"""The validity check finds each fault that a careless mode could make."""

import pytest
from dialogues import history_of, messages_of

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import Note, Recorded
from ctxmode_cli.context.record_faults import record_faults
from ctxmode_cli.context.validity import mode_faults

# Seven messages of 3 + 1 and two tokens each, six more for the name and arguments of a call, and 3 for the reply.
BUDGET = Budget(7 * 6 + 5 + 3)
SCRIPT = "s a u a:c t:c s u"


def context(*ranges: tuple[int, int], summarised: int = 0, summary: bool = False) -> Context:
    """A context of ranges (first and last position), the leading system message as a piece of its own.

    It says that it has no tokens at all, since a check that believed it would check nothing.
    """
    pieces = [Recorded("system" if first == 0 else "history", first, last + 1, 0) for first, last in ranges]
    note = [Note("summary", "system", "so far", 6)] if summary else []
    return Context((*pieces[:1], *note, *pieces[1:]), 0, 7, summarised, trimmed=False)


@pytest.mark.parametrize(
    ("made", "faults"),
    [
        (context((0, 0), (1, 6)), ()),
        (context((0, 0), (2, 6)), ()),
        (context((0, 0), (5, 5), (6, 6), summarised=5, summary=True), ()),
        (context((0, 0), (1, 6), summary=True), ("over_budget",)),
        (context((0, 0), (2, 4), (6, 6), (5, 5)), ("disorder",)),
        (context((0, 0), (2, 3), (5, 6)), ("parted_call",)),
        (context((0, 0), (2, 2), (4, 6)), ("parted_call",)),
        (context((0, 0), (2, 6), summarised=6, summary=True), ("raw_and_summarised",)),
        (context((0, 0), (6, 6)), ("lost_system",)),
        (context((1, 6)), ("lost_system",)),
        (context((0, 0), (3, 6)), ("first_not_user",)),
        (context((0, 0), (4, 6)), ("parted_call", "first_not_user")),
    ],
)
def test_validity_names_the_fault(made: Context, faults: tuple[str, ...]) -> None:
    """Each fault is found and named, and a valid request has none."""
    assert mode_faults(made, history_of(messages_of(SCRIPT)), BUDGET) == faults


def test_validity_dropped_group_with_a_system_message_in_it() -> None:
    """A group that goes whole is not parted because a system message between its call and result stays."""
    history = history_of(messages_of("u a:c s t:c a u"))
    made = Context((Recorded("system", 2, 3, 0), Recorded("input", 5, 6, 0)), 10, 6, 0, trimmed=True)
    assert mode_faults(made, history, BUDGET) == ()


def test_validity_orphan_result_of_the_record_is_not_the_modes() -> None:
    """A result that answers nothing is the record's fault, wherever it is sent."""
    history = history_of(messages_of("u t:x a u"))
    assert mode_faults(Context((Recorded("history", 0, 4, 0),), 10, 4, 0, trimmed=False), history, BUDGET) == ()
    assert record_faults(history.messages) == {"orphan_result": 1}


@pytest.mark.parametrize(
    ("script", "faults"),
    [
        ("u a:c t:c a", {}),
        ("u a:c,d t:d t:c", {}),
        ("u a:c s t:c", {}),
        ("u a:c", {"unanswered_call": 1}),
        ("u a:c,d t:c a", {"unanswered_call": 1}),
        ("u a:c u a t:c", {"unanswered_call": 1}),
        ("t:c u a:c t:c", {"orphan_result": 1}),
        ("u a:c t:x a:d t:c t:d", {"orphan_result": 1, "unanswered_call": 1}),
        ("u a:c t:x a:d t:d", {"orphan_result": 1, "unanswered_call": 1}),
        ("u a:c t:c a:d,e t:d", {"unanswered_call": 1}),
        ("u a:c,d", {"unanswered_call": 2}),
        ("u a:c u t:c a", {}),
        ("u a:c u", {"unanswered_call": 1}),
        ("u a:c s a:d t:d t:c a", {}),
        ("u a:c t:x a:c t:c a", {"orphan_result": 1, "unanswered_call": 1}),
    ],
)
def test_record_faults_are_counted(script: str, faults: dict[str, int]) -> None:
    """Faults of the record itself are counted by check."""
    assert record_faults(messages_of(script)) == faults
