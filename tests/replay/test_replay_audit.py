"""The sentence that stands for what was dropped."""

from dialogues import dialogue, history_of

from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.replay.audit import digest


def test_a_digest_is_the_sentence_that_carries_the_most() -> None:
    """Of all that user and assistant say there, cut where it is long; none where nobody speaks."""
    said = "Send order SO-10023 to 12 Oak Street by Friday."
    spoken = dialogue("u a:c t:c u", u0=f"Hello. {said} Thanks!", a1="One moment.", t2="SO-99999 " * 9, u3="word " * 99)
    history = history_of(map(parse_message, spoken))
    assert digest(history, 0, 3) == said
    assert digest(history, 2, 3) == ""
    assert (len(digest(history, 3, 4)), digest(history, 3, 4)[-1]) == (160, "…")
