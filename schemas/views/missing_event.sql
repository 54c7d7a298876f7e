-- Which events were made but are not in the file? One row a stream that is not complete.
CREATE TEMP VIEW missing_event AS
SELECT
  l.stream_id,  -- stream
  s.rank,  -- rank
  s.lane,  -- lane
  s.slot,  -- row within the lane
  l.sent,  -- events that the program made
  l.stored,  -- events in this file
  l.dropped,  -- found no room in a buffer
  l.unreadable,  -- were written but could not be read back
  l.lost,  -- were sent and never seen again
  l.sent - l.stored - l.dropped - l.unreadable - l.lost AS unaccounted  -- 0 unless the ledger is wrong
FROM main.ledger l
JOIN main.stream s ON s.stream_id = l.stream_id
WHERE l.sent != l.stored;
