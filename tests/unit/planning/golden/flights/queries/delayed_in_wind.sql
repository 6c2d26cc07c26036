SELECT d.tail, d.delay, w.wind_speed
FROM departures [RANGE 1 HOUR] AS d JOIN weather [RANGE 1 HOUR] AS w ON d.origin = w.airport
WHERE d.delay > 30 AND w.wind_speed > 20
