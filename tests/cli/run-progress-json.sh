#!/usr/bin/env bash
# --progress=json prints one object a line on standard error, and nothing else goes there.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 --progress=json --json
cp "$err" progress
while read -r line; do
  printf '%s\n' "$line" >"$out"
  expect_json 'set(d) == {"phase", "strategy", "repeat", "done", "total", "eta_s", "shards"}' \
    '0 <= d["done"] <= d["total"] == 2 and d["eta_s"] >= 0'
done <progress
expect_json 'd["phase"] == "done" and d["done"] == 2'
