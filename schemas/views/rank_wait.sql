-- Which rank was late in which step of which collective, and whom did it hold up? A row for each transfer that waited for
-- a partner to post. The late rank is the one of its communicator that posted last before data could move, the lower of
-- several. What hides behind compute is in these waits; results (rank_waits in JSON) leave it out.
CREATE TEMP VIEW rank_wait AS
WITH transfer AS (
  SELECT event_id, run_id, repeat, rank, name, sequence, communicator_id, entry_ns, transfer_begin_ns,
         dense_rank() OVER (PARTITION BY run_id, repeat, name ORDER BY sequence) - 1 AS step
  FROM temp.event
  WHERE transfer_begin_ns IS NOT NULL AND repeat IS NOT NULL AND rank IS NOT NULL AND unfinished = 0
),
waiting AS (
  SELECT w.*, p.rank AS late_rank,
         row_number() OVER (PARTITION BY w.event_id ORDER BY p.entry_ns DESC, p.rank) AS place
  FROM transfer w
  JOIN transfer p ON p.run_id = w.run_id AND p.repeat = w.repeat AND p.sequence = w.sequence
    AND p.communicator_id = w.communicator_id AND p.rank != w.rank AND p.entry_ns <= w.transfer_begin_ns
  WHERE w.transfer_begin_ns > w.entry_ns
)
SELECT
  r.strategy_id,  -- strategy
  w.run_id,  -- run
  r.layer,  -- layer
  r.denoise_step,  -- denoise step
  w.repeat,  -- repeat
  w.name AS collective,  -- name of its events
  w.step,  -- which of the collectives of this name it is in the plan, from 0
  w.rank,  -- the rank that waits
  w.late_rank,  -- the rank that it waits for
  w.transfer_begin_ns - w.entry_ns AS wait_ns,  -- from its post until data could move
  w.event_id  -- the event of the waiting rank
FROM waiting w
JOIN main.run r ON r.run_id = w.run_id
WHERE w.place = 1;
