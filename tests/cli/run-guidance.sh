#!/usr/bin/env bash
# Guidance passes at once and replicas: ranks = dp x guidance x ranks of a plan, and latency, bytes and throughput follow.
. "$(dirname -- "$0")/common.inc"

part simulated
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
expect_out '8 x h100 as 2 replicas of 2 guidance'
expect_out 'passes at once, each of 2 ranks'
expect_exit 0 compare kept.db --json
expect_json 'd["workload"]["guidance"] == 2 and d["workload"]["data_parallel"] == 2 and d["workload"]["combine_ns"] > 0'
expect_exit 0 report kept.db -o kept.md
grep -F '1 forward pass, 2 at once' kept.md || fail "the report does not say how passes run"
expect_refused 'cluster.guidance' '2 passes at once' 'model.cfg = 2' -- run "${job[@]}" --set model.cfg=1 --set cluster.guidance=2
expect_refused 'cluster.guidance' 'do not split into 2 guidance passes' -- run "${job[@]}" --set cluster.dp=8 --set cluster.guidance=2

part executed
# Guidance passes that are executed at once give what they give in turn, and are combined; bytes are the closed form.
job=(--set "model.grid=3,6,7" --set model.heads=4 --set model.head_dim=8 --set mask.block=16 --set run.repeats=1
  --set run.warmup=0 --set run.layers=1 --set run.dtype=fp32 --set run.verify=full -s ring -s ulysses)
arrays=(q.npy q-pass-1.npy {o-ring,o-ulysses}{,-pass-1}.npy guided-{ring,ulysses}.npy)

expect_exit 0 run "${job[@]}" --set cluster.ranks=2 --set run.passes=all --dump in-turn --json
expect_err '2 guidance passes combined, 0 bytes'
sent=$(figures "sum(x['bytes_sent'])")
for dp in 1 2; do
  expect_exit 0 run "${job[@]}" --set cluster.ranks=$((4 * dp)) --set cluster.dp=$dp --set cluster.guidance=2 \
    --dump "at-once-$dp" --json
  # 126 video tokens of 64 channels in fp32, from each pass to the other; messages of two plans of 2 ranks
  expect_err "2 guidance passes combined, $((2 * 126 * 64 * 4)) bytes"
  expect_json "d['workload']['ranks'] == 4" "d['workload']['combine_bytes'] == 2 * 126 * 64 * 4" \
    "all(x['verify'] == 'passed' and len(x['bytes_sent']) == 4 for x in s.values())" \
    "sorted((x['id'], sum(x['bytes_sent']) // 2) for x in s.values()) == $sent"
  "$python" -B "$scripts/same_arrays.py" in-turn/layer-0 "at-once-$dp/layer-0" "${arrays[@]}" || fail "passes at once differ from passes in turn"
done
cmp -s in-turn/layer-0/q.npy in-turn/layer-0/q-pass-1.npy && fail "both passes have the same inputs"
"$python" -B -c 'import array; d = open("in-turn/layer-0/guided-ring.npy", "rb").read(); a = array.array("f", d[10 + d[8] + 256 * d[9]:]); n = len(a) // 2; assert any(a) and a[:n] == a[n:]' || fail "channels beyond hidden ones do not begin anew"

# Whole layers and temporal attention, in bf16, in two steps.
for more in run.scope=layer model.preset=st-mini; do
  expect_exit 0 run "${small[@]}" --set "$more" --set model.cfg=2 --set cluster.ranks=4 --set cluster.guidance=2 --set run.denoise_steps=2 -s all --json
  expect_json "any(x['legal'] for x in s.values())" "all(x['verify'] == 'passed' for x in s.values() if x['legal'])"
done
# One pass runs where nothing asks for more, and nothing is combined then.
expect_exit 0 run "${job[@]}" --set cluster.ranks=2 --dump one
[ ! -e one/layer-0/q-pass-1.npy ] || fail "a pass ran that nobody asked for"
[ ! -e one/layer-0/guided-ring.npy ] || fail "one pass was combined"
