-- Streams, and queries in FROM, without a window have one of 1 HOUR.
-- Groups have no end: a result takes the place of the row with its keys, or of the only row.
-- q05:8:1: found ORDER BY, which is left out, expected results in the order in which they are found
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer [RANGE 1 HOUR], orders [RANGE 1 HOUR], lineitem [RANGE 1 HOUR], supplier [RANGE 1 HOUR], nation [RANGE 1 HOUR], region [RANGE 1 HOUR]
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey
  AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey
  AND n_regionkey = r_regionkey AND r_name = 'ASIA'
  AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < CAST('1995-01-01 00:00:00' AS TIMESTAMP)
GROUP BY n_name
