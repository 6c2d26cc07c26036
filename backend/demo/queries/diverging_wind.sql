-- Two of New York's airports report winds from nearly opposite directions at the same time.
SELECT x.at, x.airport AS one, y.airport AS other,
       x.wind_direction AS one_direction, y.wind_direction AS other_direction,
       x.wind_speed AS one_speed, y.wind_speed AS other_speed
FROM weather('sliding', '30', 'minutes') AS x, weather('sliding', '30', 'minutes') AS y
WHERE x.airport < y.airport
  AND ABS(x.wind_direction - y.wind_direction) BETWEEN 120 AND 240
  AND x.wind_speed > 5
  AND y.wind_speed > 5
