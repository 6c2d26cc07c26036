SELECT window_start, category, AVG(CAST(final AS DOUBLE))
FROM (
  SELECT window_start, window_end, id, category, MAX(price) AS final
  FROM TABLE(TUMBLE(TABLE offered, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, id, category)
GROUP BY window_start, window_end, category
