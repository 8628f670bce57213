"""Dates and times of day, in one form however they are written."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.language.dates import days, times
from ctxmode_cli.language.fold import fold_together
from ctxmode_cli.language.numbers import numerals
from ctxmode_cli.language.rewriting import rewrite

DAYS = {
    "3月5日": "y0000 d0305", "三月五号": "y0000 d0305", "2024年3月5日": "y2024 d0305", "二〇二四年十二月二十一日": "y2024 d1221",
    "2024-03-05": "y2024 d0305", "2024/3/5": "y2024 d0305", "2024.3.5": "y2024 d0305", "03-05": "y0000 d0305", "3/5": "y0000 d0305",
    "13/5": "y0000 d0513", "3/5/2024": "y2024 d0305", "March 5": "y0000 d0305", "march 5th, 2024": "y2024 d0305",
    "the 5th of March": "y0000 d0305", "5 March 2024": "y2024 d0305", "Mar. 5": "y0000 d0305", "March fifth": "y0000 d0305",
    "twenty-first of March": "y0000 d0321", "may 5 people come": "y0000 d0505 people come",
    "3-5": "3-5", "13月5日": "13月5日", "2月30日": "2月30日", "010-03-05": "010-03-05", "5/2024": "5/2024", "March 52": "march 52",
    "2024-13-45": "2024-13-45", "1/2/3": "1/2/3", "13-45": "13-45",
}  # fmt: skip
TIMES = {
    "下午3点": "t1500", "15:00": "t1500", "3pm": "t1500", "3 p.m.": "t1500", "3:00 PM": "t1500", "下午三点半": "t1530", "15时30分": "t1530",
    "三点一刻": "t0315", "晚上8点": "t2000", "晚上12点": "t0000", "晚上2点": "t0200", "中午12点": "t1200", "中午1点": "t1300", "中午11点": "t1100",
    "凌晨12点": "t0000", "上午9点": "t0900", "12 am": "t0000", "12:30 pm": "t1230", "half past 3 in the afternoon": "t1530",
    "quarter to 10 in the morning": "t0945", "quarter to 12 am": "t2345", "evening 5": "t1700", "10 o'clock in the morning": "t1000",
    "noon": "t1200", "midnight": "t0000", "9:40": "t0940", "8:00-18:00": "t0800-t1800", "12:30:15": "t1230",
    "25:00": "25:00", "有一点贵": "有一点贵", "3 时候": "3时候", "115:00": "115:00", "9:405": "9:405", "13 pm": "t1300",
}  # fmt: skip


@pytest.mark.parametrize(("text", "read"), DAYS.items())
def test_day(text: str, read: str) -> None:
    """A day of the calendar has one form; what is none, or a part of a longer number, stays as it is."""
    assert rewrite(fold_together([text]), numerals() + days())[1:-1] == read


@pytest.mark.parametrize(("text", "read"), TIMES.items())
def test_time(text: str, read: str) -> None:
    """A time of day has one form on the clock of 24 hours; what is none stays as it is."""
    assert rewrite(fold_together([text]), numerals() + times())[1:-1] == read


@given(st.integers(0, 365), st.integers(1000, 2999))
def test_every_day_of_a_year_is_read(offset: int, year: int) -> None:
    """Each day is read from Chinese, English and digits alike."""
    day = date(2024, 1, 1) + timedelta(offset)
    month, number = day.month, day.day
    written = (
        f"{year}年{month}月{number}日",
        f"{year}-{month:02}-{number:02}",
        f"{year}/{month}/{number}",
        f"{day:%B} {number}, {year}",
        f"{number} {day:%b} {year}",
    )
    for text in written:
        assert rewrite(fold_together([text]), days())[1:-1] == f"y{year} d{month:02}{number:02}"
