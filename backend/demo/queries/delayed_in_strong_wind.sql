-- Departures more than half an hour late while it blew hard at their origin within the last hour.
SELECT d.at, d.flight, d.origin, d.dest, d.delay, w.wind_speed, w.wind_gust
FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 1 HOUR] AS w
WHERE d.origin = w.airport
  AND d.delay > 30
  AND w.wind_speed > 20
