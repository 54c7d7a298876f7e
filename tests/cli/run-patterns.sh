#!/usr/bin/env bash
# Every pattern runs verified under every strategy, in both types.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 list patterns --json
expect_json 'len(d["patterns"]) >= 4'
patterns=$(python3 -B -c 'import json, sys; print(*(p["name"] for p in json.load(open(sys.argv[1]))["patterns"]))' "$out")
for pattern in $patterns; do
  for dtype in bf16 fp32; do
    expect_exit 0 run "${small[@]}" --set mask.pattern="$pattern" --set run.dtype=$dtype \
      -s ulysses -s ring -s usp --set cluster.ranks=3 --json
    expect_json 'len(s) == 3' 'all(x["legal"] and x["verify"] == "passed" for x in s.values())'
  done
done
