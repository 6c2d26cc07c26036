SELECT auction, bidder, price, channel, parts[4], parts[5], parts[6]
FROM (SELECT *, string_split(url, '/') AS parts FROM bid)
