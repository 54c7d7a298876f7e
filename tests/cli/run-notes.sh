#!/usr/bin/env bash
# A run says on standard error, before it starts, that ranks crowd the cores; simulate and JSON lines say nothing.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

crowd=(--set "model.grid=4,16,64" --set model.heads=2 --set model.head_dim=8 --set run.repeats=1 --set run.warmup=0
  --set run.verify=off --set cluster.ranks=$(($(nproc) * 8 + 8)) -s ring)
[ "$(nproc)" -le 8 ] || skip "this machine has many cores"
expect_exit 0 run "${crowd[@]}"
expect_err "$(($(nproc) * 8 + 8)) ranks share $(nproc) core" 'run.mode = project'
expect_exit 0 run "${crowd[@]}" --set run.mode=simulate
expect_not_err 'ranks share'
expect_exit 0 run "${crowd[@]}" --progress=json
expect_not_err 'ranks share'
