"""Timestamps and dates, in UTC."""

from __future__ import annotations

import re
from datetime import time

from optimizer.algebra.functions.declaration import END_OF_DAY, Function, declared

_PARTS = (
    ("YEAR", "The year", ()),
    ("QUARTER", "The quarter, from 1 to 4", ()),
    ("MONTH", "The month, from 1 to 12", ()),
    ("WEEK", "The week of ISO 8601, from 1 to 53", ("weekofyear",)),
    ("DAY", "The day of the month, from 1", ("dayofmonth",)),
    ("DAYOFYEAR", "The day of the year, from 1", ()),
    ("HOUR", "The hour, from 0 to 23", ()),
    ("MINUTE", "The minute, from 0 to 59", ()),
    ("SECOND", "The second, from 0 to 59", ()),
    ("MILLISECOND", "The milliseconds of the minute", ()),
    ("MICROSECOND", "The microseconds of the minute", ()),
    ("ISODOW", "The day of the week, from 1 for Monday to 7 for Sunday", ()),
    ("ISOYEAR", "The year of the week of ISO 8601", ()),
    ("YEARWEEK", "The year and the week of ISO 8601 as one number, such as 201305", ()),
    ("DECADE", "The year divided by ten", ()),
    ("CENTURY", "The century", ()),
    ("MILLENNIUM", "The millennium", ()),
    ("ERA", "1, or 0 before Christ", ()),
)

_OF_DAY = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
"""Parts that times have, too."""


def _part(sql: str, help: str, aliases: tuple[str, ...], name: str = "") -> Function:
    example = f"{sql}(TIMESTAMP '2013-01-31 14:30:05.25')"
    kind = "clock" if sql in _OF_DAY else "moment"
    return declared(f"{sql}(at {kind}) -> bigint", f"{help}.", example, name=name, aliases=aliases)


FUNCTIONS = (
    *(_part(*part) for part in _PARTS),
    _part("DAYOFWEEK", "The day of the week, from 0 for Sunday to 6", ("weekday",), "day_of_week"),
    declared("JULIAN(at moment) -> double", "The Julian day.", "JULIAN(DATE '2013-01-31')"),
    declared(
        "EPOCH(at time) -> double",
        "Seconds since 1970, or of an interval or a time.",
        "EPOCH(TIMESTAMP '2013-01-31 14:30:05.25')",
    ),
    *(
        declared(
            f"EPOCH_{unit}(at clock) -> bigint",
            f"{words} since 1970, or of a time.",
            f"EPOCH_{unit}(DATE '2013-01-31')",
        )
        for unit, words in (("MS", "Milliseconds"), ("US", "Microseconds"), ("NS", "Nanoseconds"))
    ),
    declared("DAYNAME(at moment) -> string", "The day of the week in English.", "DAYNAME(DATE '2013-01-31')"),
    declared("MONTHNAME(at moment) -> string", "The month in English.", "MONTHNAME(DATE '2013-01-31')"),
    declared("LAST_DAY(at moment) -> date", "The last day of the month.", "LAST_DAY(DATE '2013-02-03')"),
    declared(
        "DATE_PART(part unit, at moment) -> bigint",
        "A part of a timestamp, as EXTRACT(part FROM at) gives it.",
        "DATE_PART('hour', TIMESTAMP '2013-01-31 14:30:05')",
        rule="written",
        aliases=("datepart",),
    ),
    declared(
        "EXTRACT(part unit) -> bigint",
        "A part of a timestamp.",
        "EXTRACT(hour FROM TIMESTAMP '2013-01-31 14:30:05')",
        rule="written",
        shown="EXTRACT(part FROM at)",
    ),
    declared(
        "DATE_TRUNC(part truncation, at timestamp) -> timestamp",
        "The beginning of the year, hour, ... that a timestamp is in.",
        "DATE_TRUNC('hour', TIMESTAMP '2013-01-31 14:30:05')",
        aliases=("datetrunc",),
    ),
    declared(
        "TIME_BUCKET(width width, at moment) -> at",
        "The beginning of the stretch of some width, counted from Monday, 3 January 2000.",
        "TIME_BUCKET(INTERVAL 5 MINUTES, TIMESTAMP '2013-01-31 14:33:05')",
    ),
    declared(
        "TUMBLE(at moment, size width) -> at",
        "The beginning of the bucket that a timestamp is in, as TIME_BUCKET(size, at).",
        "TUMBLE(TIMESTAMP '2013-01-31 14:33:05', INTERVAL 5 MINUTES)",
        rule="written",
    ),
    declared(
        "HOP(at moment, slide width, size width) -> at",
        "The beginning of the last bucket that a timestamp is in; as a key of GROUP BY, of each of them.",
        "HOP(TIMESTAMP '2013-01-31 14:33:05', INTERVAL 1 MINUTE, INTERVAL 5 MINUTES)",
        duckdb="TIME_BUCKET({1}, {0})",
    ),
    declared(
        "SESSION(at moment, gap width) -> at",
        "As a key of GROUP BY, the beginning of the session that a timestamp is in, of no larger gap.",
        "SESSION(TIMESTAMP '2013-01-31 14:33:05', INTERVAL 5 MINUTES)",
        duckdb="{0}",
    ),
    declared(
        "DATE_DIFF(part unit, start moment, end moment) -> bigint",
        "How many boundaries of days, hours, ... lie between two timestamps.",
        "DATE_DIFF('hour', TIMESTAMP '2013-01-31 14:59:00', TIMESTAMP '2013-01-31 15:01:00')",
        aliases=("datediff",),
    ),
    declared(
        "DATE_SUB(part unit, start moment, end moment) -> bigint",
        "How many whole days, hours, ... lie between two timestamps.",
        "DATE_SUB('hour', TIMESTAMP '2013-01-31 14:59:00', TIMESTAMP '2013-01-31 15:01:00')",
        aliases=("datesub",),
    ),
    declared(
        "DATE_ADD(at moment, interval width) -> timestamp",
        "A timestamp an interval later, as at + interval.",
        "DATE_ADD(TIMESTAMP '2013-01-31 14:30:00', INTERVAL 90 MINUTES)",
        rule="written",
    ),
    declared(
        "MAKE_DATE(year integer, month integer, day integer) -> date",
        "The date of a year, a month and a day.",
        "MAKE_DATE(2013, 1, 31)",
    ),
    declared(
        "MAKE_TIME(hour integer, minute integer, second number) -> time",
        "The time of an hour, a minute and seconds.",
        "MAKE_TIME(14, 30, 5.25)",
        duckdb=f"nullif(TRY(make_time({{args}})), {END_OF_DAY})",
    ),
    declared(
        "MAKE_TIMESTAMP(year integer, month integer, day integer, hour integer, minute integer, "
        "second number) -> timestamp",
        "The timestamp of its parts.",
        "MAKE_TIMESTAMP(2013, 1, 31, 14, 30, 5.25)",
    ),
    declared(
        "MAKE_TIMESTAMP_MS(milliseconds integer) -> timestamp",
        "The timestamp of milliseconds since 1970.",
        "MAKE_TIMESTAMP_MS(1359642605250)",
    ),
    declared(
        "TO_TIMESTAMP(seconds number) -> timestamp",
        "The timestamp of seconds since 1970.",
        "TO_TIMESTAMP(1359642605.25)",
        duckdb="CAST(to_timestamp({0}) AS TIMESTAMP)",
    ),
    declared(
        "STRFTIME(at moment, format format) -> string",
        "A timestamp as text.",
        "STRFTIME(TIMESTAMP '2013-01-31 14:30:05', '%d.%m.%Y %H:%M')",
    ),
    declared(
        "STRPTIME(text string, format format) -> timestamp",
        "The timestamp that a text says.",
        "STRPTIME('31.01.2013 14:30', '%d.%m.%Y %H:%M')",
        duckdb="CAST(strptime({0}, {1}) AS TIMESTAMP)",
    ),
    declared(
        "TRY_STRPTIME(text string, format format) -> timestamp",
        "As STRPTIME; NULL also for a constant that says none.",
        "TRY_STRPTIME('31 January', '%d.%m.%Y')",
        duckdb="CAST(try_strptime({0}, {1}) AS TIMESTAMP)",
    ),
)
_TIME = re.compile(r"\s*\d\d:\d\d(:\d\d(\.\d{1,9})?)?\s*", re.ASCII)


def time_text(text: str) -> str:
    """The canonical text of a time of day; what is behind its microseconds is cut.

    >>> time_text("09:05"), time_text("23:59:59.9999999")
    ('09:05:00', '23:59:59.999999')

    Raises `ValueError` for a text that is none.
    """
    # Python would also read 10, 1000 and what has a zone.
    if _TIME.fullmatch(text) is None:
        raise ValueError(f"{text!r:.80} is no time")
    return time.fromisoformat(text.strip()).isoformat()
