-- How often a person bids in each session, without a break of ten seconds.
SELECT bidder, COUNT(*) AS bid_count, SESSION(dateTime, INTERVAL 10 SECONDS) AS starttime,
  MAX(dateTime) + INTERVAL 10 SECONDS AS endtime
FROM bid
GROUP BY bidder, starttime
