-- What ran when? Every event as a push/pop range, as the table of this name in an export of Nsight Systems, so that
-- questions written for one can be asked; but kernels, copies, waits and calls, which the tables CUPTI_ACTIVITY_KIND_ hold.
-- What a store does not know is null. A thread of it is a track here: process (globalTid >> 24 & 0xffffff) is the rank,
-- thread (globalTid & 0xffffff) of a lane is lane * 4096 + slot, and of any other track 0x800000 + track_id; without a
-- rank the thread is null.
CREATE TEMP VIEW NVTX_EVENTS AS
SELECT
  begin_ns AS start,  -- run clock
  end_ns AS "end",  -- run clock
  59 AS eventType,  -- push/pop range: the events of a thread do not overlap
  NULL AS rangeId,  -- not known
  category_id AS category,  -- number of the category, named in enum_name
  NULL AS color,  -- not known
  name AS text,  -- what ran
  (rank << 24) + coalesce((lane << 12) + slot, 0x800000 + track_id) AS globalTid,  -- process and thread
  NULL AS endGlobalTid,  -- it ended on the thread that it began on
  name_id AS textId,  -- key in StringIds
  0 AS domainId,  -- the default domain
  NULL AS uint64Value,  -- no payload
  NULL AS int64Value,  -- no payload
  NULL AS doubleValue,  -- no payload
  NULL AS uint32Value,  -- no payload
  NULL AS int32Value,  -- no payload
  NULL AS floatValue,  -- no payload
  NULL AS jsonTextId,  -- no payload
  NULL AS jsonText,  -- no payload
  NULL AS binaryData,  -- no payload
  event_id AS eventId  -- key
FROM temp.event
WHERE category_id NOT BETWEEN 7 AND 10 AND NOT (category_id = 11 AND name GLOB 'cu*');
