#!/usr/bin/env bash
# Ulysses on 16 ranks of 12 heads is a result, not a failure: exit 0, legal false, the exact reason, and how to go on.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 plan --set model.preset=wan2.1-t2v-1.3b --set cluster.ranks=16 -s ulysses -s ring --json
expect_json 's["ulysses"]["legal"] is False' \
  's["ulysses"]["reason"] == "ulysses degree 16 exceeds the 12 heads"' \
  's["ulysses"]["problems"][0]["id"] == "SPS-100" and "at most 12" in s["ulysses"]["problems"][0]["hint"]' \
  's["ulysses"]["bytes_sent"] is None and s["ulysses"]["tiles"] is None' \
  's["ring"]["legal"] and s["ring"]["reason"] is None'
