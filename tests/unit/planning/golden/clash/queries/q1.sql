SELECT r.a, t.d
FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND], t [RANGE 1 SECOND]
WHERE r.b = s.b AND s.c = t.c
