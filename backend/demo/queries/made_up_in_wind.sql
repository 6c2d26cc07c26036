-- A predicate over three streams: more minutes made up in the air than the wind at the origin is fast.
SELECT a.at, a.flight, d.origin, a.dest, d.delay AS departure_delay, a.delay AS arrival_delay, w.wind_speed
FROM arrivals [RANGE 8 HOURS] AS a, departures [RANGE 8 HOURS] AS d, weather [RANGE 9 HOURS] AS w
WHERE a.flight = d.flight
  AND a.tail = d.tail
  AND d.origin = w.airport
  AND a.at > d.at
  AND d.at >= w.at
  AND d.at < w.at + INTERVAL '1' HOUR
  AND d.delay - a.delay > 15 + w.wind_speed
