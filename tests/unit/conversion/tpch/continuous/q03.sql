-- Streams, and queries in FROM, without a window have one of 1 HOUR.
-- Groups are formed per 1 HOUR of event time, of which LIMIT leaves the first: each comes once, when its bucket is over.
SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer [RANGE 1 HOUR], orders [RANGE 1 HOUR], lineitem [RANGE 1 HOUR]
WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
  AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
GROUP BY l_orderkey, o_orderdate, o_shippriority, TUMBLE(RESULT_TIME(), INTERVAL 1 HOUR)
ORDER BY revenue DESC, o_orderdate
LIMIT 10
