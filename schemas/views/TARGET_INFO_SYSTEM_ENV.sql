-- What is known of the machine? As the table of this name in an export of Nsight Systems.
CREATE TEMP VIEW TARGET_INFO_SYSTEM_ENV AS
SELECT
  NULL AS globalVid,  -- not known
  NULL AS devStateName,  -- not known
  name,  -- what: cpu, cores, memory, system and more
  NULL AS nameEnum,  -- not known
  value  -- its value
FROM main.machine_fact;
