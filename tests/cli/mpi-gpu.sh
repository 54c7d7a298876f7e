#!/usr/bin/env bash
# Ranks on GPUs in processes of their own, on the fake CUDA driver: they map each other's memory, and results, bytes and
# memory are as planned. A kernel of one rank that fails or hangs, and a rank that is killed, are named with rank and op. What
# collectors see of all is in one file, with the ranks and ops that asked for it.
# labels: mpi extended
# cost: 30
. "$(dirname -- "$0")/common.inc"
need_mpi
[ -n "${GPU_PROCESSES:-}" ] || skip "built without kernels for GPUs"
export LD_LIBRARY_PATH=$FAKE_CUDA

expect_ranks 0 2 "$GPU_PROCESSES" --every 7
grep -E '^[0-9]+ plans on 2 processes: 0 wrong$' "$out"
SPSCOPE_FAKE_CUDA='devices=2 jitter=4' expect_ranks 0 3 "$GPU_PROCESSES" --every 13

# All of them report it, also those whose streams wait for the rank.
SPSCOPE_FAKE_CUDA='fail=spscope_attend*:2 rank=1' expect_ranks 0 3 "$GPU_PROCESSES" --fail
[ "$(grep -c 'rank 1 failed in attend op ' "$out")" -eq 3 ] || fail "not all processes report the kernel that fails"
SPSCOPE_FAKE_CUDA='hang=spscope_attend*:2 rank=1' ranks_limit=30 start_ranks 3 "$GPU_PROCESSES" --hang
expect_not_err 'is not named'
named=$(grep -cE 'rank 1 made no progress for .* in attend op ' "$out" || true)
[ "$named" -ge 2 ] || fail "only $named processes name the rank with a kernel that hangs"

# The page of a rank that is killed still says in which op it was.
expect_gpu_run() { expect_exit "$1" run -s ring "${small[@]}" --set cluster.ranks=2 --set run.device=cuda --set run.mode=execute --launcher mpi --headless -o gpu.db; }
expect_gpu_run 0
expect_exit 0 sql gpu.db "SELECT DISTINCT name FROM machine_fact WHERE name = 'GPU 0'" --csv
expect_out 'GPU 0'
timing_is() {
  expect_sql gpu.db 1 "SELECT count(*) > 0 AND min(e.name = '$1') FROM run JOIN enum_name e ON e.kind = 'run.timing' AND e.value = run.timing"
}
# Both are on GPU 0 as their processes count: on one GPU, or each on one of its own.
timing_is oversubscribed
rm gpu.db
SPSCOPE_FAKE_CUDA='own=1' expect_gpu_run 0
timing_is clean
rm gpu.db
SPSCOPE_FAKE_CUDA='kill=spscope_attend*:2 rank=1' expect_gpu_run 1
expect_err 'SPS-120' 'rank 1' ' attend op ' 'signal 9'
expect_no_ranks

part collectors
. "$scripts/collect.inc"
use 13
collect() {
  rm -f gpu.db report
  expect_exit "$1" run -s ring "${small[@]}" --set cluster.ranks=2 --set run.device=cuda --set run.mode=execute \
    --set run.collect="$2" --launcher mpi -o gpu.db
}

collect 0 cupti
expect_err 'cupti, 2 processes: ' ' none lost'
expect_ledger
is "$(told kernels)" "SELECT count(*) FROM event k JOIN plan_op o ON o.op_id = k.op_id JOIN run r ON r.run_id = k.run_id
  AND r.plan_id = o.plan_id WHERE k.category = 'kernel' AND k.rank = o.rank AND k.repeat = 0"
is "$(told copies)" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY"
# In each rank, some of the kernels and of the copies; those that bring inputs have no op.
is 2 "SELECT count(DISTINCT rank) FROM event WHERE category = 'kernel'"
is 2 "SELECT count(DISTINCT k.rank) FROM event k JOIN plan_op o ON o.op_id = k.op_id JOIN run r ON r.run_id = k.run_id
  AND r.plan_id = o.plan_id WHERE k.category = 'copy' AND k.rank = o.rank AND k.repeat = 0"
is '0 1' "SELECT group_concat(first_rank, ' ') FROM (SELECT first_rank FROM collector WHERE records > 0 AND dropped = 0 ORDER BY first_rank)"
is "$(told records)" "SELECT sum(records) FROM collector"

# One that is named and cannot collect in one of the processes ends the run.
SPSCOPE_FAKE_CUPTI='other=torch.profiler' collect 2 cupti
expect_err SPS-132 'run without torch.profiler'
[ ! -e gpu.db ] || fail "a refused run left a file"
expect_no_ranks
