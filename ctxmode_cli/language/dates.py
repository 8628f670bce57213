"""Dates and times of day, rewritten to one form: 3月5日, 03-05, 3/5, "March 5th" and "the 5th of March" are one day.

A day becomes `y2024 d0305`, and `y0000 d0305` where no year is named; a time becomes `t1500`. What is no day of the
calendar and no time of the clock stays as it is. Numbers are expected in digits.
"""

import re
from functools import cache

from ctxmode_cli.language.numbers import numbers_data
from ctxmode_cli.language.rewriting import Rewrite, anchors, word_anchors

ANY_YEAR = "y0000 "
_DAYS_IN_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_HOURS, _MINUTES, _NOON = 24, 60, 12
_NIGHTFALL, _FORENOON = 5, 11
"""The first hour that is called one of the night, and of noon, on a clock of twelve."""
_PAST = {"half past": 30, "半": 30, "quarter past": 15, "1刻": 15, "3刻": 45, "quarter to": -15}
"""Minutes."""
_TIME_ENDS = r"(?![.:/]?\d)"
_DATE_ENDS = r"(?![.:/-]?\d)"


@cache
def days() -> tuple[Rewrite, ...]:
    """Rewrites of written dates, in a folded text with boundaries around it.

    Two numbers with a slash are month and day, as in Chinese and American English; a first number over twelve is the
    day. Two numbers with a hyphen are a date only with two digits each: 3-5 is a range.
    """
    dates = numbers_data()["dates"]
    month = f"(?P<month>{'|'.join(dates['months'])})"
    ordinal = "|".join(dates["ordinals"])
    day = rf"(?:the )?(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?|(?P<ordinal>{ordinal}))(?![^\W_]|[.:/-]\d)"
    year = r"(?:[ \n](?P<year>[12]\d{3})(?![\d:/-]))?"
    months = "|".join(dates["months"])
    patterns = (
        r"\d{1,4}(?:(?<=\d{4})年\d{1,2})?月\d{1,2}[日号]?(?!\d)",
        rf"[12]\d{{3}}(?P<sep>[-/.])\d{{1,2}}(?P=sep)\d{{1,2}}{_DATE_ENDS}",
        rf"[ \n\0]{month}[ \n]{{1,2}}{day}{year}",
        rf"[ \n\0]{day} (?:of )?{month}(?![^\W_]){year}",
        rf"\d{{1,2}}/\d{{1,2}}(?:/[12]\d{{3}})?{_DATE_ENDS}",
        rf"\d\d-\d\d{_DATE_ENDS}",
    )
    chinese, iso, month_first, day_first, slashes, short = map(re.compile, patterns)
    year_first = anchors(*(rf"{sign}(?<=[12]\d{{3}}{sign})\d" for sign in ("-", "/", r"\.")))
    return (
        Rewrite(chinese, _from_digits, anchors(r"月(?<=\d月)\d"), before=len("2024年12"), beyond_ascii=True),
        Rewrite(iso, _from_digits, year_first, before=len("2024")),
        Rewrite(month_first, _from_english, word_anchors(months)),
        Rewrite(
            day_first,
            _from_english,
            anchors(f" (?:of )?(?:{months})"),
            before=len(" the ") + max(map(len, dates["ordinals"])),
        ),
        Rewrite(slashes, _from_digits, anchors(r"/(?<=\d/)\d"), before=len("12")),
        Rewrite(short, _from_digits, anchors(r"-(?<=\d\d-)\d\d"), before=len("12")),
    )


@cache
def times() -> tuple[Rewrite, ...]:
    """Rewrites of times of day, in a folded text with boundaries around it.

    An hour without a word for its half of the day is read as the clock of 24 hours has it: 3:00 is not 15:00.
    """
    parts = numbers_data()["times"]
    before = "|".join(sorted((word for words in parts.values() for word in words), key=len, reverse=True))
    english = "|".join(word for words in parts.values() for word in words if word.isascii())
    longest = max(len(word) for words in parts.values() for word in words)
    past = r"(?P<past>half past|quarter past|quarter to) "
    hour, minute = r"(?P<hour>\d{1,2})", r"(?::(?P<minute>\d\d))?"
    behind = rf"(?: o[' ]?clock)?(?: (?P<half>[ap])[ \n]?m| (?:in the|at) (?P<part>{english}))(?![^\W_])"
    chinese = r"(?:点钟?|时(?![间候段长]))(?:(?P<past>半|1刻|3刻)|(?P<minutes>\d{1,2})分?|整)?"
    clock = rf"{hour}(?:{chinese}|:(?P<minute>\d\d)(?::\d\d)?{_TIME_ENDS})"
    behind_hours = anchors(r" [ap](?=[ \n]?m)(?<=[\dk] .)", r" (?=in the|at )(?<=[\dk] )")
    signs = anchors(r":(?<=\d:)\d\d", r"点(?<=\d点)", r"时(?<=\d时)")
    rewrites = (
        (rf"[ \n\0](?:{past})?{hour}{minute}{behind}", behind_hours, len(" quarter past 12:30 o' clock")),
        (rf"[ \n\0](?P<part>{english}) (?:{past})?{hour}{minute}{_TIME_ENDS}(?![^\W_])", word_anchors(english), 0),
        (rf"(?P<part>{before}){clock}", signs, longest + len("12")),
        (clock, signs, len("12")),
        (r"[ \n\0](?P<word>noon|midnight)(?![^\W_])", word_anchors("noon|midnight"), 0),
    )
    return tuple(Rewrite(re.compile(pattern), _time, near, length) for pattern, near, length in rewrites)


def _from_english(match: re.Match[str]) -> str:
    dates = numbers_data()["dates"]
    month = next(n for n, name in enumerate(dates["months"], 1) if re.fullmatch(name, match["month"]))
    day = int(match["day"] or dates["ordinals"][match["ordinal"]])
    written = _day(match, match["year"], month, day)
    return written if written == match[0] else match[0][0] + written


def _from_digits(match: re.Match[str]) -> str:
    """A date in digits: the year stands first or last, where it is named at all."""
    if _continues_number(match):
        return match[0]
    numbers = re.findall(r"\d+", match[0])
    year = next((number for number in numbers if len(number) == len("2024")), None)
    month, day = (int(number) for number in numbers if number is not year)
    if month > len(_DAYS_IN_MONTH) and "月" not in match[0]:
        month, day = day, month
    return _day(match, year, month, day)


def _continues_number(match: re.Match[str]) -> bool:
    """Whether digits, or digits and a mark that binds them, stand right before what was found."""
    before = match.string[max(0, match.start() - 2) : match.start()]
    return before[-1:].isdigit() or (before[-1:] in {".", ":", "/", "-"} and before[:1].isdigit())


def _day(match: re.Match[str], year: str | None, month: int, day: int) -> str:
    if not (1 <= month <= len(_DAYS_IN_MONTH) and 1 <= day <= _DAYS_IN_MONTH[month - 1]):
        return match[0]
    return f"{f'y{year} ' if year else ANY_YEAR}d{month:02}{day:02}"


def _time(match: re.Match[str]) -> str:
    found = match.groupdict()
    lead = match[0][0] if match[0][0] in " \n\0" else ""
    if word := found.get("word"):
        return f"{lead}t{'1200' if word == 'noon' else '0000'}"
    if match[0][0].isdigit() and match.string[match.start() - 1] != "-" and _continues_number(match):
        return match[0]
    hour = _on_24_hours(int(found["hour"]), found.get("half"), found.get("part"))
    minute = int(found.get("minute") or found.get("minutes") or 0) + _PAST.get(found.get("past") or "", 0)
    if minute < 0:
        hour, minute = (hour - 1) % _HOURS, minute + _MINUTES
    return f"{lead}t{hour:02}{minute:02}" if hour < _HOURS and minute < _MINUTES else match[0]


def _on_24_hours(hour: int, half: str | None, part: str | None) -> int:
    """The hour of the day, by a.m. or p.m. or the word for a part of the day; without either as it is written."""
    parts = numbers_data()["times"]
    if part in parts["night"]:  # from the evening to the small hours
        return (hour + _NOON) % _HOURS if _NIGHTFALL <= hour <= _NOON else hour
    if half == "p" or part in parts["afternoon"] or (part in parts["noon"] and hour < _FORENOON):
        return hour + _NOON if hour < _NOON else hour
    if half == "a" or part in parts["morning"]:
        return hour % _NOON if hour == _NOON else hour
    return hour
