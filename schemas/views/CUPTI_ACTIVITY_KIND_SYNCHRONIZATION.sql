-- When did a thread of the host wait for a device? As the table of this name in an export of Nsight Systems; what a
-- store does not know is null. Processes as in NVTX_EVENTS.
CREATE TEMP VIEW CUPTI_ACTIVITY_KIND_SYNCHRONIZATION AS
SELECT
  e.begin_ns AS start,  -- run clock
  e.end_ns AS "end",  -- run clock
  nullif(d.device, -1) AS deviceId,  -- ordinal of the device
  nullif(d.context, -1) AS contextId,  -- context
  NULL AS greenContextId,  -- not known
  nullif(d.stream, -1) AS streamId,  -- stream; null when it waited for an event or for all streams
  e.correlation_id AS correlationId,  -- the call has the same in CUPTI_ACTIVITY_KIND_RUNTIME
  e.rank << 24 AS globalPid,  -- process
  NULL AS deprecatedSyncType,  -- not known
  d.synchronization_kind AS syncType,  -- CUpti_ActivitySynchronizationType
  NULL AS eventId,  -- not known
  NULL AS eventSyncId  -- not known
FROM temp.event e LEFT JOIN main.work_detail d USING (work_detail_id)
WHERE e.category_id = 10;
