-- The highest bid of every ten seconds; of several with that price, the one for the oldest auction alone.
SELECT TUMBLE(dateTime, INTERVAL 10 SECONDS) AS begins, auction, bidder, extra, price, MAX(dateTime) AS dateTime
FROM bid
GROUP BY begins, auction, bidder, extra, price
ORDER BY price DESC LIMIT 1
