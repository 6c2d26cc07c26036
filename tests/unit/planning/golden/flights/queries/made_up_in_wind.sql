SELECT d.tail, w.wind_speed
FROM departures [RANGE 3 HOURS] AS d, arrivals [RANGE 3 HOURS] AS a, weather [RANGE 3 HOURS] AS w
WHERE d.tail = a.tail AND d.origin = w.airport AND d.delay - a.delay > w.wind_speed
