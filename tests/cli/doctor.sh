#!/usr/bin/env bash
# doctor says what machine and build can do, and as JSON the same in a form that programs read.
. "$(dirname -- "$0")/common.inc"

expect_exit 0 doctor
expect_out 'cores' 'vector target' 'fp32 peak' '.safetensors files' "$TMPDIR"
expect_exit 0 doctor --json
expect_json 'all({"name", "value", "ok"} == set(f) for f in d["findings"])' \
  'any(f["name"] == "cores" and int(f["value"]) > 0 for f in d["findings"])'
export TMPDIR=/missing
expect_exit 0 doctor --json
expect_json 'all(f["ok"] == (f["name"] != "scratch files") for f in d["findings"])'
