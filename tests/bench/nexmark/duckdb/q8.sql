SELECT p.id, p.name, p.starttime
FROM (SELECT DISTINCT id, name, to_timestamp(floor(epoch(dateTime) / 10) * 10) AS starttime FROM person) p
JOIN (SELECT DISTINCT seller, to_timestamp(floor(epoch(dateTime) / 10) * 10) AS starttime FROM auction) a
  ON p.id = a.seller AND p.starttime = a.starttime
