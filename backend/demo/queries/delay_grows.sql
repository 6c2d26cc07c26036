-- Self-join: a plane leaves New York late and, later that day, leaves it later still.
SELECT early.tail, early.flight AS first_flight, early.delay AS first_delay,
       late.flight AS second_flight, late.delay AS second_delay, late.at
FROM departures [RANGE 12 HOURS] AS early, departures [RANGE 12 HOURS] AS late
WHERE early.tail = late.tail
  AND early.at < late.at
  AND early.delay > 30
  AND late.delay > early.delay + 15
