#!/usr/bin/env bash
# project measures compute, schedules the network of the cluster, says so, and gives speed-ups over the first strategy.
. "$(dirname -- "$0")/common.inc"

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
expect_out "compute is this CPU's, about" 'communication counts for too little'
expect_not_out 'network modelled, '
expect_exit 0 compare project.db
expect_out "compute is this CPU's, about"
expect_not_out 'network modelled, '
expect_exit 0 run "$samples/photo-project.toml" --set run.repeats=1
expect_out '8 x a800' 'compute measured' 'network scheduled' 'vs ulysses'
