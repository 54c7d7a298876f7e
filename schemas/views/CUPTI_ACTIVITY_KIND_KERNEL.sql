-- Which kernels ran, and how were they launched? As the table of this name in an export of Nsight Systems; what a store
-- does not know is null. Processes as in NVTX_EVENTS.
CREATE TEMP VIEW CUPTI_ACTIVITY_KIND_KERNEL AS
SELECT
  e.begin_ns AS start,  -- run clock
  e.end_ns AS "end",  -- run clock
  nullif(d.device, -1) AS deviceId,  -- ordinal of the device
  nullif(d.context, -1) AS contextId,  -- context
  NULL AS greenContextId,  -- not known
  nullif(d.stream, -1) AS streamId,  -- stream
  e.correlation_id AS correlationId,  -- the call that launched it has the same in CUPTI_ACTIVITY_KIND_RUNTIME
  e.rank << 24 AS globalPid,  -- process
  e.name_id AS demangledName,  -- key in StringIds
  e.name_id AS shortName,  -- the same: a store has one name of a kernel
  NULL AS mangledName,  -- not known
  NULL AS launchType,  -- not known
  NULL AS cacheConfig,  -- not known
  d.registers_per_thread AS registersPerThread,  -- registers of a thread
  d.grid_x AS gridX,  -- blocks in x
  d.grid_y AS gridY,  -- blocks in y
  d.grid_z AS gridZ,  -- blocks in z
  d.block_x AS blockX,  -- threads of a block in x
  d.block_y AS blockY,  -- threads of a block in y
  d.block_z AS blockZ,  -- threads of a block in z
  d.static_shared_bytes AS staticSharedMemory,  -- bytes of a block
  d.dynamic_shared_bytes AS dynamicSharedMemory,  -- bytes of a block
  NULL AS localMemoryPerThread,  -- not known
  NULL AS localMemoryTotal,  -- not known
  NULL AS gridId,  -- not known
  NULL AS sharedMemoryExecuted,  -- not known
  NULL AS graphNodeId,  -- not known
  NULL AS sharedMemoryLimitConfig,  -- not known
  NULL AS qmdBulkReleaseDone,  -- not known
  NULL AS qmdPreexitDone,  -- not known
  NULL AS qmdLastCtaDone,  -- not known
  NULL AS graphId,  -- not known
  NULL AS clusterX,  -- not known
  NULL AS clusterY,  -- not known
  NULL AS clusterZ,  -- not known
  NULL AS clusterSchedulingPolicy,  -- not known
  NULL AS maxPotentialClusterSize,  -- not known
  NULL AS maxActiveClusters,  -- not known
  NULL AS sharedMemoryRequestedPercentage,  -- not known
  NULL AS tensorSizeMinusOneElements  -- not known
FROM temp.event e LEFT JOIN main.work_detail d USING (work_detail_id)
WHERE e.category_id = 7;
