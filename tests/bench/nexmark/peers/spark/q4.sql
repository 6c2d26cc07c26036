SELECT window(w, '10 seconds').start AS begins, category, AVG(final) AS final
FROM (
  SELECT window(dateTime, '10 seconds') AS w, id, category, MAX(price) AS final
  FROM offered
  GROUP BY window(dateTime, '10 seconds'), id, category)
GROUP BY window(w, '10 seconds'), category
