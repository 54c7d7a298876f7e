#!/usr/bin/env bash
# A run on GPUs with collectors, on the fake driver and CUPTI of CUDA 11 and 13 (12 and the other faults: tests/inject,
# tests/unit/collectors): every launch, copy and memset is stored once, with its op and inside its repeat; what is lost is
# counted, and a failure says why and what to do.
. "$(dirname -- "$0")/common.inc"
. "$scripts/collect.inc"

# collect EXIT NAMES: a run on two ranks into gpu.db.
collect() {
  rm -f gpu.db report
  expect_exit "$1" run -s ring "${small[@]}" --set cluster.ranks=2 --set run.device=cuda --set run.collect="$2" -o gpu.db
}

for cuda in 11 13; do
  use $cuda
  collect 0 cupti
  expect_err 'cupti: ' ' none lost' 'of its own threads'
  is "$(told kernels)" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"
  is "$(told copies)" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY"
  is "$(told memsets)" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMSET"
  is "$(told waits)" "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
  [ "$(told fault)" = "" ] || fail "rules of CUPTI: $(told fault)"
  expect_ledger
  is 0 "SELECT count(*) FROM missing_event"
  is "$(told records)" "SELECT records + dropped FROM collector WHERE name = 'cupti'"
  # Kernels are of the ops that compute, of the same rank, and begin in their repeat.
  is "$(told kernels)" "SELECT count(*) FROM event k JOIN plan_op o ON o.op_id = k.op_id JOIN run r ON r.run_id = k.run_id
    AND r.plan_id = o.plan_id WHERE k.category = 'kernel' AND k.rank = o.rank AND k.repeat = 0"
  # Copies of an op are on the stream of its rank, and bring a rank what the plan says that it receives.
  is 2 "SELECT count(*) FROM rank_usage u WHERE bytes_received > 0 AND bytes_received = (
    SELECT sum(e.bytes) FROM event e JOIN plan_op o USING (op_id, rank) WHERE e.category = 'copy' AND e.rank = u.rank)"
  is 0 "SELECT count(*) FROM event WHERE track_kind = 'device stream' AND clamped"
done

# Lost records are counted, in the file and for people.
SPSCOPE_FAKE_CUPTI='drop=5' collect 0 cupti
expect_err 'records are missing: CUPTI had no buffer' 'a core left free'
expect_ledger
is "$(told records)" "SELECT records + dropped FROM collector WHERE name = 'cupti'"
is 1 "SELECT sum(dropped) > 0 FROM ledger"
is 1 "SELECT notes LIKE '%records are missing%' FROM collector WHERE name = 'cupti'"

# A collector that is named and cannot collect ends the run before it begins; otherwise another stands in.
SPSCOPE_FAKE_CUPTI='other=torch.profiler' collect 2 cupti
expect_err SPS-132 'traces this process already' 'run without torch.profiler'
[ ! -e gpu.db ] || fail "a refused run left a file"
expect_refused 'run.collect' 'did you mean "cupti"?' -- run --set run.device=cuda --set run.collect=cuppti
SPSCOPE_FAKE_CUPTI='other=torch.profiler' collect 0 auto
expect_err 'cupti does not collect here' 'run without torch.profiler'
is 'events' "SELECT group_concat(name) FROM collector WHERE outcome = 0 AND name != 'nvml'"
is 1 "SELECT outcome = 2 AND notes LIKE '%run without torch.profiler' FROM collector WHERE name = 'cupti'"
expect_exit 0 doctor gpu.db
expect_out 'process of rank 0: did not collect: ' '"torch.profiler" traces this process already'
# Each op is one piece of work on the stream of its rank.
ops=$(sql_rows gpu.db "SELECT rank, op_id, name FROM plan_op ORDER BY rank, op_id")
is "$ops" "SELECT rank, op_id, name FROM event WHERE track_kind = 'device stream' ORDER BY rank, op_id"

# What collectors store counts in what a run needs on the disk, at the least: `events` an event for each op, beside that of
# the op itself, `cupti` none, since there are ops that launch nothing.
events_of() {
  expect_refused ' events needs at least ' -- run -s ring "${small[@]}" --set cluster.ranks=2 --set run.device=cuda \
    --set run.collect="$1" --set run.verify=off --set run.repeats=100000 --set run.denoise_steps=10000 \
    --set model.layers=1000 --set run.layers=1000 -o large.db
  sed -n 's/.* run of \([0-9]*\) events needs at least .*/\1/p' "$err"
}
without=$(events_of none)
for expected in "cupti $without" "events $((2 * without))"; do
  with=$(events_of "${expected% *}")
  [ "$with" = "${expected#* }" ] || fail "a run of $without events has $with with those of ${expected% *}"
done

rm cupti/*
expect_exit 0 list collectors --json
expect_json '{r["name"]: r["in_place_of"] for r in d["collectors"]}["events"] == "cupti"'
collect 0 none
is 0 "SELECT count(*) FROM event WHERE track_kind != 'rank lane'"
