-- Which calls of CUDA's runtime and driver were there? As the table of this name in an export of Nsight Systems; what a
-- store does not know is null. Threads as in NVTX_EVENTS. Calls of NCCL are ranges there.
CREATE TEMP VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS
SELECT
  begin_ns AS start,  -- run clock
  end_ns AS "end",  -- run clock
  name NOT GLOB 'cuda*' AS eventClass,  -- 0 of the runtime, 1 of the driver
  (rank << 24) + coalesce((lane << 12) + slot, 0x800000 + track_id) AS globalTid,  -- process and thread
  correlation_id AS correlationId,  -- work that it asked for has the same
  name_id AS nameId,  -- key in StringIds
  NULL AS returnValue,  -- not known
  NULL AS callchainId  -- not known
FROM temp.event
WHERE category_id = 11 AND name GLOB 'cu*';
