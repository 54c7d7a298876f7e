#!/usr/bin/env bash
# The photo sample runs on 4 ranks and is verified, its sample of a cluster is projected and simulated.
. "$(dirname -- "$0")/common.inc"

part sample
# The photo sample runs on 4 ranks, every output is verified, and exactly the figures of the table are printed.
expect_exit 0 run "$samples/photo.toml"
expect_out 'wan-mini, 1,584 tokens' '4 ranks of this machine' 'ulysses u4' 'ring r4' 'usp u2 r2' 'dbsp u2 r2' 'cyclic u2 r2'
[ "$(grep -c ' ok [0-9]' "$out")" -eq 5 ] || fail "five strategies are not verified"
expect_no_files
expect_no_scratch

part json
# The JSON of a run says of every strategy what was executed, counted and verified.
expect_exit 0 run "$samples/photo.toml" --json
expect_json \
  'd["schema_version"] == 1 and d["workload"]["tokens"] == 1584 and d["workload"]["blocks"] == 50' \
  'list(s) == ["ulysses", "ring", "usp", "dbsp", "cyclic"]' \
  'all(x["legal"] and x["verify"] == "passed" and 0 < x["max_error"] < 5e-5 for x in s.values())' \
  'all(x["provenance"] == {"compute": "measured", "network": "measured"} for x in s.values())' \
  'all(x["repeats"] == 5 and x["makespan_ns"] >= x["attention_ns"] > 0 for x in s.values())' \
  'all(sum(x["bytes_sent"]) == sum(x["bytes_received"]) for x in s.values())' \
  'all(sum(x["bytes_sent"]) == sum(x["bytes_by_tensor"].values()) for x in s.values())' \
  's["usp"]["resolved"]["groups"] == {"ulysses": [[0, 1], [2, 3]], "ring": [[0, 2], [1, 3]]}'

part project
# project measures compute, schedules the network of the cluster, says so, and gives speed-ups over Ulysses.
expect_exit 0 run "$samples/photo-project.toml" --json --set run.repeats=1
expect_json 'list(s) == ["ulysses", "ring", "usp", "usp-2", "dbsp", "dbsp-2", "cyclic", "cyclic-2"]' \
  'all(x["provenance"] == {"compute": "measured", "network": "modelled"} for x in s.values())' \
  'all(x["timing"] == "clean" and x["verify"] == "skipped" and len(x["bytes_sent"]) == 8 for x in s.values())' \
  's["ulysses"]["speedup"] == 1' \
  'all(abs(x["speedup"] - s["ulysses"]["makespan_ns"] / x["makespan_ns"]) < 1e-9 for x in s.values())' \
  'all(x["bound_ns"] is None for x in s.values())'  # nothing is proven of measured compute
# Compute of this machine beside the network of eight A800: said before any number, and no winner is named for them.
expect_json 'all(x["compute_scale"] > 2 for x in s.values())'
expect_exit 0 run "$samples/photo-project.toml" --set run.repeats=1 -o project.db
expect_out '8 x a800' 'compute measured' 'network scheduled' 'vs ulysses' 'compute was timed on this CPU, about' 'communication looks too cheap'
expect_not_out 'network modelled, '
expect_exit 0 compare project.db
expect_out 'compute was timed on this CPU, about'
expect_not_out 'network modelled, '

part simulate
# simulate depends on nothing but the config: two runs say the same, but for the time that planning took.
for name in first second; do
  expect_exit 0 run "$samples/photo-project.toml" --set run.mode=simulate --json
  grep -v '"planning_ns"' "$out" >$name
done
cmp first second || fail "two simulations differ: $(diff first second | head -5)"
expect_json 'all(x["compute_scale"] is None and x["disturbed"] is None for x in s.values())' \
  'all(x["provenance"] == {"compute": "modelled", "network": "modelled"} for x in s.values())' \
  'all(0 < x["bound_ns"] <= x["makespan_ns"] for x in s.values())'

# Processes are asked for where no rank is started.
expect_exit 0 run "$samples/photo-project.toml" --set run.mode=simulate --launcher mpi
expect_err '--launcher mpi' 'run.mode = simulate'
expect_exit 0 run "$samples/photo-project.toml" --set run.mode=simulate
expect_not_err '--launcher'

# A time end to end says when it is of attention alone.
mini=(run --set run.mode=simulate --set cluster.preset=h100x8 --set cluster.ranks=4 -s ring)
expect_exit 0 "${mini[@]}"
expect_out 'end to end' 'End to end counts attention only; run.scope = "layer" adds the rest.'
expect_exit 0 "${mini[@]}" --set run.scope=layer
expect_out 'end to end'
expect_not_out 'of attention alone'
