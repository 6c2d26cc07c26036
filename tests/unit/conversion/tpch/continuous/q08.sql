-- Streams, and queries in FROM, without a window have one of 1 HOUR.
-- Groups have no end: a result takes the place of the row with its keys, or of the only row.
-- q08:12:1: found ORDER BY, which is left out, expected results in the order in which they are found
SELECT o_year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS mkt_share
FROM (
  SELECT extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume,
    n2.n_name AS nation
  FROM part [RANGE 1 HOUR], supplier [RANGE 1 HOUR], lineitem [RANGE 1 HOUR], orders [RANGE 1 HOUR], customer [RANGE 1 HOUR], nation [RANGE 1 HOUR] n1, nation [RANGE 1 HOUR] n2, region [RANGE 1 HOUR]
  WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey
    AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey
    AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey
    AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
    AND p_type = 'ECONOMY ANODIZED STEEL') AS all_nations [RANGE 1 HOUR]
GROUP BY o_year
