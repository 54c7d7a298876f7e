#!/usr/bin/env bash
# A run with a process for each rank gives what thread ranks give: bytes, tiles, verdicts; whoever starts the processes. Wide:
# guidance passes at once, too; and no note of a pass is taken for one of the next pass.
# labels: mpi wide
. "$(dirname -- "$0")/common.inc"
need_mpi

wide() {
  # Guidance passes at once: their outputs and the guided prediction are those of thread ranks.
  job=("${small[@]}" --set run.dtype=fp32 --set cluster.ranks=4 --set cluster.guidance=2 -s ring)
  expect_exit 0 run "${job[@]}" --dump threads --json
  expect_exit 0 run "${job[@]}" --dump mpi --launcher mpi --json
  expect_json "s['ring']['verify'] == 'passed'" "len(s['ring']['bytes_sent']) == 4"
  "$python" -B "$scripts/same_arrays.py" threads/layer-0 mpi/layer-0 o-ring{,-pass-1}.npy guided-ring.npy || fail "processes give other outputs than threads"

  # No transfer begins before its last partner has entered it, in thousands of passes of ranks on two pretended nodes, which tell
  # each other about their ops in messages. The ranks share a clock. A rank meets a sequence number once in each pass.
  export SPSCOPE_RANKS_PER_NODE=2
  expect_exit 0 run -s ulysses "${small[@]}" --set model.heads=4 --set cluster.ranks=4 --set run.repeats=6000 \
    --set run.verify=off --launcher mpi -o kept.db
  expect_sql kept.db 4,4,1,0 "
  WITH transfer AS (SELECT row_number() OVER (PARTITION BY rank, sequence ORDER BY begin_ns) AS pass, sequence,
                           communicator_id, entry_ns, transfer_begin_ns
                    FROM event WHERE category = 'transfer'),
       meeting AS (SELECT pass, sequence, communicator_id, count(*) AS ranks, max(entry_ns) AS last_ns
                   FROM transfer GROUP BY pass, sequence, communicator_id)
  SELECT min(ranks), max(ranks), count(*) > 60000, sum(transfer_begin_ns < last_ns)
  FROM transfer JOIN meeting USING (pass, sequence, communicator_id)"
  # How often messages between nodes are polled for is said, and where threads share cores the timing says that they do.
  cores=$(sql_rows kept.db "SELECT value FROM machine_fact WHERE name = 'cores'")
  if [ "$cores" -lt 12 ]; then said=oversubscribed,1,0; else said=clean,0,1; fi
  expect_sql kept.db $said "
  SELECT timing, fact.value LIKE 'polled every 50 us%' AS pauses, fact.value LIKE 'polled without a pause%' AS spins
  FROM strategy_summary, machine_fact fact WHERE fact.name = 'messages between nodes'"
  expect_no_ranks
}
if [ -n "${WIDE:-}" ]; then wide; exit; fi

job=("${small[@]}" -s ulysses -s ring --set cluster.ranks=3 --set run.layers=2 --set run.repeats=2)
results() { figures 'x["backend"], x["legal"], x["verify"], x["max_error"], x["bytes_sent"], x["bytes_received"], x["tiles"]'; }
# expect_same WHO: of ranks that are processes.
expect_same() { [ "$(results)" = "${threads//\'threads\'/\'mpi\'}" ] || fail "$1 differ: $(results)"; }

expect_exit 0 run "${job[@]}" --json
threads=$(results)
[[ $threads == *"'threads'"* ]] || fail "the backend of thread ranks is not threads"
expect_exit 0 run "${job[@]}" --json --launcher mpi
expect_same "launched ranks"
expect_ranks 0 3 "$SPSCOPE" run "${job[@]}" --json
expect_same "ranks that were started by hand"

# Alone under mpirun it is no rank; one that spscope starts is, be it the only one.
expect_ranks 0 1 "$SPSCOPE" run "${job[@]}" --json
expect_json 's["ring"]["backend"] == "threads"'
expect_exit 0 run "${small[@]}" -s ring --set cluster.ranks=1 --set run.backend=threads --launcher mpi --json
expect_json 's["ring"]["backend"] == "mpi" and s["ring"]["verify"] == "passed"'
expect_no_files
expect_no_scratch

# The file has the events of all ranks, each from a process of its own.
expect_exit 0 run "${job[@]}" --launcher mpi -o kept.db
expect_exit 0 doctor kept.db
expect_sql kept.db 3,3 'SELECT count(DISTINCT rank), count(DISTINCT pid) FROM rank_process'

# What the file says was asked runs again, with ranks that are processes.
config_of kept.db >again.toml
grep -q '^backend = "mpi"' again.toml || fail "the file does not say which backend ran"
expect_exit 0 run again.toml --json
expect_same "ranks by the config of a stored run"
expect_exit 0 run again.toml --launcher threads --json
expect_json 's["ring"]["backend"] == "threads" and s["ring"]["verify"] == "passed"'
rm again.toml
expect_files kept.db
rm kept.db

# Not as many processes as ranks.
expect_ranks 2 2 "$SPSCOPE" run "${job[@]}"
expect_err 'SPS-127' '2 processes were started, and the run has 3 ranks' 'mpirun -n 3'
expect_no_files
expect_no_ranks

# Without ranks to start, one of the processes does the work: it alone prints, and writes the file.
expect_ranks 0 3 "$SPSCOPE" run -s ring "${small[@]}" --set cluster.ranks=3 --set run.mode=simulate --launcher mpi \
  --headless --json -o modelled.db
expect_json 's["ring"]["mode"] == "simulate"'
expect_exit 0 doctor modelled.db
expect_no_ranks
