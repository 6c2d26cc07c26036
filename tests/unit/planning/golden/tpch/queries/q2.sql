SELECT s.s_acctbal, s.s_name, n.n_name, p.p_partkey, p.p_mfgr, ps.ps_supplycost
FROM part AS p, supplier AS s, partsupp AS ps, nation AS n, region AS r
WHERE p.p_partkey = ps.ps_partkey AND s.s_suppkey = ps.ps_suppkey AND p.p_size = 15
  AND p.p_type LIKE '%BRASS' AND s.s_nationkey = n.n_nationkey AND n.n_regionkey = r.r_regionkey
  AND r.r_name = 'EUROPE'
