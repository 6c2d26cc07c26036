WITH followed AS (
  SELECT bidder, dateTime,
    coalesce(dateTime > lag(dateTime) OVER person + INTERVAL 10 SECONDS, true) AS begins
  FROM bid WINDOW person AS (PARTITION BY bidder ORDER BY dateTime)),
numbered AS (
  SELECT *, sum(begins::INT) OVER (PARTITION BY bidder ORDER BY dateTime) AS session FROM followed)
SELECT bidder, count(*), min(dateTime), max(dateTime) + INTERVAL 10 SECONDS FROM numbered GROUP BY bidder, session
