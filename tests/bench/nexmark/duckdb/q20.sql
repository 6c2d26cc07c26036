SELECT auction, bidder, price, channel, url, b.dateTime, b.extra,
  itemName, description, initialBid, reserve, a.dateTime, expires, seller, category, a.extra
FROM bid b, (SELECT * FROM auction WHERE category = 10) a
WHERE auction = id
