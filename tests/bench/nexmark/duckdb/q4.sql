SELECT opened, category, avg(final)
FROM (
  SELECT to_timestamp(floor(epoch(a.dateTime) / 10) * 10) AS opened, category, max(price) AS final
  FROM auction a, bid b
  WHERE a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
  GROUP BY a.id, a.dateTime, category)
GROUP BY opened, category
