-- How late each airport's flights leave, hour by hour.
SELECT TUMBLE(d.at, INTERVAL 1 HOUR) AS hour,
       d.origin,
       COUNT(*) AS flights,
       COUNT(*) FILTER (WHERE d.delay > 15) AS late,
       AVG(d.delay) AS mean_delay,
       MAX(d.delay) AS longest_delay
FROM departures AS d
GROUP BY hour, d.origin
