#!/usr/bin/env bash
# calibrate writes a profile that a projection uses, and does not replace one without --force or another file at all.
# cost: 6
. "$(dirname -- "$0")/common.inc"

expect_exit 0 calibrate --seconds 1 -o mine.toml --json
expect_json 'd["numbers"]["cost.attend_ns_per_pair_channel"]["value"] > 0' 'd["fma_gflop_per_s"] > 0'
expect_files mine.toml
expect_exit 0 run "${small[@]}" --set run.mode=project --set cluster.profile=mine.toml --set cluster.ranks=2 -s ring -s ulysses --json
expect_json 'all(x["makespan_ns"] > 0 for x in s.values())'
cp mine.toml before
expect_exit 2 calibrate --seconds 1 -o mine.toml
expect_err 'SPS-153' '--force'
cmp mine.toml before || fail "the profile was replaced"
lines notes.txt 'mine'
expect_exit 2 calibrate --seconds 1 -o notes.txt --force
[ "$(cat notes.txt)" = mine ] || fail "another file was replaced"
expect_exit 2 calibrate --seconds 1 -o missing/mine.toml
expect_err 'SPS-158'
expect_refused '--seconds' -- calibrate --seconds nan
