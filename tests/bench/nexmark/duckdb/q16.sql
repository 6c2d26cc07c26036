WITH ranked AS (
  SELECT *, cast(cast(dateTime AS DATE) AS VARCHAR) AS day,
    CASE WHEN price < 10000 THEN 1 WHEN price < 1000000 THEN 2 ELSE 3 END AS rank
  FROM bid)
SELECT channel, day, substr(cast(max(dateTime) AS VARCHAR), 12, 5),
  count(*), sum(rank = 1)::BIGINT, sum(rank = 2)::BIGINT, sum(rank = 3)::BIGINT,
  count(DISTINCT bidder), count(DISTINCT CASE rank WHEN 1 THEN bidder END),
  count(DISTINCT CASE rank WHEN 2 THEN bidder END), count(DISTINCT CASE rank WHEN 3 THEN bidder END),
  count(DISTINCT auction), count(DISTINCT CASE rank WHEN 1 THEN auction END),
  count(DISTINCT CASE rank WHEN 2 THEN auction END), count(DISTINCT CASE rank WHEN 3 THEN auction END)
FROM ranked GROUP BY channel, day
