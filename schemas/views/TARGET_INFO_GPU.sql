-- Which GPUs took part? As the table of this name in an export of Nsight Systems: one row for each ordinal that work or
-- tracks name, also when several hosts have a device of that ordinal. What a store does not know is null.
CREATE TEMP VIEW TARGET_INFO_GPU AS
WITH ordinals AS (
  SELECT device FROM main.work_detail WHERE device >= 0
  UNION SELECT CAST(substr(device, 5) AS INTEGER) FROM main.track WHERE device GLOB 'GPU [0-9]*')
SELECT
  NULL AS vmId,  -- not known
  device AS id,  -- deviceId of the other tables
  coalesce((SELECT substr(value, 1, instr(value || ', compute', ', compute') - 1) FROM main.machine_fact
            WHERE machine_fact.name = 'GPU ' || device), 'GPU ' || device) AS name,  -- its model, else its ordinal
  (SELECT CASE WHEN min(place) = max(place) THEN min(place) END
   FROM (SELECT substr(track.device, instr(track.device, ' at ') + 4) AS place FROM main.track
         WHERE track.device GLOB 'GPU ' || ordinals.device || ' at *')) AS busLocation,  -- where all tracks agree
  NULL AS isDiscrete,  -- not known
  NULL AS l2CacheSize,  -- not known
  NULL AS totalMemory,  -- not known
  NULL AS memoryBandwidth,  -- not known
  NULL AS clockRate,  -- not known
  NULL AS smCount,  -- not known
  NULL AS uuid,  -- not known
  NULL AS chipName,  -- not known
  device AS cuDevice,  -- ordinal
  NULL AS computeMajor,  -- not known
  NULL AS computeMinor,  -- not known
  NULL AS numaNodeId  -- not known
FROM ordinals;
