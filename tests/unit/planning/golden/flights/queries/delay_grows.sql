SELECT x.tail, x.delay AS before, y.delay AS after
FROM departures [RANGE 12 HOURS] AS x JOIN departures [RANGE 12 HOURS] AS y ON x.tail = y.tail
WHERE x.at < y.at AND y.delay > x.delay + 15
