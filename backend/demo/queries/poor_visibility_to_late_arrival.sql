-- Three-way: a flight left in poor visibility and reached its destination late.
SELECT a.at AS landed, a.flight, a.dest, w.visibility, d.delay AS departure_delay, a.delay AS arrival_delay
FROM weather [RANGE 9 HOURS] AS w
JOIN departures [RANGE 8 HOURS] AS d ON d.origin = w.airport
JOIN arrivals [RANGE 8 HOURS] AS a ON a.flight = d.flight AND a.tail = d.tail
WHERE w.visibility < 3
  AND a.delay > 15
  AND a.at > d.at
  AND d.at >= w.at
  AND d.at < w.at + INTERVAL '1' HOUR
