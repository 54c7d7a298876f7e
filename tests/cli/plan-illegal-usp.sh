#!/usr/bin/env bash
# Degrees of usp whose product is not the number of ranks are refused with both numbers; one degree alone is completed.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 plan "${small[@]}" --set model.heads=8 --set cluster.ranks=8 -s usp:ulysses=3,ring=3 -s usp:ulysses=4 \
  -s usp:ring=8 -s usp:ulysses=3 --json
expect_json 's["usp"]["legal"] is False' \
  's["usp"]["reason"] == "ulysses 3 x ring 3 makes 9 ranks, the cluster has 8"' \
  's["usp-2"]["resolved"]["ring"] == 2 and s["usp-3"]["resolved"]["ulysses"] == 1' \
  's["usp-4"]["legal"] is False and "3" in s["usp-4"]["reason"] and "8" in s["usp-4"]["reason"]'
expect_exit 0 plan "${small[@]}" --set model.heads=8 --set cluster.ranks=8 -s usp:ulysses=3,ring=3
expect_out 'usp:ulysses=8,ring=1 or usp:ulysses=4,ring=2 or usp:ulysses=2,ring=4 or usp:ulysses=1,ring=8'
