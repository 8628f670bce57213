"""The budget to play with: its controls, and its rules against the program's."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from opening import SCREENSHOTS, Opened, Opener
from pages import Made
from playwright.sync_api import expect

from ctxmode_cli.context.config import Budget, DocumentLimits
from ctxmode_cli.context.plan import State
from ctxmode_cli.context.steps.budget import OverBudgetError, cut_input, fit, history_tokens, input_tokens
from ctxmode_cli.context.steps.tool_outputs import sent_forms
from ctxmode_cli.report.html.blocks import MOST_CHUNKS, Wish, blocks, wish_of

Found = Mapping[str, Any]


def by_the_program(wish: Wish, budget: Budget) -> Found:
    """What the program makes of a request under a budget."""
    history, frame, sent = wish.history, wish.history.frame, sent_forms(wish.history, wish.config)
    try:
        cut = cut_input(history, frame, budget, sent)
    except OverBudgetError as error:
        return {"unsendable": error.reason, "over": error.over_by}
    plan, _ = fit(history, frame, budget, wish.plan, cut, State(), sent)
    before, input_part = (
        history_tokens(history, plan, sent),
        input_tokens(history, frame, sent) if cut is None else cut.tokens,
    )
    documents = plan.documents.tokens if plan.documents else 0
    return {
        "unsendable": None,
        "input": input_part,
        "history": before,
        "documents": documents,
        "tokens": frame.fixed_tokens + input_part + before + documents,
        "start": plan.start,
        "called": sum(step < plan.called_from for step in steps_before(wish)),
        "notes": sorted(name for name in ("summary", "card", "constraints") if getattr(plan, name) is not None),
        "trimmed": plan.trimmed and before < history_tokens(history, wish.plan, sent),
        "stepped_down": plan.stepped_down,
    }


def by_the_page(opened: Opened, wish: Wish, settings: Sequence[Found]) -> list[Found]:
    """What the page's script makes of it, under many."""
    whole = blocks(wish)
    results = opened.page.evaluate(
        "([blocks, all]) => all.map(set => ctxmodeBudget.fit(blocks, set))", [whole, settings]
    )
    return [found if found["unsendable"] else told(found, whole, wish) for found in results]


def steps_before(wish: Wish) -> list[int]:
    """Where the steps of the history start."""
    return [step for step in wish.history.steps if step < wish.history.turn_start]


def told(found: Found, whole: Found, wish: Wish) -> Found:
    """The script's answer in the same words."""
    documents, history = found["documents"], found["history"]
    starts = [wish.plan.start, *(turn for turn in wish.history.turns if turn > wish.plan.start)]
    return {
        "start": starts[history["start"]],
        "called": history["called"],
        "unsendable": None,
        "input": found["input"]["tokens"],
        "history": history["tokens"],
        "documents": whole["documents"][documents - 1] if documents else 0,
        "tokens": found["tokens"],
        "notes": sorted(history["notes"]),
        "trimmed": history["tokens"] < sum(whole["notes"].values()) + whole["turns"][0],
        "stepped_down": history["steppedDown"],
    }


def cases(wish: Wish) -> Iterator[tuple[Budget, Found]]:
    """Budgets from too small to ample, with and without ceilings, in every order, as the program and the page take them."""
    whole = blocks(wish)
    ample = sum((whole["tools"], whole["reply"], whole["system"], whole["input"][0], whole["turns"][0], 300))
    ample += sum(whole["notes"].values()) + (whole["documents"] or [0])[-1]
    fixed, whole_input, turns = whole["tools"] + whole["system"], whole["input"], whole["turns"][0]
    shares = [
        (None, None, None), (fixed, whole_input[0], None), (fixed - 1, None, None), (None, whole_input[0] - 1, None),
        (None, None, turns), (None, None, turns // 2), (None, None, whole["notes"].get("card", 1) - 1),
    ]  # fmt: skip
    for request in range(0, ample, max(1, ample // 14)):
        for system, input_share, history in shares:
            for low in (1.0, 0.6):
                for calls_first, documents_first in ((False, False), (True, False), (False, True), (True, True)):
                    limits = wish.config.document_limits(128_000)
                    for most in (None,) if limits.as_recorded else (MOST_CHUNKS, 2):
                        chosen = DocumentLimits(most, limits.tokens, first=documents_first)
                        yield (
                            Budget(request, system, input_share, history, low, calls_first, chosen),
                            {
                                "request": request, "system": system, "input": input_share, "history": history, "low": low,
                                "calls_first": calls_first, "documents_first": documents_first, "documents": most,
                            },
                        )  # fmt: skip


@pytest.mark.parametrize("mode", ["full", "sliding", "summary", "card"])
def test_its_rules_are_the_programs(opener: Opener, trips: Made, mode: str) -> None:
    """The same budget leaves the same of a request, whatever it is: sent or not, every part, and what it steps down to."""
    opened = opener(trips)
    session = trips.sessions[-1]
    seen: list[Found] = []
    for request in (len(session.requests) - 1, len(session.requests) - 4, len(session.requests) // 2):
        wish = wish_of(session, trips.replay, mode, request)
        budgets, settings = zip(*cases(wish), strict=True)
        expected = [by_the_program(wish, budget) for budget in budgets]
        for found, right, under in zip(by_the_page(opened, wish, settings), expected, settings, strict=True):
            assert found == right, under
        seen += expected
    assert {found["unsendable"] for found in seen} == {None, "input", "system"}
    sent = [found for found in seen if not found["unsendable"]]
    assert {found["documents"] > 0 for found in sent} == {False, True}
    assert {found["trimmed"] for found in sent} == {False, True}
    steps = {None, "sliding", "zero"} if mode in {"summary", "card"} else {None}
    assert {found["stepped_down"] for found in sent} == steps


def set_slider(opened: Opened, name: str, value: float) -> None:
    """Drag a slider to a value."""
    opened.page.locator(f"#budget [name={name}]").evaluate(
        "(one, value) => { one.value = value; one.dispatchEvent(new Event('input')); }", value
    )


def test_sliders_move_and_the_picture_follows(opener: Opener, trips: Made) -> None:
    """Under a smaller window blocks fall out, the oldest first, and under one that holds nothing nothing is sent."""
    opened = opener(trips)
    demo = opened.page.locator("#budget")
    demo.locator("select").select_option(label=next(title for title in titles(opened) if title.startswith("full")))
    rows = demo.locator("tbody[data-part=blocks] tr")
    everything = rows.count()
    expect(demo.locator("tr.stays")).to_have_count(everything)
    wide = demo.locator("[data-part=bar] .free").bounding_box()["width"]
    slider = demo.locator("[name=window]")
    slider.focus()
    before = slider.input_value()
    slider.press("ArrowLeft")
    assert int(slider.input_value()) == int(before) - 1
    set_window(opened, 0.6)
    assert 0 < demo.locator("tr.falls-out").count() < everything
    fates = rows.evaluate_all("all => all.map(one => one.className)")
    turns = [fate for fate in fates[1:-2] if fate]
    assert turns == sorted(turns, key=["falls-out", "shrinks", "stays"].index)
    assert demo.locator("[data-part=bar] .free").bounding_box()["width"] != wide
    demo.screenshot(path=SCREENSHOTS / "budget.png")
    set_slider(opened, "window", 0)
    expect(demo.locator("[data-part=verdict]")).to_contain_text("Cannot be sent")
    assert opened.said == []


def set_window(opened: Opened, share: float) -> None:
    """Leave room for a share of what the request takes."""
    sent = opened.page.locator("#budget tbody[data-part=blocks] td:nth-child(3)").all_inner_texts()
    reserved = int(opened.page.locator("#budget [name=reserved]").input_value())
    set_slider(opened, "window", reserved + int(share * sum(int(cell.replace(",", "")) for cell in sent)))


def titles(opened: Opened) -> list[str]:
    """The requests that are offered."""
    found: list[str] = opened.page.locator("#budget select option").all_text_contents()
    return found


def test_priorities_are_reordered_by_buttons(opener: Opener, trips: Made) -> None:
    """Documents that come before the history stay where it falls out, and calls that go first spare the talk."""
    opened = opener(trips)
    demo = opened.page.locator("#budget")
    demo.locator("select").select_option(label=next(title for title in titles(opened) if title.startswith("sliding")))
    set_window(opened, 0.7)
    documents = demo.locator("tbody[data-part=blocks] tr", has_text="Documents")
    order = demo.locator("[data-part=priorities] li")
    expect(order.last).to_contain_text("Retrieved documents")
    sent = int(documents.locator("td").nth(1).inner_text().replace(",", ""))
    demo.get_by_role("button", name="Retrieved documents: up").click()
    expect(order.nth(2)).to_contain_text("Retrieved documents")
    assert int(documents.locator("td").nth(1).inner_text().replace(",", "")) > sent
    demo.get_by_role("button", name="Tool calls of the history and their results: down").click()
    expect(order.last).to_contain_text("Tool calls")
    expect(demo.get_by_role("button", name="Current input: up")).to_be_disabled()
    demo.screenshot(path=SCREENSHOTS / "budget-reordered.png")
    demo.get_by_role("button", name="Retrieved documents: down").click()
    expect(order.last).to_contain_text("Retrieved documents")
    assert opened.said == []
