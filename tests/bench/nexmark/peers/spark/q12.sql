SELECT window(dateTime, '10 seconds').start AS begins, bidder, COUNT(*) AS many
FROM bid
GROUP BY window(dateTime, '10 seconds'), bidder
