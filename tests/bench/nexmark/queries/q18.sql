-- The last bid of each person for each auction, of a day instead of all time.
SELECT auction, bidder, ARG_MAX(price, dateTime) AS price, ARG_MAX(channel, dateTime) AS channel,
  ARG_MAX(url, dateTime) AS url, MAX(dateTime) AS dateTime, ARG_MAX(extra, dateTime) AS extra
FROM bid
GROUP BY auction, bidder, DATE_TRUNC('day', dateTime)
