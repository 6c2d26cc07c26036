SELECT s.b, u.e
FROM s('sliding', '1', 'second') AS s
JOIN t('sliding', '1', 'second') AS t ON s.c = t.c
JOIN u('sliding', '1', 'second') AS u ON t.d = u.d
