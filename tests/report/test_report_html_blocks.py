"""A request as blocks of tokens: what they add up to, and which requests are offered."""

import pytest
from pages import COUNTER, Made, configs, made, trip

from ctxmode_cli.context.context import PURPOSES
from ctxmode_cli.report.html.blocks import LONGEST, MOST_CHUNKS, blocks, wish_of


@pytest.fixture(scope="module")
def trips() -> Made:
    """Under a budget that cuts nothing."""
    return made([trip(0)], configs(max_documents=2))


@pytest.mark.parametrize("mode", ["full", "sliding", "summary"])
def test_the_blocks_are_all_of_a_request(trips: Made, mode: str) -> None:
    """Where nothing is cut, they add up to what was sent, request by request."""
    [session] = trips.sessions
    for row in session.modes[mode].requests:
        assert row.context is not None
        found = blocks(wish_of(session, trips.replay, mode, row.request))
        tokens = dict.fromkeys(PURPOSES, 0)
        for piece in row.context.pieces:
            tokens[piece.purpose] += piece.tokens
        assert found["reply"] == COUNTER.REPLY_TOKENS
        assert found["system"] == tokens["system"]
        assert found["input"][0] == tokens["input"]
        assert found["turns"][0] == tokens["history"] + tokens["tool_output"]
        assert found["notes"].get("summary", 0) == tokens["summary"]
        assert [0, *found["documents"]][min(2, len(found["documents"]))] == tokens["documents"]


def test_what_is_left_of_turns_falls_to_nothing(trips: Made) -> None:
    """With each turn that goes less is left, at last nothing; without the calls it is less; a turn has its words."""
    [session] = trips.sessions
    found = blocks(wish_of(session, trips.replay, "full", len(session.requests) - 1))
    assert found["turns"] == sorted(found["turns"], reverse=True)
    assert found["turns"][-1] == found["talk"][-1] == 0
    assert all(talk <= whole for talk, whole in zip(found["talk"], found["turns"], strict=True))
    assert found["calls"] == sorted(found["calls"], reverse=True)
    assert found["calls"][0] == found["turns"][0]
    assert len(found["words"]) == len(found["turns"]) - 1 == 7
    assert found["words"][0] == ""  # the system message before the first turn is none of the history's tokens
    assert found["words"][2] == "Step 1: what is next on the way?"
    assert found["steps"] == sorted(found["steps"])
    assert len(found["steps"]) == len(found["calls"])
    assert max(found["steps"]) == len(found["words"]) - 1


def test_the_richest_request_of_each_mode_is_offered(trips: Made) -> None:
    """That with documents, of every mode but zero, in the settings of the mode."""
    offers = trips.kept.offers.found
    assert [offer.title for offer in offers] == [
        f"{mode}: trip-0, request 12" for mode in ("full", "sliding", "summary")
    ]
    assert [offer.settings["request"] for offer in offers] == [126_000, 8000, 8000]
    assert [offer.settings["documents"] for offer in offers] == [2, 2, 2]
    assert all(offer.data["documents"] for offer in offers)


def test_a_request_that_is_too_long_is_not_offered() -> None:
    """Its blocks would fill the page; of a shorter session there is one."""
    long = trip(1, turns=LONGEST)
    assert made([long], {"full": configs()["full"]}).kept.offers.found == []
    [offer] = made([long, trip(0)], {"full": configs()["full"]}).kept.offers.found
    assert "trip-0" in offer.title


def test_a_request_whose_wish_is_not_known_is_not_offered() -> None:
    """Where the budget has dropped the summary, nobody knows how large it was: an earlier request is offered."""
    [session] = (found := made([trip(0)], {"summary": configs(max_tokens=420)["summary"]})).sessions
    stepped = {row.request for row in session.modes["summary"].requests if row.context and row.context.stepped_down}
    assert stepped
    [offer] = found.kept.offers.found
    assert int(offer.title.rpartition(" ")[2]) not in stepped


def test_a_request_with_very_many_whole_documents_is_not_offered() -> None:
    """Full sends all as recorded; a page offers a request of it with as many as it can tell one by one."""
    record = trip(0)
    [asked] = [message for message in record["messages"] if "documents" in message]
    asked["documents"] = [{"text": f"page {number}"} for number in range(MOST_CHUNKS + 1)]
    [offer] = made([record], {"full": configs()["full"]}).kept.offers.found
    assert offer.data["documents"] == []
