SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category, extra,
  auction, bidder, price, TO_TIMESTAMP_LTZ(bid_ms, 3), bid_extra
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, id ORDER BY price DESC, bid_ms) AS place
  FROM TABLE(TUMBLE(TABLE offered, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)))
WHERE place <= 1
