-- Who sells in category 10 from three states, and what.
SELECT p.name, p.city, p.state, a.id
FROM auction [RANGE UNBOUNDED] AS a
JOIN person [RANGE UNBOUNDED] AS p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
