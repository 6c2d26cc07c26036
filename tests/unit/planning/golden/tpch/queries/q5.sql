SELECT n.n_name, l.l_extendedprice * (1 - l.l_discount) AS revenue
FROM customer AS c, orders AS o, lineitem AS l, supplier AS s, nation AS n, region AS r
WHERE c.c_custkey = o.o_custkey AND l.l_orderkey = o.o_orderkey AND l.l_suppkey = s.s_suppkey
  AND c.c_nationkey = s.s_nationkey AND s.s_nationkey = n.n_nationkey
  AND n.n_regionkey = r.r_regionkey AND r.r_name = 'ASIA'
