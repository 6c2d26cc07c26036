-- A plane lands late, and within three hours the same plane leaves New York late again.
SELECT a.tail, a.flight AS inbound, a.at AS landed, a.delay AS arrival_delay,
       d.flight AS outbound, d.at AS departed, d.delay AS departure_delay
FROM arrivals [RANGE 3 HOURS] AS a, departures [RANGE 3 HOURS] AS d
WHERE a.tail = d.tail
  AND a.delay > 20
  AND d.delay > 20
  AND d.at > a.at
