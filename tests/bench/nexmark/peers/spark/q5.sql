SELECT MIN(begins) AS begins, MAX_BY(auction, STRUCT(num, -auction)) AS auction, MAX(num) AS num
FROM (
  SELECT window_time(w) AS at, w.start AS begins, auction, num
  FROM (
    SELECT window(dateTime, '10 seconds', '2 seconds') AS w, auction, COUNT(*) AS num
    FROM bid
    GROUP BY window(dateTime, '10 seconds', '2 seconds'), auction))
GROUP BY at
