-- Which rank has the most to do? Work, compute time and data of each rank of each run that finished. Compute time is
-- the mean over the repeats whose events are stored, of events on lanes of the rank that compute or rearrange: a device
-- stream that names the rank shows the same work a second time.
CREATE TEMP VIEW rank_load AS
WITH computed AS (
  SELECT run_id, rank, sum(total_ns) AS compute_ns
  FROM temp.event_stats
  WHERE track_kind = 'rank lane' AND category IN ('attend', 'local', 'rearrange')
  GROUP BY run_id, rank
),
recorded AS (
  -- Of a file that holds a range of time only, none of the runs that are cut: some of the events are not there.
  SELECT run_id, CASE WHEN sum(has_timeline) = count(*) OR NOT EXISTS (SELECT 1 FROM main.meta WHERE key = 'kept_from_ns')
                      THEN sum(has_timeline) ELSE 0 END AS repeats
  FROM main.repeat GROUP BY run_id
),
rows_of_run AS (
  SELECT r.strategy_id, r.run_id, r.layer, r.denoise_step, r.compute_source, r.timing, u.rank, u.tiles,
         u.bytes_sent_intra_node + u.bytes_sent_inter_node AS bytes_sent, u.memory_peak_bytes,
         CASE WHEN t.repeats > 0 THEN coalesce(c.compute_ns, 0) * 1.0 / t.repeats END AS compute_ns
  FROM main.run r
  JOIN main.rank_usage u ON u.run_id = r.run_id
  LEFT JOIN recorded t ON t.run_id = r.run_id
  LEFT JOIN computed c ON c.run_id = r.run_id AND c.rank = u.rank
  WHERE r.finished = 1
)
SELECT
  w.strategy_id,  -- strategy
  w.run_id,  -- run
  w.layer,  -- layer
  w.denoise_step,  -- denoise step
  w.rank,  -- rank
  w.tiles,  -- active tiles computed
  w.tiles / nullif(avg(w.tiles) OVER (PARTITION BY w.run_id), 0) AS tiles_to_mean_ratio,  -- 1 is balanced
  w.compute_ns,  -- time spent computing
  w.compute_ns / nullif(avg(w.compute_ns) OVER (PARTITION BY w.run_id), 0) AS compute_to_mean_ratio,  -- 1 is balanced
  w.bytes_sent,  -- bytes to other ranks
  w.memory_peak_bytes,  -- largest sum of live buffers
  source.name AS compute,  -- measured or modelled
  timing.name AS timing,  -- clean or oversubscribed
  s.label  -- strategy with its degrees, as tables show it
FROM rows_of_run w
LEFT JOIN main.strategy s ON s.strategy_id = w.strategy_id
LEFT JOIN main.enum_name source ON source.kind = 'run.compute_source' AND source.value = w.compute_source
LEFT JOIN main.enum_name timing ON timing.kind = 'run.timing' AND timing.value = w.timing;
