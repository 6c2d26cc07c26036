-- How many bids an auction has in a day, by price, and what the prices are; the mean is a double.
SELECT auction, STRFTIME(DATE_TRUNC('day', dateTime), '%Y-%m-%d') AS day,
  COUNT(*) AS total_bids,
  COUNT(*) FILTER (WHERE price < 10000) AS low_bids,
  COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle_bids,
  COUNT(*) FILTER (WHERE price >= 1000000) AS high_bids,
  MIN(price) AS min_price, MAX(price) AS max_price, AVG(price) AS avg_price, SUM(price) AS sum_price
FROM bid
GROUP BY auction, DATE_TRUNC('day', dateTime)
