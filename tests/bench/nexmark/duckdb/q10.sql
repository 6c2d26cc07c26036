SELECT auction, bidder, price, dateTime, extra, left(cast(dateTime AS VARCHAR), 10), substr(cast(dateTime AS VARCHAR), 12, 5)
FROM bid
