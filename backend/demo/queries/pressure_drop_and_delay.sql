-- Three-way with a self-join: pressure fell fast at an airport, and a flight left it late within the hour.
SELECT d.at, d.flight, d.origin, d.delay, before.pressure AS pressure_before, after.pressure AS pressure_after
FROM weather [RANGE 4 HOURS] AS before, weather [RANGE 1 HOUR] AS after, departures [RANGE 1 HOUR] AS d
WHERE before.airport = after.airport
  AND after.airport = d.origin
  AND before.at < after.at
  AND before.pressure - after.pressure > 4
  AND d.delay > 30
