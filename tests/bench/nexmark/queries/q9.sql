-- The winning bid of each auction: the highest, and of several the first; an auction lasts at most four seconds.
SELECT a.id, a.itemName, a.description, a.initialBid, a.reserve, a.dateTime, a.expires, a.seller, a.category, a.extra,
  ARG_MAX(b.auction, b.price * 10000000 - EPOCH_US(b.dateTime) + EPOCH_US(a.dateTime)) AS auction,
  ARG_MAX(b.bidder, b.price * 10000000 - EPOCH_US(b.dateTime) + EPOCH_US(a.dateTime)) AS bidder,
  MAX(b.price) AS price,
  ARG_MAX(b.dateTime, b.price * 10000000 - EPOCH_US(b.dateTime) + EPOCH_US(a.dateTime)) AS bid_dateTime,
  ARG_MAX(b.extra, b.price * 10000000 - EPOCH_US(b.dateTime) + EPOCH_US(a.dateTime)) AS bid_extra
FROM auction AS a
JOIN bid AS b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.dateTime + INTERVAL 4 SECONDS
WHERE b.dateTime <= a.expires
GROUP BY a.id, a.itemName, a.description, a.initialBid, a.reserve, a.dateTime, a.expires, a.seller, a.category, a.extra
