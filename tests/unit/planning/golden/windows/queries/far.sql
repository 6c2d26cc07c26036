SELECT r.a, t.d
FROM r [RANGE 10 SECONDS], s [RANGE 10 SECONDS], t [RANGE 10 SECONDS]
WHERE r.b = s.b AND s.c = t.c AND s.b > 2
