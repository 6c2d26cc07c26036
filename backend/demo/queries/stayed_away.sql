-- A plane lands, and does not leave New York again within twelve hours.
SELECT a.at AS landed, a.tail, a.flight, a.dest
FROM arrivals AS a
WHERE NOT EXISTS (
  SELECT 1
  FROM departures AS d
  WHERE d.tail = a.tail
    AND d.at BETWEEN a.at AND a.at + INTERVAL 12 HOURS
)
