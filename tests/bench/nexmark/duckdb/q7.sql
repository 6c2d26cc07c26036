WITH cut AS (SELECT *, to_timestamp(floor(epoch(dateTime) / 10) * 10) AS begins FROM bid)
SELECT begins, auction, bidder, extra, price, dateTime
FROM cut JOIN (SELECT begins, max(price) AS price FROM cut GROUP BY begins) USING (begins, price)
QUALIFY row_number() OVER (PARTITION BY begins ORDER BY auction, bidder, extra) = 1
