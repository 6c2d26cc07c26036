-- The mean winning bid of each category, of the auctions of every ten seconds instead of all; they last four at most.
SELECT TUMBLE(a.dateTime, INTERVAL 10 SECONDS) AS opened, a.category, AVG(b.price) AS final
FROM auction AS a
JOIN bid AS b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.dateTime + INTERVAL 4 SECONDS
WHERE b.dateTime <= a.expires
  AND NOT EXISTS (
    SELECT 1
    FROM bid AS c
    WHERE c.auction = a.id
      AND c.dateTime BETWEEN a.dateTime AND a.dateTime + INTERVAL 4 SECONDS
      AND c.dateTime <= a.expires
      AND (c.price > b.price OR (c.price = b.price AND c.dateTime < b.dateTime)))
GROUP BY 1, 2
