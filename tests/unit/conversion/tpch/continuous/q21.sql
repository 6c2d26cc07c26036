-- Streams, and queries in FROM, without a window have one of 1 HOUR.
-- Groups are formed per 1 HOUR of event time, of which LIMIT leaves the first: each comes once, when its bucket is over.
SELECT s_name, count(*) AS numwait
FROM supplier [RANGE 1 HOUR], lineitem [RANGE 1 HOUR] l1, orders [RANGE 1 HOUR], nation [RANGE 1 HOUR]
WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F'
  AND l1.l_receiptdate > l1.l_commitdate
  AND EXISTS (
    SELECT * FROM lineitem [RANGE 1 HOUR] l2
    WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
  AND NOT EXISTS (
    SELECT * FROM lineitem [RANGE 1 HOUR] l3
    WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey
      AND l3.l_receiptdate > l3.l_commitdate)
  AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA'
GROUP BY s_name, TUMBLE(RESULT_TIME(), INTERVAL 1 HOUR)
ORDER BY numwait DESC, s_name
LIMIT 100
