#!/usr/bin/env bash
# plan without a config says of each strategy what it would send and compute, runs nothing, and leaves no file.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 plan
expect_out '  spscope run --set run.mode=simulate'
expect_out 'ulysses u4' 'ring r4' 'usp u2 r2' 'sent/rank' 'memory/rank'
expect_exit 0 plan --json
expect_json \
  'all(x["makespan_ns"] is None and x["verify"] == "skipped" and x["provenance"] is None for x in s.values())' \
  'all(len(x["bytes_sent"]) == len(x["memory_peak_bytes"]) == 4 for x in s.values() if x["legal"])' \
  'all(x["imbalance_ratio"] >= 1 and x["planning_ns"] > 0 for x in s.values() if x["legal"])' \
  'sum(x["legal"] for x in s.values()) >= 7 and all(x["pick"] for x in s.values())'
expect_no_files
