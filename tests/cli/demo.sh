#!/usr/bin/env bash
# The demo shows what it is for: a strategy that waits for one rank, whose heads have many more tiles, in a small file.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "$samples/demo.toml" -o demo.db --json
expect_json 'len(d["strategies"]) == 5' 'all(x["legal"] for x in d["strategies"])' \
  '[len(x["by_layer"]) for x in d["strategies"]] == [6] * 5' \
  's["ulysses"]["why_slower"]["cause"] == "late_rank"' \
  's["ulysses"]["why_slower"]["late_rank"]["rank"] == 5' \
  's["ulysses"]["why_slower"]["late_rank"]["heads"] == "25-29"' \
  's["ulysses"]["why_slower"]["late_rank"]["more_tiles"] > 0.3' \
  'd["verdicts"][0]["winner"] == "cyclic"'
[ "$(stat -c %s demo.db)" -lt 2000000 ] || fail "the demo is larger than 2 MB"
