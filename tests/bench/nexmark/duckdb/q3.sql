SELECT name, city, state, a.id
FROM person p, auction a
WHERE p.id = seller AND category = 10 AND (state = 'OR' OR state = 'ID' OR state = 'CA')
