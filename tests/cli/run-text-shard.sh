#!/usr/bin/env bash
# Joint text tokens cut like any other tokens: every strategy runs verified.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run --set model.preset=cogvideox-5b "${small[@]}" --set model.heads=6 --set model.text_tokens=29 \
  --set run.text=shard -s ulysses -s ring -s usp --json
expect_json 'd["workload"]["tokens"] == 155' 'len(s) == 3' 'all(x["verify"] == "passed" for x in s.values())'
