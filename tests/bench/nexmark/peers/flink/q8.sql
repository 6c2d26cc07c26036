SELECT p.id, p.name, p.window_start
FROM (
  SELECT window_start, window_end, id, name
  FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, id, name) AS p
JOIN (
  SELECT window_start, window_end, seller
  FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, seller) AS a
ON p.window_start = a.window_start AND p.window_end = a.window_end AND p.id = a.seller
