-- Departures more than an hour late, with the gusts of that hour where any were measured.
SELECT d.at, d.flight, d.origin, d.delay, w.wind_gust
FROM departures AS d
LEFT JOIN weather AS w ON w.airport = d.origin
  AND w.wind_gust IS NOT NULL
  AND d.at >= w.at
  AND d.at < w.at + INTERVAL 1 HOUR
WHERE d.delay > 60
