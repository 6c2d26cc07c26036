SELECT w.start AS begins, won.auction, won.bidder, won.extra, won.price, won.dateTime
FROM (
  SELECT window(dateTime, '10 seconds') AS w,
    MAX_BY(STRUCT(auction, bidder, extra, price, dateTime), STRUCT(price, -auction, -bidder)) AS won
  FROM bid
  GROUP BY window(dateTime, '10 seconds'))
