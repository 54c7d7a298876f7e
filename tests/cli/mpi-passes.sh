#!/usr/bin/env bash
# No note of a pass is taken for one of the next pass: no transfer begins before its last partner has entered it, in
# thousands of passes of ranks on two pretended nodes, which tell each other about their ops in messages.
# labels: mpi extended
. "$(dirname -- "$0")/common.inc"
need_mpi
export SPSCOPE_RANKS_PER_NODE=2

expect_exit 0 run -s ulysses "${small[@]}" --set model.heads=4 --set cluster.ranks=4 --set run.repeats=6000 \
  --set run.verify=off --launcher mpi -o kept.db
# The ranks share a clock. A rank meets a sequence number once in each pass.
spscope sql kept.db "
  WITH transfer AS (SELECT row_number() OVER (PARTITION BY rank, sequence ORDER BY begin_ns) AS pass, sequence,
                           communicator_id, entry_ns, transfer_begin_ns
                    FROM event WHERE category = 'transfer'),
       meeting AS (SELECT pass, sequence, communicator_id, count(*) AS ranks, max(entry_ns) AS last_ns
                   FROM transfer GROUP BY pass, sequence, communicator_id)
  SELECT min(ranks), max(ranks), count(*) > 60000, sum(transfer_begin_ns < last_ns) AS early,
         min(transfer_begin_ns - last_ns)
  FROM transfer JOIN meeting USING (pass, sequence, communicator_id)" --csv
grep -q '^4,4,1,0,' "$out" || fail "transfers begin before all partners are there, or were not counted"

# How often messages between nodes are polled for is said, and where threads share cores the timing says that they do.
expect_exit 0 sql kept.db --csv "
  SELECT timing, fact.value LIKE 'polled every 50 us%' AS pauses, fact.value LIKE 'polled without a pause%' AS spins
  FROM strategy_summary, machine_fact fact WHERE fact.name = 'messages between nodes'"
cores=$("$SPSCOPE" sql kept.db --csv "SELECT value FROM machine_fact WHERE name = 'cores'" | tail -n 1 | tr -d '\r')
if [ "$cores" -lt 12 ]; then expect_out 'oversubscribed,1,0'; else expect_out 'clean,0,1'; fi
rm kept.db
expect_no_ranks
