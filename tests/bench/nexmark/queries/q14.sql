-- Bids of some size in euros, with the kind of hour and the number of letters c; doubles instead of decimals.
SELECT auction, bidder, 0.908e0 * price AS price,
  CASE
    WHEN HOUR(dateTime) BETWEEN 8 AND 18 THEN 'dayTime'
    WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime'
    ELSE 'otherTime'
  END AS bidTimeType,
  dateTime, extra, LENGTH(extra) - LENGTH(REPLACE(extra, 'c', '')) AS c_counts
FROM bid
WHERE 0.908e0 * price > 1000000 AND 0.908e0 * price < 50000000
