SELECT a.id, itemName, description, initialBid, reserve, a.dateTime, expires, seller, category, a.extra,
  b.auction, b.bidder, b.price, b.dateTime, b.extra
FROM auction a, bid b
WHERE a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime) = 1
