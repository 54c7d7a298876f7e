#!/usr/bin/env bash
# Collectors of ranks that are processes: the work of all is in one file, with the ranks and ops that asked for it, and what
# the collectors of each took is stored and said.
# labels: mpi extended
. "$(dirname -- "$0")/common.inc"
need_mpi
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
