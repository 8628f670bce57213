"""Which kinds of facts are read as numbers, dates or times, and in which forms a value is looked for."""

import pytest

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.language.readings import forms_of, reading_of

READINGS = {
    "number": ["amount", "restaurant.price", "Flights_1.fare", "餐馆.人均消费", "景点.门票", "预算金额", "number_of_days", "quantity"],
    "date": ["date", "Events_2.date", "check_in_date", "送货日期"],
    "full_date": ["dob", "music.出生日期", "film.上映时间"],
    "time": ["time", "train.leaveAt", "appointment_time", "餐馆.营业时间"],
    None: [
        "name", "phone_number", "order_number", "flight_number", "zip", "user_id", "address", "餐馆.电话", "kind", "", "update", "candidate",
        "sometime",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("reading", "kind"), [(reading, kind) for reading, kinds in READINGS.items() for kind in kinds]
)
def test_reading(reading: str | None, kind: str) -> None:
    """A kind is read by what follows its last dot; identifiers and kinds that nobody listed are plain text."""
    assert reading_of(kind) == reading


def forms(kind: str, value: str) -> set[tuple[str, str]]:
    fact = Fact("f", kind, value, (), 0, None, None, (), negative=False, question=None)
    return {(view, text) for _, view, text in forms_of([fact])}


def test_forms() -> None:
    """A value is looked for as text, and as what its kind says in the view of that."""
    assert forms("name", "《红 楼、梦》") == {("text", "红楼 梦"), ("text", "红楼梦")}
    assert forms("order", "#W23") == forms("order", "# W23") == {("text", "w23")}
    assert forms("key", "#") == {("text", "#")}
    assert forms("amount", "$1,000.00") == {("text", "$1000"), ("number", "1000 usd")}
    assert forms("date", "2024-03-05") == {("text", "2024-03-05"), ("date", "y2024 d0305"), ("date", "y0000 d0305")}
    assert forms("date", "March 5") == {("text", "march 5"), ("date", "d0305")}
    assert forms("dob", "1968-01-06") == {("text", "1968-01-06"), ("date", "y1968 d0106")}
    assert forms("time", "3 pm") == {("text", "3 pm"), ("time", "t1500")}
    assert forms("time", "\u200b") == set()
