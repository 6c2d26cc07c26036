SELECT p.id, p.name, p.w.start AS starttime
FROM (
  SELECT window(dateTime, '10 seconds') AS w, id, name, COUNT(*) AS many
  FROM person
  GROUP BY window(dateTime, '10 seconds'), id, name) AS p
JOIN (
  SELECT window(dateTime, '10 seconds') AS w, seller, COUNT(*) AS many
  FROM auction
  GROUP BY window(dateTime, '10 seconds'), seller) AS a
ON p.w = a.w AND p.id = a.seller
