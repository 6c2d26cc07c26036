SELECT auction, bidder, last.price, last.channel, last.url, last.dateTime, last.extra
FROM (
  SELECT window(dateTime, '1 day') AS w, auction, bidder,
    MAX_BY(STRUCT(price, channel, url, dateTime, extra), dateTime) AS last
  FROM bid
  GROUP BY window(dateTime, '1 day'), auction, bidder)
