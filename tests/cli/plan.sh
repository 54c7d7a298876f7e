#!/usr/bin/env bash
# plan as a table, a list of ops, a graph and JSON. Settings that cannot run are a
# result with the reason and a way on; where nothing can, the exit code is 2.
. "$(dirname -- "$0")/common.inc"

part default
# plan without a config says of each strategy what it would send and compute, runs nothing, and leaves no file.
expect_exit 0 plan
expect_out '  spscope run --set run.mode=simulate'
expect_out 'ulysses u4' 'ring r4' 'usp u2 r2' 'sent/rank' 'activations/rank'
expect_exit 0 plan --json
expect_json \
  'all(x["makespan_ns"] is None and x["verify"] == "skipped" and x["provenance"] is None for x in s.values())' \
  'all(len(x["bytes_sent"]) == len(x["memory_peak_bytes"]) == 4 for x in s.values() if x["legal"])' \
  'all(x["imbalance_ratio"] >= 1 and x["planning_ns"] > 0 for x in s.values() if x["legal"])' \
  'sum(x["legal"] for x in s.values()) >= 7 and all(x["pick"] for x in s.values())'
expect_no_files

part ops
# plan --ops prints each op of each plan on a line of its own, the same bytes every time, and dependencies lead back.
expect_exit 0 plan "$samples/photo.toml" --ops
cp "$out" first
expect_exit 0 plan "$samples/photo.toml" --ops
cmp "$out" first || fail "two plans of one config differ"
expect_out '# ulysses: ' '# ring: ' '# usp: ' 'attend step 0' 'exchange'
python3 -B "$scripts/check_plan_text.py" ops first || fail "not a list of ops"

# As JSON: the same ops, and the makespan that a simulated run reports.
expect_exit 0 run "$samples/photo.toml" --set run.mode=simulate --set run.repeats=1 -s ring --json
cp "$out" simulated
expect_exit 0 plan "$samples/photo.toml" -s ring --ops --json
expect_json 'd["plans"][0]["strategy"] == "ring"' 'd["cluster"]["node_of_rank"] == [0, 0, 0, 0]' \
  "len(d['plans'][0]['ops']) == $(sed -n '/^# ring: /s/^# ring: \([0-9]*\) ops.*/\1/p' first)" \
  "d['plans'][0]['makespan_ns'] == $(python3 -c 'import json; print(json.load(open("simulated"))["strategies"][0]["makespan_ns"])')"

part dot
# plan --dot is a graph: every edge is between nodes that are declared once, every rank has its cluster.
expect_exit 0 plan "${small[@]}" --set cluster.ranks=3 -s ring --dot
python3 -B "$scripts/check_plan_text.py" dot "$out" || fail "not a graph"
[ "$(grep -c 'subgraph cluster_' "$out")" -eq 3 ] || fail "not three ranks"

part illegal-ulysses
# Ulysses on 16 ranks of 12 heads is a result, not a failure: exit 0, legal false, the exact reason, and how to go on.
expect_exit 0 plan --set model.preset=wan2.1-t2v-1.3b --set cluster.ranks=16 -s ulysses -s ring --json
expect_json 's["ulysses"]["legal"] is False' \
  's["ulysses"]["reason"] == "ulysses degree 16 exceeds the 12 heads"' \
  's["ulysses"]["problems"][0]["id"] == "SPS-100" and "at most 12" in s["ulysses"]["problems"][0]["hint"]' \
  's["ulysses"]["bytes_sent"] is None and s["ulysses"]["tiles"] is None' \
  's["ring"]["legal"] and s["ring"]["reason"] is None'

part illegal-usp
# Degrees of usp whose product is not the number of ranks are refused with both numbers; one degree alone is completed.
expect_exit 0 plan "${small[@]}" --set model.heads=8 --set cluster.ranks=8 -s usp:ulysses=3,ring=3 -s usp:ulysses=4 \
  -s usp:ring=8 -s usp:ulysses=3 --json
expect_json 's["usp"]["legal"] is False' \
  's["usp"]["reason"] == "ulysses 3 x ring 3 makes 9 ranks, the cluster has 8"' \
  's["usp-2"]["resolved"]["ring"] == 2 and s["usp-3"]["resolved"]["ulysses"] == 1' \
  's["usp-4"]["legal"] is False and "3" in s["usp-4"]["reason"] and "8" in s["usp-4"]["reason"]'
expect_exit 0 plan "${small[@]}" --set model.heads=8 --set cluster.ranks=8 -s usp:ulysses=3,ring=3
expect_out 'usp:ulysses=8,ring=1 or usp:ulysses=4,ring=2 or usp:ulysses=2,ring=4 or usp:ulysses=1,ring=8'

part uneven-heads
# Ulysses is legal for every degree up to the number of heads, also where it does not divide them.
expect_exit 0 plan "${small[@]}" --set model.heads=12 --set cluster.ranks=8 -s ulysses
expect_out 'ulysses u8 gives 4 ranks 2 of the 12 heads and 4 ranks 1'
for ranks in 1 5 12; do
  expect_exit 0 plan "${small[@]}" --set model.heads=12 --set cluster.ranks=$ranks -s ulysses --json
  expect_json 's["ulysses"]["legal"]' "len(s['ulysses']['bytes_sent']) == $ranks"
done

part nothing-legal
# When no strategy can run the workload the exit code is 2 and each reason is printed.
expect_exit 2 run "${small[@]}" -s ulysses -s usp:ulysses=4,ring=2 --set cluster.ranks=16
expect_out 'ulysses degree 16 exceeds the 3 heads' 'ulysses 4 x ring 2 makes 8 ranks, the cluster has 16'
