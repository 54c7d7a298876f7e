-- What memory was set? As the table of this name in an export of Nsight Systems; what a store does not know is null.
-- Processes as in NVTX_EVENTS.
CREATE TEMP VIEW CUPTI_ACTIVITY_KIND_MEMSET AS
SELECT
  e.begin_ns AS start,  -- run clock
  e.end_ns AS "end",  -- run clock
  nullif(d.device, -1) AS deviceId,  -- ordinal of the device
  nullif(d.context, -1) AS contextId,  -- context
  NULL AS greenContextId,  -- not known
  nullif(d.stream, -1) AS streamId,  -- stream
  e.correlation_id AS correlationId,  -- the call that asked for it has the same in CUPTI_ACTIVITY_KIND_RUNTIME
  e.rank << 24 AS globalPid,  -- process
  NULL AS value,  -- not known
  coalesce(e.bytes, 0) AS bytes,  -- bytes set
  NULL AS graphNodeId,  -- not known
  nullif(d.target_kind, 0) AS memKind  -- CUpti_ActivityMemoryKind
FROM temp.event e LEFT JOIN main.work_detail d USING (work_detail_id)
WHERE e.category_id = 9;
