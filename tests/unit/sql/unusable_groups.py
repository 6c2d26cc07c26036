"""Unusable queries with groups, by what is wrong with them."""

from __future__ import annotations

_HOUR = "TUMBLE(d.at, INTERVAL 1 HOUR) AS b"
_SESSION = "SESSION(d.at, INTERVAL 1 HOUR) AS b"
_HOP = "HOP(d.at, INTERVAL 1 MINUTE, INTERVAL"


def _grouped(outputs: str, by: str = "b", source: str = "departures d") -> str:
    return f"SELECT {outputs} FROM {source} GROUP BY {by}"


def _qualified(condition: str) -> str:
    return _grouped(f"{_HOUR}, d.origin, COUNT(*) AS n", f"b, d.origin QUALIFY {condition}")


_RUNNING = _grouped("d.origin, COUNT(*) AS n", "d.origin")
UNUSABLE_GROUPS: dict[str, str] = {
    "running groups whose key is no output": _grouped("COUNT(*) AS n", "d.origin"),
    "running groups with a key inside an output": _grouped("UPPER(d.origin) AS o, COUNT(*) AS n", "d.origin"),
    "running groups with an output of a name that is taken": _grouped(
        "d.origin, COUNT(*) AS _Deleted", "d.origin"
    ),
    "running groups with limit": _grouped("d.origin, COUNT(*) AS n", "d.origin ORDER BY n DESC LIMIT 3"),
    "running groups with order": _grouped("d.origin, COUNT(*) AS n", "d.origin ORDER BY n DESC"),
    "running groups with qualify": _grouped(
        "d.origin, COUNT(*) AS n",
        "d.origin QUALIFY ROW_NUMBER() OVER (PARTITION BY d.origin ORDER BY n) <= 3",
    ),
    "running groups read by a query": f"SELECT g.n FROM ({_RUNNING}) g",
    "running groups in with": f"WITH g AS ({_RUNNING}) SELECT MAX(g.n) FROM g",
    "running groups in IN": (
        "SELECT w.at FROM weather [RANGE 1 HOUR] w WHERE w.origin IN "
        "(SELECT d.origin FROM departures [RANGE 1 HOUR] d GROUP BY d.origin)"
    ),
    "distinct that is read": "SELECT g.origin FROM (SELECT DISTINCT d.origin FROM departures d) g",
    "running aggregate in union all": (
        "SELECT COUNT(*) AS n FROM departures d UNION ALL SELECT w.wind FROM weather w"
    ),
    "having of nothing": "SELECT 1 AS x FROM departures d HAVING TRUE",
    "column outside the keys": _grouped(f"{_HOUR}, d.origin, COUNT(*)"),
    "column outside the keys in having": _grouped(f"{_HOUR}, COUNT(*)", "b HAVING d.delay > 3"),
    "star of groups": _grouped("*", "TUMBLE(d.at, INTERVAL 1 HOUR)"),
    "aggregate in where": _grouped(_HOUR, source="departures d WHERE COUNT(*) > 3"),
    "aggregate of an aggregate": _grouped(f"{_HOUR}, SUM(COUNT(*))"),
    "aggregate as a key": _grouped("COUNT(*) AS n", "n"),
    "sum of text": _grouped(f"{_HOUR}, SUM(d.flight)"),
    "bool_and of a number": _grouped(f"{_HOUR}, BOOL_AND(d.delay)"),
    "arg_max of one": _grouped(f"{_HOUR}, ARG_MAX(d.flight)"),
    "unknown aggregate": _grouped(f"{_HOUR}, ENTROPY(d.delay)"),
    "aggregate of another dialect": _grouped(f"{_HOUR}, APPROX_COUNT_DISTINCT(d.delay)"),
    "misspelt aggregate": _grouped(f"{_HOUR}, STDEV(d.delay)"),
    "filter of a number": _grouped(f"{_HOUR}, COUNT(*) FILTER (WHERE d.delay)"),
    "filter behind a function": _grouped(f"{_HOUR}, ABS(d.delay) FILTER (WHERE TRUE)"),
    "bucket of a number": _grouped("TUMBLE(d.delay, INTERVAL 1 HOUR) AS b, COUNT(*)"),
    "bucket without a size": _grouped("TUMBLE(d.at) AS b, COUNT(*)"),
    "bucket of seconds as a number": _grouped("TUMBLE(d.at, 60) AS b, COUNT(*)"),
    "bucket of no length": _grouped("TUMBLE(d.at, INTERVAL 0 SECONDS) AS b, COUNT(*)"),
    "hop of odd sizes": _grouped("HOP(d.at, INTERVAL 7 HOURS, INTERVAL 10 HOURS) AS b, COUNT(*)"),
    "hop of nothing": _grouped("HOP(d.at, INTERVAL 0 HOURS, INTERVAL 10 HOURS) AS b, COUNT(*)"),
    "limit beside two buckets": _grouped(
        f"{_HOUR}, DATE_TRUNC('day', d.at) AS morning, COUNT(*) AS n", "b, morning ORDER BY n LIMIT 1"
    ),
    "hop of another column": (
        "SELECT TUMBLE(d.at, INTERVAL 1 HOUR) AS b, COUNT(*) FROM departures d "
        "GROUP BY b, HOP(CAST(d.flight AS TIMESTAMP), INTERVAL 1 HOUR, INTERVAL 2 HOURS)"
    ),
    "hop inside a key": _grouped(
        "HOP(d.at, INTERVAL 1 HOUR, INTERVAL 2 HOURS) + INTERVAL 1 HOUR AS b, COUNT(*)"
    ),
    "two hops": _grouped(f"{_HOP} 5 MINUTES) AS b, {_HOP} 9 MINUTES) AS c, COUNT(*)", "b, c"),
    "session without a gap": _grouped("SESSION(d.at) AS b, COUNT(*)"),
    "session of no gap": _grouped("SESSION(d.at, INTERVAL 0 SECONDS) AS b, COUNT(*)"),
    "session of a negative gap": _grouped("SESSION(d.at, INTERVAL -5 MINUTES) AS b, COUNT(*)"),
    "session of a gap as a number": _grouped("SESSION(d.at, 300) AS b, COUNT(*)"),
    "session of a gap in a column": _grouped("SESSION(d.at, d.delay * INTERVAL 1 MINUTE) AS b, COUNT(*)"),
    "session of another column": _grouped(
        "SESSION(CAST(d.flight AS TIMESTAMP), INTERVAL 1 HOUR) AS b, COUNT(*)"
    ),
    "session of a bucket": _grouped("SESSION(DATE_TRUNC('hour', d.at), INTERVAL 1 HOUR) AS b, COUNT(*)"),
    "session inside a key": _grouped("SESSION(d.at, INTERVAL 1 HOUR) + INTERVAL 1 HOUR AS b, COUNT(*)"),
    "two sessions": _grouped(f"{_SESSION}, SESSION(d.at, INTERVAL 2 HOURS) AS c, COUNT(*)", "b, c"),
    "session beside a bucket": _grouped(f"{_SESSION}, TUMBLE(d.at, INTERVAL 1 HOUR) AS c, COUNT(*)", "b, c"),
    "session with limit": _grouped(f"{_SESSION}, d.origin, COUNT(*) AS n", "b, d.origin ORDER BY n LIMIT 3"),
    "session with qualify": _grouped(
        f"{_SESSION}, d.origin, COUNT(*) AS n",
        "b, d.origin QUALIFY ROW_NUMBER() OVER (PARTITION BY b ORDER BY n) <= 3",
    ),
    "session in union all": _grouped(_SESSION) + " UNION ALL SELECT d.at FROM departures d",
    "session read by a query": f"SELECT s.b FROM ({_grouped(_SESSION)}) s",
    "session in where": _grouped(
        f"{_SESSION}, COUNT(*)", source="departures d WHERE SESSION(d.at, INTERVAL 1 HOUR) < d.at"
    ),
    "session without groups": "SELECT SESSION(d.at, INTERVAL 1 HOUR) AS b FROM departures d",
    "session in an aggregate": _grouped(f"{_SESSION}, MAX(SESSION(d.at, INTERVAL 1 HOUR))"),
    "session that never ends": _grouped(
        f"{_SESSION}, COUNT(*)", source="departures d, weather w WHERE d.origin = w.origin"
    ),
    "result time of something": _grouped("TUMBLE(RESULT_TIME(d.at), INTERVAL 1 HOUR) AS b, COUNT(*)"),
    "bucket that never ends": _grouped(
        f"{_HOUR}, COUNT(*)", source="departures d, weather w WHERE d.origin = w.origin"
    ),
    "bucket of an optional stream": _grouped(
        "TUMBLE(w.at, INTERVAL 1 HOUR) AS b, COUNT(*)",
        source="departures [RANGE 1 HOUR] d LEFT JOIN weather [RANGE 1 HOUR] w ON d.origin = w.origin",
    ),
    "key beyond the outputs": _grouped(f"{_HOUR}, COUNT(*)", "3"),
    "unknown key": _grouped(f"{_HOUR}, COUNT(*)", "b, carier"),
    "rollup": _grouped(f"{_HOUR}, d.origin, COUNT(*)", "ROLLUP(b, d.origin)"),
    "grouping sets": _grouped(f"{_HOUR}, d.origin, COUNT(*)", "GROUPING SETS ((b), (d.origin))"),
    "distinct of groups": "SELECT DISTINCT" + _grouped(f"{_HOUR}, COUNT(*)")[6:],
    "distinct on": f"SELECT DISTINCT ON (d.origin) {_HOUR}, d.origin FROM departures d",
    "order of groups": _grouped(f"{_HOUR}, COUNT(*) AS n", "b ORDER BY n DESC"),
    "limit of groups": _grouped(f"{_HOUR}, COUNT(*) AS n", "b LIMIT 3"),
    "limit of nothing": _grouped(f"{_HOUR}, COUNT(*) AS n", "b ORDER BY n LIMIT 0"),
    "order outside the keys": _grouped(f"{_HOUR}, COUNT(*) AS n", "b ORDER BY d.delay LIMIT 3"),
    "offset of groups": _grouped(f"{_HOUR}, COUNT(*) AS n", "b ORDER BY n LIMIT 3 OFFSET 2"),
    "text by a column": _grouped(f"{_HOUR}, STRING_AGG(d.flight, d.origin)"),
    "text of numbers": _grouped(f"{_HOUR}, STRING_AGG(d.seats, ',')"),
    "text of what is distinct by something else": _grouped(
        f"{_HOUR}, STRING_AGG(DISTINCT d.flight, ',' ORDER BY d.at)"
    ),
    "sum in order": _grouped(f"{_HOUR}, SUM(d.delay ORDER BY d.at)"),
    "quantile beyond all": _grouped(f"{_HOUR}, QUANTILE_CONT(d.delay, 1.5)"),
    "quantile of a column": _grouped(f"{_HOUR}, QUANTILE_CONT(d.delay, d.delay)"),
    "quantile without a fraction": _grouped(f"{_HOUR}, QUANTILE_DISC(d.delay)"),
    "quantile from the end": _grouped(f"{_HOUR}, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY d.flight DESC)"),
    "first of no order": _grouped(f"{_HOUR}, FIRST(d.flight)"),
    "last of what is distinct": _grouped(f"{_HOUR}, LAST(DISTINCT d.flight ORDER BY d.at)"),
    "distinct rows": _grouped(f"{_HOUR}, COUNT(DISTINCT *)"),
    "list of values": _grouped(f"{_HOUR}, ARRAY_AGG(d.flight ORDER BY d.at)"),
    "bits of doubles": _grouped(f"{_HOUR}, BIT_AND(d.delay)"),
    "qualify by rank": _qualified("RANK() OVER (PARTITION BY b ORDER BY n) <= 2"),
    "qualify by something else too": _qualified(
        "ROW_NUMBER() OVER (PARTITION BY b ORDER BY n) <= 2 AND n > 1"
    ),
    "qualify without order": _qualified("ROW_NUMBER() OVER (PARTITION BY b) <= 2"),
    "qualify of all buckets": _qualified("ROW_NUMBER() OVER (ORDER BY n) <= 2"),
    "qualify by no key": _qualified("ROW_NUMBER() OVER (PARTITION BY b, d.delay ORDER BY n) <= 2"),
    "qualify of the others": _qualified("ROW_NUMBER() OVER (PARTITION BY b ORDER BY n) > 2"),
    "qualify beside limit": _qualified(
        "ROW_NUMBER() OVER (PARTITION BY b ORDER BY n) <= 2 ORDER BY n LIMIT 3"
    ),
    "qualify of what is distinct": (
        f"SELECT DISTINCT {_HOUR}, d.origin FROM departures d "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY b ORDER BY d.origin) <= 2"
    ),
    "qualify without groups": (
        "SELECT d.at FROM departures d QUALIFY ROW_NUMBER() OVER (PARTITION BY d.origin ORDER BY d.at) <= 2"
    ),
}
