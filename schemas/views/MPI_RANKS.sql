-- Which thread belongs to which rank? As the table of this name in an export of Nsight Systems; threads as in
-- NVTX_EVENTS.
CREATE TEMP VIEW MPI_RANKS AS
SELECT
  (rank << 24) + (lane << 12) + slot AS globalTid,  -- process and thread
  rank  -- rank
FROM main.track
WHERE rank IS NOT NULL AND lane IS NOT NULL;
