SELECT auction, bidder, price, dateTime, (SELECT value FROM side_input WHERE key = mod(auction, 10000)) FROM bid
