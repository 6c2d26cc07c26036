WITH german AS (
  SELECT ps_partkey, ps_supplycost * ps_availqty AS value
  FROM partsupp, supplier, nation
  WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'
), parts AS (
  SELECT ps_partkey, sum(value) AS value FROM german GROUP BY ps_partkey, TUMBLE(RESULT_TIME(), INTERVAL 100000 DAYS)
), whole AS (
  SELECT sum(value) * 0.0001 AS least FROM german GROUP BY TUMBLE(RESULT_TIME(), INTERVAL 100000 DAYS)
)
SELECT ps_partkey, value FROM parts, whole WHERE value > least
