-- Every bid with what a side input says; a stream whose rows all come first, instead of a table of that moment.
SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
FROM bid AS b
JOIN side_input [RANGE UNBOUNDED] AS s ON MOD(b.auction, 10000) = s.key AND s.at <= b.dateTime
