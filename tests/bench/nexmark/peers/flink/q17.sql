SELECT auction,
  DATE_FORMAT(window_start, 'yyyy-MM-dd') AS `day`,
  COUNT(*) AS total_bids,
  COUNT(*) FILTER (WHERE price < 10000) AS low_bids,
  COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle_bids,
  COUNT(*) FILTER (WHERE price >= 1000000) AS high_bids,
  MIN(price) AS min_price,
  MAX(price) AS max_price,
  AVG(CAST(price AS DOUBLE)) AS avg_price,
  SUM(price) AS sum_price
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '1' DAY))
GROUP BY window_start, window_end, auction
