#!/usr/bin/env bash
# What a run says before it starts, and what it is refused for, when ranks crowd the cores or it would take minutes.
. "$(dirname -- "$0")/common.inc"

part notes
# A run says on standard error, before it starts, that ranks crowd the cores; simulate and JSON lines say nothing.
crowd=(--set "model.grid=4,16,64" --set model.heads=2 --set model.head_dim=8 --set run.repeats=1 --set run.warmup=0
  --set run.verify=off --set cluster.ranks=$(($(nproc) * 8 + 8)) -s ring)
[ "$(nproc)" -le 8 ] || skip "this machine has many cores"
expect_exit 0 run "${crowd[@]}"
expect_err "$(($(nproc) * 8 + 8)) ranks share $(nproc) core" 'run.mode = project'
expect_exit 0 run "${crowd[@]}" --set run.mode=simulate
expect_not_err 'ranks share'
expect_exit 0 run "${crowd[@]}" --progress=json
expect_not_err 'ranks share'

part oversubscribed
# Ranks that share cores get no speed-up, neither as a number nor in the table, and the reader is told why.
ranks=$(($(nproc) + 1))
expect_exit 0 run -s ring -s single "${small[@]}" --set cluster.ranks=$ranks
expect_out 'oversubscribed'
expect_not_out 'vs ring'
expect_not_out 'fastest'
expect_exit 0 run -s ring "${small[@]}" --set cluster.ranks=$ranks --json
expect_json 'all(x["timing"] == "oversubscribed" and x["speedup"] is None for x in s.values())'

part long-compute
# A run of over two minutes that does not say run.mode is refused before anything is made, with both ways on.
wan=(--set model.preset=wan2.1-t2v-14b -s "usp:ulysses=2,ring=2")
expect_refused 'SPS-128' 'TFLOP' 'run.mode=simulate' 'run.mode=execute' -- run "${wan[@]}" -o kept.db
expect_no_files
expect_no_scratch
# Given in a flag or in the config, the mode is taken.
expect_exit 0 run "${wan[@]}" --set run.mode=simulate --set run.layers=1 --set cluster.preset=h100x8 -s ring
printf '[run]\nmode = "simulate"\n' >said.toml
expect_exit 0 run said.toml "${wan[@]}" --set run.layers=1
