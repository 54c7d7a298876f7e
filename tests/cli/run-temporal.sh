#!/usr/bin/env bash
# A model whose attention alternates between space and time runs verified under every strategy.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run --set model.preset=st-mini --set run.repeats=1 --set model.grid=6,4,5 -s ulysses -s ring \
  -s usp:ulysses=2,ring=2 --json
expect_json 'd["workload"]["model"] == "st-mini"' 'len(s) == 3' \
  'all(x["legal"] and x["verify"] == "passed" for x in s.values())'
