-- Who came and opened an auction within the same ten seconds.
SELECT DISTINCT p.id, p.name, TUMBLE(p.dateTime, INTERVAL 10 SECONDS) AS starttime
FROM person AS p
JOIN auction AS a ON p.id = a.seller
  AND TUMBLE(p.dateTime, INTERVAL 10 SECONDS) = TUMBLE(a.dateTime, INTERVAL 10 SECONDS)
