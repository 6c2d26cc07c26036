-- Streams, and queries in FROM, without a window have one of 1 HOUR.
-- Groups are formed per 1 HOUR of event time, of which LIMIT leaves the first: each comes once, when its bucket is over.
SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal,
  n_name, c_address, c_phone, c_comment
FROM customer [RANGE 1 HOUR], orders [RANGE 1 HOUR], lineitem [RANGE 1 HOUR], nation [RANGE 1 HOUR]
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey
  AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < CAST('1994-01-01 00:00:00' AS TIMESTAMP)
  AND l_returnflag = 'R' AND c_nationkey = n_nationkey
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment, TUMBLE(RESULT_TIME(), INTERVAL 1 HOUR)
ORDER BY revenue DESC
LIMIT 20
