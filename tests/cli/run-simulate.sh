#!/usr/bin/env bash
# simulate depends on nothing but the config: two runs say the same, but for the time that planning took.
. "$(dirname -- "$0")/common.inc"

simulate() {
  expect_exit 0 run "$samples/photo-project.toml" --set run.mode=simulate --json
  grep -v '"planning_ns"' "$out" >"$1"
}
simulate first
simulate second
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
expect_out 'end to end' 'End to end is of attention alone; run.scope = "layer" has the rest of the layers.'
expect_exit 0 "${mini[@]}" --set run.scope=layer
expect_out 'end to end'
expect_not_out 'of attention alone'
