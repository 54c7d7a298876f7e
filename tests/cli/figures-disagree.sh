#!/usr/bin/env bash
# Figures that a file holds twice: where they differ, in a file that another program changed, doctor and compare name the
# layer pass and what differs, and recover makes a file without its figures.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "${small[@]}" --set cluster.ranks=2 --set run.layers=2 -s ring -s ulysses -o threads.db
expect_exit 0 run "${small[@]}" --set cluster.preset=p4de-x2 --set cluster.ranks=4 --set cluster.gpus_per_node=2 \
  --set run.layers=2 --set run.mode=simulate -s ring -s usp -o simulated.db
expect_exit 0 doctor threads.db
expect_out 'each as it was written'

# edited FILE STATEMENT: damaged.db is FILE after it.
edited() {
  cp "$1" damaged.db
  python3 -B "$scripts/edit_store.py" damaged.db "$2"
}
# differs FILE STATEMENT TEXT: all commands that load figures; recover makes a file without those of the layer pass.
differs() {
  edited "$1" "$2"
  expect_exit 2 doctor damaged.db
  expect_out '! pages' 'changed the file' "$3"
  expect_err 'SPS-156' 'differ'
  expect_refused 'SPS-156' 'ring, layer 0, denoise step 0' "$3" -- compare damaged.db
  expect_refused 'SPS-156' "$3" -- report damaged.db
  rm -f saved.db
  expect_exit 0 recover damaged.db -o saved.db
  expect_err 'counts as not finished' "$3"
  expect_exit 0 doctor saved.db
  expect_exit 0 compare saved.db
}
pass="run_id = (SELECT run_id FROM run JOIN strategy USING (strategy_id) WHERE id = 'ring' AND layer = 0)"
differs threads.db "UPDATE rank_usage SET bytes_sent_intra_node = bytes_sent_intra_node + 1 WHERE rank = 1 AND $pass" 'rank 1 sent '
differs threads.db "UPDATE rank_usage SET bytes_received = bytes_received + 64 WHERE rank = 0 AND $pass" 'rank 0 received '
differs threads.db "UPDATE rank_usage SET messages = messages + 1 WHERE rank = 0 AND $pass" ' messages by rank_usage and '
differs threads.db "UPDATE traffic SET bytes = bytes + 8 WHERE tensor = 'k' AND $pass" ' bytes by rank_usage and '
differs threads.db "DELETE FROM traffic WHERE $pass" ' bytes by rank_usage and 0 by traffic'
differs threads.db "UPDATE traffic SET dst = 9 WHERE src = 0 AND tensor = 'k' AND $pass" ' received '
differs threads.db "UPDATE run SET tiles = tiles * 2 WHERE $pass" ' tiles were computed by run and '
differs simulated.db "UPDATE rank_usage SET bytes_sent_intra_node = bytes_sent_intra_node + 1,
  bytes_sent_inter_node = bytes_sent_inter_node - 1 WHERE rank = 1 AND $pass" 'inside its node'

# doctor also compares with plans, chunks, and the times of repeats that a model made.
finds() {
  edited "$1" "$2"
  expect_exit 2 doctor damaged.db
  expect_out "$3"
}
finds threads.db "UPDATE rank_usage SET flops = flops + 1 WHERE rank = 0 AND $pass" ' FLOPs by rank_usage and '
finds threads.db "UPDATE traffic SET dst = 9 WHERE src = 0 AND tensor = 'k' AND $pass" 'traffic has rank 9'
finds threads.db "DELETE FROM rank_usage WHERE rank = 1 AND $pass" 'rank_usage has 1 ranks and its plan 2'
finds threads.db 'UPDATE ledger SET sent = sent + 1, stored = stored + 1 WHERE track_id = 1' ' events are stored by ledger and '
finds simulated.db "UPDATE repeat SET makespan_ns = makespan_ns + 1 WHERE $pass" 'ns by begin_ns, end_ns and lead_ns and '
