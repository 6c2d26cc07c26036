SELECT a.tail, a.delay AS delay_in, d.delay AS delay_out
FROM arrivals [RANGE 3 HOURS] AS a JOIN departures [RANGE 3 HOURS] AS d ON a.tail = d.tail
WHERE a.delay > 30 AND d.delay > 30 AND a.at < d.at
