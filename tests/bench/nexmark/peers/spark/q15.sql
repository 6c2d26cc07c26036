SELECT DATE_FORMAT(window(dateTime, '1 day').start, 'yyyy-MM-dd') AS day,
  COUNT(*) AS total_bids,
  COUNT(*) FILTER (WHERE price < 10000) AS low_bids,
  COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle_bids,
  COUNT(*) FILTER (WHERE price >= 1000000) AS high_bids,
  SIZE(COLLECT_SET(bidder)) AS total_bidders,
  SIZE(COLLECT_SET(bidder) FILTER (WHERE price < 10000)) AS low_bidders,
  SIZE(COLLECT_SET(bidder) FILTER (WHERE price >= 10000 AND price < 1000000)) AS middle_bidders,
  SIZE(COLLECT_SET(bidder) FILTER (WHERE price >= 1000000)) AS high_bidders,
  SIZE(COLLECT_SET(auction)) AS total_auctions,
  SIZE(COLLECT_SET(auction) FILTER (WHERE price < 10000)) AS low_auctions,
  SIZE(COLLECT_SET(auction) FILTER (WHERE price >= 10000 AND price < 1000000)) AS middle_auctions,
  SIZE(COLLECT_SET(auction) FILTER (WHERE price >= 1000000)) AS high_auctions
FROM bid
GROUP BY window(dateTime, '1 day')
