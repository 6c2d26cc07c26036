"""Unusable queries with tables, by what is wrong with them."""

from __future__ import annotations

_KEY = "ON p.flight = d.flight AND p.number = d.number"


def _joined(rest: str) -> str:
    return f"SELECT d.at, p.seats FROM departures d {rest}"


UNUSABLE_TABLES: dict[str, str] = {
    "table alone": "SELECT seats FROM planes",
    "table first": "SELECT d.at FROM planes p JOIN departures d ON p.flight = d.flight",
    "table in an inner join": _joined(f"JOIN planes p {_KEY}"),
    "table in a left join": _joined(f"LEFT JOIN planes p {_KEY}"),
    "table behind a comma": "SELECT d.at FROM departures d, planes WHERE planes.flight = d.flight",
    "table in EXISTS": (
        "SELECT d.at FROM departures d WHERE EXISTS (SELECT 1 FROM planes p WHERE p.flight = d.flight)"
    ),
    "table in a subquery": _joined(f"ASOF JOIN (SELECT * FROM planes) p {_KEY} AND d.at >= p.at"),
    "table below an as-of join": _joined(
        "ASOF JOIN (weather [RANGE 1 HOUR] w JOIN planes p ON w.origin = p.flight) ON d.at >= p.at"
    ),
    "version without a part of the key": _joined(
        "JOIN planes FOR SYSTEM_TIME AS OF d.at AS p ON p.flight = d.flight"
    ),
    "version by a part of the key that may be several": _joined(
        "JOIN planes FOR SYSTEM_TIME AS OF d.at AS p ON p.flight = d.flight AND p.number = d.delay"
    ),
    "version without a key": _joined("ASOF LEFT JOIN planes p ON d.at >= p.at AND p.seats = d.seats"),
    "version without a time": _joined(f"ASOF JOIN planes p {_KEY}"),
    "version of two times": _joined(f"ASOF JOIN planes p {_KEY} AND d.at >= p.at AND p.at < d.at"),
    "version as of no event time": _joined(f"JOIN planes FOR SYSTEM_TIME AS OF d.day AS p {_KEY}"),
    "version in a window": _joined(f"JOIN planes [RANGE 1 HOUR] FOR SYSTEM_TIME AS OF d.at AS p {_KEY}"),
    "stream joined by what a version says": _joined(
        f"JOIN planes FOR SYSTEM_TIME AS OF d.at AS p {_KEY} "
        "JOIN weather [RANGE 1 HOUR] FOR SYSTEM_TIME AS OF d.at AS w ON w.origin = p.flight"
    ),
}
