-- How much goes from each rank to each other? Sums over layers, denoise steps and tensors, without metadata.
CREATE TEMP VIEW link_traffic AS
SELECT
  r.strategy_id,  -- strategy
  t.src,  -- sending rank
  t.dst,  -- receiving rank
  a.node AS src_node,  -- node of the sending rank
  b.node AS dst_node,  -- node of the receiving rank
  sum(t.messages) AS messages,  -- messages
  sum(t.bytes) AS bytes  -- bytes
FROM main.traffic t
JOIN main.run r ON r.run_id = t.run_id
LEFT JOIN main.strategy_node a ON a.strategy_id = r.strategy_id AND a.rank = t.src
LEFT JOIN main.strategy_node b ON b.strategy_id = r.strategy_id AND b.rank = t.dst
WHERE r.finished = 1 AND t.tensor <> 'metadata'
GROUP BY r.strategy_id, t.src, t.dst;
