#!/usr/bin/env bash
# Settings that cannot run are a result with the reason and a way on; where nothing can, the exit code is 2.
. "$(dirname -- "$0")/common.inc"

part illegal-ulysses
# Ulysses on 16 ranks of 12 heads is a result, not a failure: exit 0, legal false, the exact reason, and how to go on.
expect_exit 0 plan --set model.preset=wan2.1-t2v-1.3b --set cluster.ranks=16 -s ulysses -s ring --json
expect_json 's["ulysses"]["legal"] is False' \
  's["ulysses"]["reason"] == "ulysses degree 16 exceeds the 12 heads"' \
  's["ulysses"]["problems"][0]["id"] == "SPS-100" and "at most 12" in s["ulysses"]["problems"][0]["hint"]' \
  's["ulysses"]["bytes_sent"] is None and s["ulysses"]["tiles"] is None' \
  's["ring"]["legal"] and s["ring"]["reason"] is None'

part illegal-usp
# Degrees of usp whose product is not the number of ranks are refused with both numbers; one degree alone is completed.
expect_exit 0 plan "${small[@]}" --set model.heads=8 --set cluster.ranks=8 -s usp:ulysses=3,ring=3 -s usp:ulysses=4 \
  -s usp:ring=8 -s usp:ulysses=3 --json
expect_json 's["usp"]["legal"] is False' \
  's["usp"]["reason"] == "ulysses 3 x ring 3 makes 9 ranks, the cluster has 8"' \
  's["usp-2"]["resolved"]["ring"] == 2 and s["usp-3"]["resolved"]["ulysses"] == 1' \
  's["usp-4"]["legal"] is False and "3" in s["usp-4"]["reason"] and "8" in s["usp-4"]["reason"]'
expect_exit 0 plan "${small[@]}" --set model.heads=8 --set cluster.ranks=8 -s usp:ulysses=3,ring=3
expect_out 'usp:ulysses=8,ring=1 or usp:ulysses=4,ring=2 or usp:ulysses=2,ring=4 or usp:ulysses=1,ring=8'

part uneven-heads
# Ulysses is legal for every degree up to the number of heads, also where it does not divide them.
expect_exit 0 plan "${small[@]}" --set model.heads=12 --set cluster.ranks=8 -s ulysses
expect_out 'ulysses u8: 12 heads on 8 ranks: 4 ranks hold 2 and 4 hold 1'
for ranks in 1 2 5 7 11 12; do
  expect_exit 0 plan "${small[@]}" --set model.heads=12 --set cluster.ranks=$ranks -s ulysses --json
  expect_json 's["ulysses"]["legal"]' "len(s['ulysses']['bytes_sent']) == $ranks"
done

part nothing-legal
# When no strategy can run the workload the exit code is 2 and each reason is printed.
expect_exit 2 run "${small[@]}" -s ulysses -s usp:ulysses=4,ring=2 --set cluster.ranks=16
expect_out 'ulysses degree 16 exceeds the 3 heads' 'ulysses 4 x ring 2 makes 8 ranks, the cluster has 16'
