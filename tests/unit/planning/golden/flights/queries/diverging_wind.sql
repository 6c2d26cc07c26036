SELECT x.airport AS one, y.airport AS other
FROM weather [RANGE 30 MINUTES] AS x, weather [RANGE 30 MINUTES] AS y
WHERE x.airport < y.airport AND abs(x.wind_direction - y.wind_direction) >= 120
