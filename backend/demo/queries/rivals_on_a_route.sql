-- Self-join: two airlines leave for the same place within a quarter of an hour, one of them late.
SELECT x.at, x.origin, x.dest, x.flight AS punctual, y.flight AS delayed, y.delay
FROM departures [RANGE 15 MINUTES] AS x, departures [RANGE 15 MINUTES] AS y
WHERE x.origin = y.origin
  AND x.dest = y.dest
  AND x.carrier <> y.carrier
  AND x.delay <= 0
  AND y.delay > 45
