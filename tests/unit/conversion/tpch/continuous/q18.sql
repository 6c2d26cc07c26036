-- Streams, and queries in FROM, without a window have one of 1 HOUR.
-- Groups in subqueries are formed per 1 HOUR of event time; a bucket without tuples has no row.
-- Groups are formed per 1 HOUR of event time, of which LIMIT leaves the first: each comes once, when its bucket is over.
SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity
FROM customer [RANGE 1 HOUR], orders [RANGE 1 HOUR], lineitem [RANGE 1 HOUR]
WHERE o_orderkey IN (
    SELECT l_orderkey FROM lineitem [RANGE 1 HOUR] GROUP BY l_orderkey, TUMBLE(RESULT_TIME(), INTERVAL 1 HOUR) HAVING sum(l_quantity) > 300)
  AND c_custkey = o_custkey AND o_orderkey = l_orderkey
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, TUMBLE(RESULT_TIME(), INTERVAL 1 HOUR)
ORDER BY o_totalprice DESC, o_orderdate
LIMIT 100
