-- How long is the recording? As the table of this name in an export of Nsight Systems.
CREATE TEMP VIEW ANALYSIS_DETAILS AS
SELECT
  NULL AS globalVid,  -- not known
  max(end_ns) - min(begin_ns) AS duration,  -- from the first repeat to the last
  min(begin_ns) AS startTime,  -- run clock
  max(end_ns) AS stopTime  -- run clock
FROM main.repeat;
