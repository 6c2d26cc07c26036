"""Unusable queries with as-of joins, by what is wrong with them."""

from __future__ import annotations

_ON = "ON d.origin = w.origin AND d.at >= w.at"
_HOUR = "weather [RANGE 1 HOUR] w"


def _joined(rest: str, outputs: str = "d.at, w.wind") -> str:
    return f"SELECT {outputs} FROM departures d {rest}"


UNUSABLE_AS_OF: dict[str, str] = {
    "as-of join without a window": _joined(f"ASOF JOIN weather w {_ON}"),
    "as-of join without an inequality": _joined(f"ASOF JOIN {_HOUR} ON d.origin = w.origin"),
    "as-of join with two inequalities": _joined(f"ASOF JOIN {_HOUR} {_ON} AND d.delay > w.wind"),
    "as-of join with a band": _joined(
        f"ASOF LEFT JOIN {_HOUR} ON d.at BETWEEN w.at AND w.at + INTERVAL 1 HOUR"
    ),
    "as-of join by other columns": _joined(f"ASOF JOIN {_HOUR} ON d.origin = w.origin AND d.delay >= w.wind"),
    "as-of join by a shifted time": _joined(f"ASOF JOIN {_HOUR} ON d.at - INTERVAL 1 HOUR >= w.at"),
    "as-of join with what comes later": _joined(f"ASOF JOIN {_HOUR} ON d.at <= w.at"),
    "as-of join without a condition": _joined(f"ASOF JOIN {_HOUR}"),
    "as-of join of several streams": _joined(
        f"ASOF JOIN ({_HOUR} JOIN weather v ON v.origin = w.origin) ON d.at >= w.at"
    ),
    "as-of right join": _joined(f"ASOF RIGHT JOIN {_HOUR} {_ON}"),
    "as-of join on what another one finds": _joined(
        f"ASOF JOIN {_HOUR} {_ON} ASOF JOIN weather [RANGE 1 HOUR] v ON v.wind = w.wind AND d.at >= v.at"
    ),
    "left join on what an as-of join finds": _joined(
        f"ASOF JOIN {_HOUR} {_ON} LEFT JOIN weather [RANGE 1 HOUR] v ON v.wind = w.wind AND v.at = d.at"
    ),
    "inner join on what an as-of join finds": _joined(
        f"ASOF JOIN {_HOUR} {_ON} JOIN weather [RANGE 1 HOUR] v ON v.wind = w.wind"
    ),
    "as-of join below a left join": (
        "SELECT c.seats FROM Clicks c [RANGE 1 HOUR] LEFT JOIN (departures [RANGE 1 HOUR] d "
        f"ASOF JOIN {_HOUR} {_ON}) ON c.seats = d.seats"
    ),
    "bucket of what an as-of join finds": _joined(
        f"ASOF JOIN {_HOUR} {_ON} GROUP BY b ORDER BY n LIMIT 1",
        "TUMBLE(w.at, INTERVAL 1 HOUR) AS b, COUNT(*) AS n",
    ),
    "version of a first stream": "SELECT d.at FROM departures FOR SYSTEM_TIME AS OF d.at AS d",
    "version of a full join": _joined(
        "FULL JOIN weather [RANGE 1 HOUR] FOR SYSTEM_TIME AS OF d.at AS w ON d.origin = w.origin"
    ),
    "version of nothing": _joined("JOIN weather FOR SYSTEM_TIME AS OF AS w ON d.origin = w.origin"),
    "version of another time": _joined(
        "JOIN weather [RANGE 1 HOUR] FOR SYSTEM_TIME AS OF d.day AS w ON d.origin = w.origin"
    ),
}
