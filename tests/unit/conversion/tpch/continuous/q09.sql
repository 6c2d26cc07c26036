-- Streams, and queries in FROM, without a window have one of 1 HOUR.
-- Groups have no end: a result takes the place of the row with its keys, or of the only row.
-- q09:10:1: found ORDER BY, which is left out, expected results in the order in which they are found
SELECT nation, o_year, sum(amount) AS sum_profit
FROM (
  SELECT n_name AS nation, extract(year FROM o_orderdate) AS o_year,
    l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
  FROM part [RANGE 1 HOUR], supplier [RANGE 1 HOUR], lineitem [RANGE 1 HOUR], partsupp [RANGE 1 HOUR], orders [RANGE 1 HOUR], nation [RANGE 1 HOUR]
  WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey
    AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey
    AND p_name LIKE '%green%') AS profit [RANGE 1 HOUR]
GROUP BY nation, o_year
