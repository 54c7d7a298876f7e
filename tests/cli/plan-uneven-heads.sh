#!/usr/bin/env bash
# Ulysses is legal for every degree up to the number of heads, also where it does not divide them.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 plan "${small[@]}" --set model.heads=12 --set cluster.ranks=8 -s ulysses
expect_out 'ulysses u8: 12 heads on 8 ranks: 4 ranks hold 2 and 4 hold 1'
for ranks in 1 2 5 7 11 12; do
  expect_exit 0 plan "${small[@]}" --set model.heads=12 --set cluster.ranks=$ranks -s ulysses --json
  expect_json 's["ulysses"]["legal"]' "len(s['ulysses']['bytes_sent']) == $ranks"
done
