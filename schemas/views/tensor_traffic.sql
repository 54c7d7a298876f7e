-- Which tensors does each strategy move? Sums over ranks, layers and denoise steps.
CREATE TEMP VIEW tensor_traffic AS
SELECT
  r.strategy_id,  -- strategy
  t.tensor,  -- q, k, v, o, hidden, exchange, text, norm, metadata or boundary
  sum(t.messages) AS messages,  -- messages
  sum(t.bytes) AS bytes  -- bytes
FROM main.traffic t
JOIN main.run r ON r.run_id = t.run_id
WHERE r.finished = 1
GROUP BY r.strategy_id, t.tensor;
