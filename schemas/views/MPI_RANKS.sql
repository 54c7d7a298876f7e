-- Which thread belongs to which rank? As the table of this name in an export of Nsight Systems; threads as in
-- NVTX_EVENTS.
CREATE TEMP VIEW MPI_RANKS AS
SELECT
  (rank << 24) + coalesce((lane << 12) + slot, 0x800000 + track_id) AS globalTid,  -- process and thread
  rank  -- rank
FROM main.track
WHERE rank IS NOT NULL AND kind IN (0, 2);
