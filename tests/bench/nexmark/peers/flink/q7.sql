SELECT window_start, auction, bidder, extra, price, `dateTime`
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC, auction, bidder) AS place
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)))
WHERE place <= 1
