-- Which processes are there? One a rank, also when the ranks were threads of one process, as the table of this name in
-- an export of Nsight Systems. rank_process has the process numbers of the operating system.
CREATE TEMP VIEW PROCESSES AS
SELECT DISTINCT
  rank << 24 AS globalPid,  -- process of globalTid in NVTX_EVENTS
  rank AS pid,  -- rank
  'rank ' || rank AS name  -- name of the process
FROM main.track
WHERE rank IS NOT NULL;
