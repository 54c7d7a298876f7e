#!/usr/bin/env bash
# Every model preset is planned at full size on eight ranks of a cluster preset, or refused with a reason.
# labels: extended
. "$(dirname -- "$0")/common.inc"

names() { python3 -B -c 'import json, sys; print(*(r["name"] for r in json.load(open(sys.argv[1]))[sys.argv[2]]))' "$out" "$1"; }
expect_exit 0 list models --json
for model in $(names 'models'); do
  expect_exit 0 plan --set model.preset="$model" --set cluster.preset=h100x8 --set mask.block=256 -s ulysses \
    -s ring --json
  expect_json 'all(x["legal"] or x["reason"] for x in s.values())' 's["ring"]["legal"] and sum(s["ring"]["bytes_sent"]) > 0'
done
expect_exit 0 list clusters --json
for cluster in $(names 'clusters'); do
  expect_exit 0 plan "${small[@]}" --set cluster.preset="$cluster" --set cluster.ranks=4 -s ring --json
  expect_json 's["ring"]["legal"]'
done
