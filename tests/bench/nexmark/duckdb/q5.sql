WITH slices AS (
  SELECT auction, to_timestamp(floor(epoch(dateTime) / 2) * 2 - 2 * ago) AS begins
  FROM bid, range(5) AS before(ago)),
counted AS (SELECT begins, auction, count(*) AS num FROM slices GROUP BY ALL)
SELECT begins, min(auction), num
FROM counted JOIN (SELECT begins, max(num) AS num FROM counted GROUP BY begins) USING (begins, num)
GROUP BY begins, num
