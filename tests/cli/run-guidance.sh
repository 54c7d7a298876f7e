#!/usr/bin/env bash
# Guidance passes at once and replicas: ranks = dp x guidance x ranks of a plan, and latency, bytes and throughput follow.
. "$(dirname -- "$0")/common.inc"

job=(--set run.mode=simulate --set run.layers=1 --set "model.grid=2,8,8" --set mask.block=16 --set cluster.preset=h100x8 -s ring)
for dp in 1 2 4; do
  for guidance in 1 2; do
    expect_exit 0 run "${job[@]}" --set cluster.dp=$dp --set cluster.guidance=$guidance --json
    # wan-mini: 4 layers, 10 denoise steps of 2 passes; 128 video tokens of 64 channels in bf16, from each pass to the other
    expect_json "d['workload']['ranks'] == 8 // ($dp * $guidance)" "d['workload']['guidance'] == $guidance" \
      "d['workload']['combine_bytes'] == ($guidance - 1) * 2 * 128 * 64 * 2" \
      "(d['workload']['combine_ns'] > 0) == ($guidance > 1)" \
      "s['ring']['end_to_end_ns'] == 10 * (2 // $guidance * 4 * s['ring']['makespan_ns'] + d['workload']['combine_ns'])" \
      "abs(s['ring']['samples_per_hour'] * s['ring']['end_to_end_ns'] / 3600e9 - $dp) < 1e-9"
  done
done
# A replica of 2 ranks is the plan of 2 ranks.
expect_exit 0 run "${job[@]}" --set cluster.dp=4 --json
grep '"makespan_ns": [0-9]' "$out" >replica
expect_exit 0 run "${job[@]}" --set cluster.ranks=2 --json
grep '"makespan_ns": [0-9]' "$out" | cmp - replica || fail "a replica is not the plan of its ranks"

expect_exit 0 run "${job[@]}" --set cluster.guidance=2 --set cluster.dp=2 -o kept.db
expect_out 'as 2 replicas of 2 guidance passes at once, each of '
expect_exit 0 compare kept.db --json
expect_json 'd["workload"]["guidance"] == 2 and d["workload"]["data_parallel"] == 2 and d["workload"]["combine_ns"] > 0'
expect_exit 0 report kept.db -o kept.md
grep -F '1 forward pass, 2 at once' kept.md || fail "the report does not say how passes run"
expect_refused 'cluster.guidance' '2 passes at once' 'model.cfg = 2' -- run "${job[@]}" --set model.cfg=1 --set cluster.guidance=2
expect_refused 'cluster.guidance' 'do not split into 2 guidance passes' -- run "${job[@]}" --set cluster.dp=8 --set cluster.guidance=2
