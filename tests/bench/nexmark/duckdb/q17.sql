WITH ranked AS (
  SELECT *, cast(cast(dateTime AS DATE) AS VARCHAR) AS day,
    CASE WHEN price < 10000 THEN 1 WHEN price < 1000000 THEN 2 ELSE 3 END AS rank
  FROM bid)
SELECT auction, day,
  count(*), sum(rank = 1)::BIGINT, sum(rank = 2)::BIGINT, sum(rank = 3)::BIGINT,
  min(price), max(price), sum(price) / count(*), sum(price)::BIGINT
FROM ranked GROUP BY auction, day
