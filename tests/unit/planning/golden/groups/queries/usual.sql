SELECT TUMBLE(RESULT_TIME(), INTERVAL 1 MINUTE) AS b, o.shop, MEDIAN(o.amount) AS usual
FROM orders [RANGE 1 MINUTE] AS o, payments [RANGE 1 MINUTE] AS p
WHERE o.id = p.id
GROUP BY b, o.shop
