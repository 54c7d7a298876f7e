-- Which copies ran, from where to where? As the table of this name in an export of Nsight Systems; what a store does
-- not know is null. Processes as in NVTX_EVENTS; kinds are numbers of CUPTI.
CREATE TEMP VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS
SELECT
  e.begin_ns AS start,  -- run clock
  e.end_ns AS "end",  -- run clock
  nullif(d.device, -1) AS deviceId,  -- ordinal of the device that copied
  nullif(d.context, -1) AS contextId,  -- context
  NULL AS greenContextId,  -- not known
  nullif(d.stream, -1) AS streamId,  -- stream
  e.correlation_id AS correlationId,  -- the call that asked for it has the same in CUPTI_ACTIVITY_KIND_RUNTIME
  e.rank << 24 AS globalPid,  -- process
  coalesce(e.bytes, 0) AS bytes,  -- bytes copied
  d.copy_kind AS copyKind,  -- CUpti_ActivityMemcpyKind
  NULL AS deprecatedSrcId,  -- not known
  d.source_kind AS srcKind,  -- CUpti_ActivityMemoryKind
  d.target_kind AS dstKind,  -- CUpti_ActivityMemoryKind
  nullif(d.source_device, -1) AS srcDeviceId,  -- ordinal of the device that it came from
  NULL AS srcContextId,  -- not known
  nullif(d.target_device, -1) AS dstDeviceId,  -- ordinal of the device that it went to
  NULL AS dstContextId,  -- not known
  NULL AS migrationCause,  -- not known
  NULL AS graphNodeId,  -- not known
  NULL AS virtualAddress,  -- not known
  NULL AS copyCount  -- not known
FROM temp.event e LEFT JOIN main.work_detail d USING (work_detail_id)
WHERE e.category_id = 8;
