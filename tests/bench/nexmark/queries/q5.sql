-- The auction with most bids of the last ten seconds, every two seconds; of several with as many, the oldest alone.
SELECT HOP(dateTime, INTERVAL 2 SECONDS, INTERVAL 10 SECONDS) AS begins, auction, COUNT(*) AS num
FROM bid
GROUP BY 1, 2
ORDER BY num DESC LIMIT 1
