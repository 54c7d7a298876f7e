-- Which events were made but are not in the file? One row a track that is not complete.
CREATE TEMP VIEW missing_event AS
SELECT
  l.track_id,  -- track
  s.name,  -- name of the track, '' for lanes of ranks
  s.rank,  -- rank, null for none
  s.lane,  -- lane, null for none
  s.slot,  -- row within the lane
  l.sent,  -- events that the program made
  l.stored,  -- events in this file
  l.dropped,  -- found no room in a buffer
  l.unreadable,  -- were written but could not be read back
  l.lost,  -- were sent and never seen again
  l.sent - l.stored - l.dropped - l.unreadable - l.lost AS unaccounted  -- 0 unless the ledger is wrong
FROM main.ledger l
JOIN main.track s ON s.track_id = l.track_id
WHERE l.sent != l.stored;
