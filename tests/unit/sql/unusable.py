"""Texts that are no query, by what is wrong with them."""

from tests.unit.sql.unusable_as_of import UNUSABLE_AS_OF
from tests.unit.sql.unusable_groups import UNUSABLE_GROUPS
from tests.unit.sql.unusable_tables import UNUSABLE_TABLES

UNUSABLE: dict[str, str] = {
    # No query at all
    "empty": "",
    "only a comment": "-- nothing",
    "only semicolons": " ;; ",
    "another statement": "DROP TABLE departures",
    "insert": "INSERT INTO departures VALUES (1)",
    "two statements": "SELECT d.at FROM departures d; SELECT 2",
    "with the name of a stream": "WITH weather AS (SELECT at FROM departures) SELECT at FROM weather",
    "with columns": "WITH x(y) AS (SELECT at FROM departures) SELECT y FROM x",
    "with without a query": "WITH x AS SELECT at FROM departures SELECT at FROM x",
    "with a mistake inside": "WITH x AS (SELECT ad FROM departures) SELECT at FROM x",
    "with in a query of with": (
        "WITH x AS (WITH y AS (SELECT at FROM weather) SELECT at FROM y) SELECT at FROM x"
    ),
    "with itself": "WITH RECURSIVE x AS (SELECT at FROM weather UNION ALL SELECT at FROM x) SELECT at FROM x",
    "a column that results lack": (
        "WITH x AS (SELECT at, COUNT(*) AS flights FROM departures GROUP BY at) "
        "SELECT x.flight FROM x, weather w WHERE x.at = w.at"
    ),
    "results that are never final": (
        "WITH x AS (SELECT d.origin, w.wind FROM departures d LEFT JOIN weather w ON d.origin = w.origin) "
        "SELECT origin FROM x"
    ),
    "no end to the wait for results": (
        "WITH x AS (SELECT at, origin, COUNT(*) AS n FROM departures GROUP BY at, origin) "
        "SELECT w.at, x.n FROM weather w LEFT JOIN x ON x.origin = w.origin"
    ),
    "groups of results without a bucket and with limit": (
        "WITH x AS (SELECT at, origin, COUNT(*) AS n FROM departures GROUP BY at, origin) "
        "SELECT origin, MAX(n) FROM x GROUP BY origin ORDER BY 2 LIMIT 1"
    ),
    "results that nothing joins": (
        "WITH x AS (SELECT at, COUNT(*) AS n FROM departures GROUP BY at) SELECT x.n, w.at FROM x, weather w"
    ),
    "union all of other columns": "SELECT at FROM departures UNION ALL SELECT at, origin FROM weather",
    "union all of other types": "SELECT at FROM departures UNION ALL SELECT origin FROM weather",
    "union all with a mistake": "SELECT at FROM departures UNION ALL SELECT ad FROM weather",
    "union all of too many": " UNION ALL ".join(["SELECT at FROM departures"] * 33),
    "union all of too many streams": " UNION ALL ".join(
        ["SELECT d.at FROM departures d, weather w WHERE d.origin = w.origin"] * 17
    ),
    "union all in from with a mistake": (
        "SELECT x.at FROM (SELECT at FROM departures UNION ALL SELECT ad FROM weather) x"
    ),
    "union all in in": (
        "SELECT at FROM departures [RANGE 1 HOUR] WHERE origin IN "
        "(SELECT origin FROM weather UNION ALL SELECT dest FROM departures)"
    ),
    "union all in order": "SELECT at FROM departures UNION ALL SELECT at FROM weather ORDER BY at",
    "union all in brackets": "SELECT at FROM departures UNION ALL (SELECT at FROM weather)",
    "union all of groups without a bucket": (
        "SELECT origin FROM departures UNION ALL SELECT w.origin FROM weather w GROUP BY w.origin"
    ),
    "except": "SELECT at FROM departures EXCEPT SELECT at FROM weather",
    "union": "SELECT at FROM departures UNION SELECT at FROM weather",
    "from first": "FROM departures",
    "no from": "SELECT 1",
    # Syntax
    "no columns": "SELECT FROM departures",
    "nothing behind where": "SELECT at FROM departures WHERE",
    "half a comparison": "SELECT at FROM departures WHERE delay >",
    "two operators": "SELECT at FROM departures WHERE delay > * 5",
    "unclosed parenthesis": "SELECT at FROM departures WHERE (delay > 5",
    "closing parenthesis": "SELECT at FROM departures WHERE delay > 5)",
    "unclosed text": "SELECT at FROM departures WHERE flight = 'UA1",
    "unclosed name": 'SELECT "at FROM departures',
    "unclosed comment": "SELECT at FROM departures /* where",
    "comma before where": "SELECT d.at FROM departures d, WHERE d.delay > 5",
    "misspelt keyword": "SELECT at FORM departures",
    "misspelt where": "SELECT d.at FROM departures d WHER d.delay > 5",
    "misspelt join": "SELECT d.at FROM departures d JION weather w ON d.origin = w.origin",
    "missing comma": "SELECT at flight delay FROM departures",
    "null byte": "SELECT at FROM departures\0",
    "half a character": "SELECT at FROM departures WHERE flight = '\ud800'",
    "deep parentheses": "SELECT at FROM departures WHERE " + "(" * 500 + "delay > 1" + ")" * 500,
    "deep sum": "SELECT at FROM departures WHERE delay > " + "+".join(["delay"] * 500),
    "deep not": "SELECT at FROM departures WHERE " + "NOT " * 3000 + "cancelled",
    "deep minus": "SELECT at FROM departures WHERE delay > " + "- " * 3000 + "1",
    # Names
    "unknown stream": "SELECT at FROM departure",
    "unknown alias": "SELECT e.at FROM departures d",
    "unknown column": "SELECT d.orign FROM departures d",
    "unknown column without alias": "SELECT winds FROM departures d, weather w WHERE d.origin = w.origin",
    "column of the other alias": "SELECT d.wind FROM departures d, weather w WHERE d.origin = w.origin",
    "ambiguous column": "SELECT at FROM departures d, weather w WHERE d.origin = w.origin",
    "duplicate alias": "SELECT d.at FROM departures d, weather d WHERE d.origin = d.origin",
    "self-join without aliases": "SELECT 1 FROM departures, departures",
    "duplicate output": "SELECT d.at AS x, d.delay AS X FROM departures d",
    "unknown function": "SELECT uper(d.flight) FROM departures d",
    "case of a quoted name": 'SELECT "AT" FROM departures',
    "schema": "SELECT at FROM main.departures",
    # Types
    "text beside a number": "SELECT at FROM departures WHERE delay > 'x'",
    "number beside text": "SELECT at FROM departures WHERE flight = 5",
    "bad timestamp": "SELECT at FROM departures WHERE at > 'yesterday'",
    "sum of texts": "SELECT flight + origin FROM departures",
    "number as condition": "SELECT at FROM departures WHERE delay",
    "text as condition": "SELECT at FROM departures WHERE delay > 5 AND flight",
    "upper of a number": "SELECT upper(delay) FROM departures",
    "arguments": "SELECT substring(flight) FROM departures",
    "sum of timestamps": "SELECT d.at + d.at FROM departures d",
    "interval beside a number": "SELECT d.at FROM departures d WHERE d.at - d.day < 5",
    "unknown type": "SELECT CAST(delay AS json) FROM departures",
    "boolean as a fraction": "SELECT CAST(delay > 1 AS DECIMAL(5, 5)) FROM departures",
    "interval column": "SELECT d.at - d.day AS age FROM departures d",
    "branches of a case": "SELECT CASE WHEN cancelled THEN 1 ELSE 'no' END FROM departures",
    "overflow": "SELECT 2000000000 * 2000000000 FROM departures",
    "huge number": "SELECT at FROM departures WHERE number < 99999999999999999999",
    "bad constant": "SELECT at FROM departures WHERE CAST('x' AS INT) = seats",
    # Windows
    "negative window": "SELECT at FROM departures('sliding', '-10', 'minutes')",
    "negative range": "SELECT at FROM departures [RANGE -10 MINUTES]",
    "unknown unit": "SELECT at FROM departures [RANGE 10 MINTES]",
    "month": "SELECT at FROM departures [RANGE 1 MONTH]",
    "window without number": "SELECT at FROM departures [RANGE MINUTES]",
    "window without unit": "SELECT at FROM departures [RANGE 10]",
    "window of words": "SELECT at FROM departures('sliding', 'ten', 'minutes')",
    "window of rows": "SELECT at FROM departures [ROWS 10]",
    "tumbling window": "SELECT at FROM departures('tumbling', '10', 'minutes')",
    "window with two arguments": "SELECT at FROM departures('sliding', '10')",
    "endless window": "SELECT at FROM departures [RANGE 1e30 DAYS]",
    "unclosed window": "SELECT at FROM departures [RANGE 10 MINUTES",
    "bad interval": "SELECT at FROM departures WHERE at - day < INTERVAL 5 PARSECS",
    "cut interval": "SELECT at FROM departures WHERE at - day < INTERVAL 1.5 HOURS",
    # Joins
    "unconnected": "SELECT d.at FROM departures d, weather w WHERE d.delay > 5 AND w.wind > 5",
    "two parts": (
        "SELECT 1 FROM departures a, departures b, weather c, weather d "
        "WHERE a.flight = b.flight AND c.origin = d.origin"
    ),
    "outer join": "SELECT d.at FROM departures d LEFT JOIN weather w ON d.origin = w.origin",
    "full outer join": "SELECT d.at FROM departures d FULL OUTER JOIN weather w ON d.origin = w.origin",
    "right join that waits on one side only": (
        "SELECT d.at FROM departures d [RANGE 1 HOUR] RIGHT JOIN weather w ON d.origin = w.origin"
    ),
    "left join without a condition": "SELECT d.at FROM departures d [RANGE 1 HOUR] LEFT JOIN weather w",
    "using in a full join": (
        "SELECT d.at FROM departures d [RANGE 1 HOUR] FULL JOIN weather w [RANGE 1 HOUR] USING (origin)"
    ),
    "on reads another stream": (
        "SELECT d.at FROM departures c, departures d [RANGE 1 HOUR] LEFT JOIN weather w "
        "ON c.origin = w.origin WHERE c.origin = d.origin"
    ),
    "absence inside an absence": (
        "SELECT d.at FROM weather w [RANGE 1 HOUR] LEFT JOIN departures d [RANGE 1 HOUR] "
        "ON d.origin = w.origin RIGHT JOIN departures e [RANGE 1 HOUR] ON w.origin = e.origin"
    ),
    "never true on the side that is kept": (
        "SELECT d.at FROM departures d [RANGE 1 HOUR] LEFT JOIN weather w ON 1 = 2"
    ),
    "subquery without a link": (
        "SELECT at FROM departures [RANGE 1 HOUR] WHERE NOT EXISTS (SELECT 1 FROM weather w)"
    ),
    "exists in select": "SELECT EXISTS (SELECT 1 FROM weather w WHERE w.origin = d.origin) FROM departures d",
    "exists under or": (
        "SELECT d.at FROM departures d [RANGE 1 HOUR] WHERE d.delay > 5 OR "
        "EXISTS (SELECT 1 FROM weather w WHERE w.origin = d.origin)"
    ),
    "exists in on": (
        "SELECT d.at FROM departures d [RANGE 1 HOUR] JOIN weather w ON w.origin = d.origin "
        "AND EXISTS (SELECT 1 FROM weather v WHERE v.origin = d.origin)"
    ),
    "subquery in a subquery": (
        "SELECT d.at FROM departures d [RANGE 1 HOUR] WHERE EXISTS (SELECT 1 FROM weather w WHERE "
        "w.origin = d.origin AND EXISTS (SELECT 1 FROM weather v WHERE v.origin = w.origin))"
    ),
    "alias twice in a subquery": (
        "SELECT d.at FROM departures d [RANGE 1 HOUR] WHERE EXISTS "
        "(SELECT 1 FROM weather d WHERE d.origin = 'JFK')"
    ),
    "two columns in": (
        "SELECT d.at FROM departures d [RANGE 1 HOUR] "
        "WHERE d.origin IN (SELECT w.origin, w.at FROM weather w)"
    ),
    "in of another type": (
        "SELECT d.at FROM departures d [RANGE 1 HOUR] WHERE d.delay IN (SELECT w.origin FROM weather w)"
    ),
    "group by in a subquery": (
        "SELECT d.at FROM departures d [RANGE 1 HOUR] WHERE EXISTS "
        "(SELECT w.origin FROM weather w WHERE w.origin = d.origin GROUP BY w.origin)"
    ),
    "brackets without an end": (
        "SELECT d.at FROM departures d [RANGE 1 HOUR] LEFT JOIN (weather w JOIN weather v "
        "ON v.origin = w.origin ON d.origin = w.origin"
    ),
    "natural join": "SELECT d.at FROM departures d NATURAL JOIN weather w",
    "semi join": "SELECT d.at FROM departures d SEMI JOIN weather w ON d.origin = w.origin",
    "join without condition": "SELECT d.at FROM departures d JOIN weather w",
    "using an unknown column": "SELECT d.at FROM departures d JOIN weather w USING (flight)",
    "never true": "SELECT at FROM departures WHERE 1 = 2 AND delay > 5",
    "comparison with null": "SELECT at FROM departures WHERE delay = NULL",
    # What a stream cannot answer
    "having": "SELECT origin FROM departures HAVING delay > 5",
    "order by": "SELECT at FROM departures ORDER BY at",
    "limit": "SELECT at FROM departures LIMIT 5",
    "window function": "SELECT row_number() OVER (ORDER BY at) FROM departures",
    "subquery in where": "SELECT at FROM departures WHERE origin IN (SELECT origin FROM weather)",
    "exists": "SELECT at FROM departures WHERE EXISTS (SELECT 1 FROM weather)",
    "subquery in from without an alias": "SELECT at FROM (SELECT * FROM departures)",
    "subquery in from with a mistake": "SELECT at FROM (SELECT ad FROM departures) x",
    "subquery in select": "SELECT (SELECT at FROM weather) FROM departures",
    "values": "SELECT * FROM (VALUES (1)) x",
    "now": "SELECT at FROM departures WHERE at > now()",
    "current timestamp": "SELECT at FROM departures WHERE at > CURRENT_TIMESTAMP",
    "random": "SELECT at FROM departures WHERE random() < 0.5",
    "parameter": "SELECT at FROM departures WHERE delay > ?",
    "escape": "SELECT at FROM departures WHERE flight LIKE 'a!%' ESCAPE '!'",
    "exclude": "SELECT * EXCLUDE (at) FROM departures",
    "array": "SELECT [1, 2] FROM departures",
    "subscript": "SELECT flight[1] FROM departures",
    "lambda": "SELECT list_filter([1], x -> x > 0) FROM departures",
    "try cast": "SELECT TRY_CAST(flight AS INT) FROM departures",
    "into": "SELECT at INTO x FROM departures",
    "tablesample": "SELECT at FROM departures TABLESAMPLE 10%",
    "lateral": "SELECT at FROM departures, LATERAL (SELECT 1) x",
    "positional join": "SELECT d.at FROM departures d POSITIONAL JOIN weather w",
    "at time zone": "SELECT at AT TIME ZONE 'UTC' FROM departures",
    "collate": "SELECT flight COLLATE nocase FROM departures",
    "column aliases": "SELECT d.x FROM departures AS d(x)",
    # Functions
    "function of another dialect": "SELECT nvl(d.flight, 'x') FROM departures d",
    "function of another dialect with other arguments": "SELECT charindex('U', d.flight) FROM departures d",
    "too few arguments": "SELECT datediff(d.day, d.at) FROM departures d",
    "pattern that is none": "SELECT d.at FROM departures d WHERE d.flight ~ '(UA'",
    "pattern of a column": "SELECT regexp_matches(d.flight, d.origin) FROM departures d",
    "format that is none": "SELECT strftime(d.at, '%Q') FROM departures d",
    "path that is none": "SELECT d.flight ->> '$.a[' FROM departures d",
    "json value": "SELECT d.flight -> '$.a' FROM departures d",
    "count of a column": "SELECT lpad(d.flight, d.seats, '0') FROM departures d",
    "width of nothing": "SELECT time_bucket(INTERVAL 0 SECONDS, d.at) FROM departures d",
    "bits of text": "SELECT d.flight & 1 FROM departures d",
    "operator of another dialect": "SELECT d.at FROM departures d WHERE d.flight REGEXP 'UA'",
    **UNUSABLE_GROUPS,
    **UNUSABLE_AS_OF,
    **UNUSABLE_TABLES,
}
