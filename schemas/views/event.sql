-- What happened when, on which rank? Every event with the names of its numbers. An event that had not ended when
-- recording stopped ends where its run ends.
CREATE TEMP VIEW event AS
SELECT
  e.event_id,  -- key, in order of writing
  e.run_id,  -- run
  e.stream_id,  -- stream
  s.rank,  -- rank
  s.lane,  -- lane; 0 computes
  s.slot,  -- row within the lane
  e.begin_ns,  -- run clock
  CASE WHEN e.flags >> 16 & 1
    THEN max(e.begin_ns, coalesce((SELECT max(r.end_ns) FROM main.repeat r WHERE r.run_id = e.run_id), e.begin_ns))
    ELSE e.end_ns
  END AS end_ns,  -- run clock
  e.op_id,  -- operation of the run's plan, -1 for none
  n.value AS name,  -- what ran
  c.name AS category,  -- attend, local, rearrange, transfer, barrier, other
  e.flags >> 8 & 255 AS depth,  -- nesting depth, for display
  e.flags >> 16 & 1 AS unfinished,  -- 1 when it had not ended
  e.flags >> 17 & 1 AS clamped,  -- 1 when its end lay before its begin and was moved there
  e.flags >> 18 & 1 AS modelled,  -- 1 when its times come from a model
  e.entry_ns,  -- of a transfer: when the rank entered
  e.transfer_begin_ns,  -- when the last partner had entered and data could move
  e.transfer_end_ns,  -- when the data had moved
  e.sequence,  -- number within the communicator: the post of the plan
  e.bytes,  -- bytes that this rank sent
  e.communicator_id,  -- communicator
  e.peer  -- the only other rank, -1 when there are several
FROM main.event_row e
JOIN main.stream s ON s.stream_id = e.stream_id
LEFT JOIN main.string n ON n.string_id = e.name_id
LEFT JOIN main.enum_name c ON c.kind = 'event_row.category' AND c.value = (e.flags & 255);
