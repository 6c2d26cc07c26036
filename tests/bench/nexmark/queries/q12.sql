-- How often each person bids in ten seconds, of event time instead of processing time.
SELECT TUMBLE(dateTime, INTERVAL 10 SECONDS) AS starttime, bidder, COUNT(*) AS bid_count
FROM bid
GROUP BY 1, 2
