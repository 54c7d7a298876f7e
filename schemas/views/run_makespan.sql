-- How long did each run take? Median and extremes over its repeats; of an even number the median is the faster of the
-- two in the middle, so that it is the time of an actual repeat.
CREATE TEMP VIEW run_makespan AS
WITH ordered AS (
  SELECT run_id, makespan_ns,
         row_number() OVER (PARTITION BY run_id ORDER BY makespan_ns) AS place,
         count(*) OVER (PARTITION BY run_id) AS repeats
  FROM main.repeat
)
SELECT
  run_id,  -- run
  repeats,  -- passes over the plan
  sum(CASE WHEN place = (repeats + 1) / 2 THEN makespan_ns END) AS makespan_ns,  -- median
  min(makespan_ns) AS fastest_ns,  -- shortest repeat
  max(makespan_ns) AS slowest_ns  -- longest repeat
FROM ordered
GROUP BY run_id;
