#!/usr/bin/env bash
# Text that every rank keeps whole runs verified under ulysses, and a ring refuses it with the reason.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run --set model.preset=cogvideox-5b "${small[@]}" --set model.heads=6 --set model.text_tokens=29 \
  --set run.text=replicate -s ulysses -s ring -s usp:ulysses=2,ring=2 --json
expect_json 's["ulysses"]["verify"] == "passed"' 's["ulysses"]["bytes_by_tensor"]["text"] > 0' \
  'not s["ring"]["legal"] and "a ring of 4 cannot keep its 29 text tokens replicated" in s["ring"]["reason"]' \
  'not s["usp"]["legal"] and s["usp"]["makespan_ns"] is None' \
  's["ring"]["problems"][0]["id"] == "SPS-100" and "shard" in s["ring"]["problems"][0]["hint"]'
