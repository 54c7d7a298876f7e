-- Which strategy is fastest, how much does it send, and how far can its times be trusted? Sums over the layers and
-- denoise steps that ran to their end; a strategy that is illegal or did not run has no times.
CREATE TEMP VIEW strategy_summary AS
WITH figures AS (
  SELECT r.strategy_id,
         count(*) AS runs,
         sum(m.makespan_ns) AS makespan_ns,
         min(m.repeats) AS repeats,
         sum(r.tiles) AS tiles,
         max(r.compute_source) AS compute_source,
         max(r.network_source) AS network_source,
         max(r.timing) AS timing,
         min(r.verdict) AS least_verdict,
         max(r.verdict) AS most_verdict,
         max(r.max_error) AS max_error
  FROM main.run r
  LEFT JOIN temp.run_makespan m ON m.run_id = r.run_id
  WHERE r.finished = 1
  GROUP BY r.strategy_id
),
sent AS (
  SELECT r.strategy_id, sum(u.bytes_sent_intra_node + u.bytes_sent_inter_node) AS bytes, sum(u.messages) AS messages
  FROM main.run r
  JOIN main.rank_usage u ON u.run_id = r.run_id
  WHERE r.finished = 1
  GROUP BY r.strategy_id
)
SELECT
  s.strategy_id,  -- strategy
  s.id,  -- unique name in this file
  s.label,  -- short name with degrees
  mode.name AS mode,  -- execute, project or simulate
  s.legal,  -- 1 when it can run the workload
  s.reason,  -- why it cannot
  coalesce(f.runs, 0) AS runs,  -- layers x denoise steps that ran
  f.repeats,  -- fewest repeats of a run
  f.makespan_ns,  -- sum of the medians of its runs
  f.tiles,  -- active tiles computed
  sent.bytes AS bytes_sent,  -- sum over ranks
  sent.messages,  -- messages sent
  compute.name AS compute,  -- measured or modelled
  network.name AS network,  -- measured or modelled
  timing.name AS timing,  -- clean or oversubscribed
  verdict.name AS verify,  -- failed when any run failed, skipped when any was skipped, else passed
  f.max_error  -- largest error of an output
FROM main.strategy s
LEFT JOIN figures f ON f.strategy_id = s.strategy_id
LEFT JOIN sent ON sent.strategy_id = s.strategy_id
LEFT JOIN main.enum_name mode ON mode.kind = 'strategy.mode' AND mode.value = s.mode
LEFT JOIN main.enum_name compute ON compute.kind = 'run.compute_source' AND compute.value = f.compute_source
LEFT JOIN main.enum_name network ON network.kind = 'run.network_source' AND network.value = f.network_source
LEFT JOIN main.enum_name timing ON timing.kind = 'run.timing' AND timing.value = f.timing
LEFT JOIN main.enum_name verdict ON verdict.kind = 'run.verdict'
  AND verdict.value = CASE WHEN f.most_verdict = 2 THEN 2 ELSE f.least_verdict END;
