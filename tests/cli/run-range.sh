#!/usr/bin/env bash
# Numbers of a network that differ from host to host make times a range; others do not.
. "$(dirname -- "$0")/common.inc"

simulate=(run --set "model.grid=8,30,40" --set model.heads=8 --set model.head_dim=64 --set mask.block=16 --set run.mode=simulate -s ring -s ulysses)
expect_exit 0 "${simulate[@]}" --set cluster.preset=l20x8 --set cluster.ranks=8 --json
expect_json 'all(x["makespan_low_ns"] < x["makespan_ns"] < x["makespan_high_ns"] for x in s.values())'
expect_exit 0 "${simulate[@]}" --set cluster.preset=l20x8 --set cluster.ranks=8
expect_out 'range' 'differ from host to host'
expect_exit 0 "${simulate[@]}" --set cluster.preset=a100x8 --set cluster.ranks=8 --json
expect_json 'all(x["makespan_low_ns"] is None and x["makespan_high_ns"] is None for x in s.values())'

# All-to-alls of two GPUs share no bridge with others; hops of a ring may.
expect_exit 0 "${simulate[@]}" --set cluster.preset=l20x8 --set cluster.ranks=2 --json
expect_json 's["ulysses"]["makespan_low_ns"] is None' 's["ring"]["makespan_low_ns"] < s["ring"]["makespan_high_ns"]'

# A stored run keeps the range.
expect_exit 0 "${simulate[@]}" --set cluster.preset=4090x8 --set cluster.ranks=8 -o range.db
expect_sql range.db 8 "SELECT count(*) FROM run WHERE makespan_low_ns < makespan_high_ns"

# A file of one's own may say what its host has.
expect_exit 0 list clusters --toml l20x8
sed 's/^of_8_gbps = .*/of_8_gbps = { value = 20.0, low = 30.0, high = 40.0, source = "here" }/' "$out" >mine.toml
expect_refused 'network.all_to_all.of_8_gbps' '20 is outside its own range of 30 to 40' -- plan --set cluster.profile=mine.toml
