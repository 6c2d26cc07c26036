SELECT id, a.itemName, a.description, a.initialBid, a.reserve, a.dateTime, a.expires, a.seller, a.category, a.extra,
  won.auction, won.bidder, won.price, won.bid_dateTime, won.bid_extra
FROM (
  SELECT window(dateTime, '10 seconds') AS w, id,
    FIRST(STRUCT(itemName, description, initialBid, reserve, dateTime, expires, seller, category, extra)) AS a,
    MAX_BY(STRUCT(auction, bidder, price, bid_dateTime, bid_extra), STRUCT(price, -bid_ms)) AS won
  FROM offered
  GROUP BY window(dateTime, '10 seconds'), id)
