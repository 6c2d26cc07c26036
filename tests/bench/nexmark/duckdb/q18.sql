SELECT auction, bidder, price, channel, url, dateTime, extra
FROM bid
QUALIFY row_number() OVER (PARTITION BY auction, bidder, cast(dateTime AS DATE) ORDER BY dateTime DESC) = 1
