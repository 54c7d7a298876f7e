#!/usr/bin/env bash
# Ranks that share cores get no speed-up, neither as a number nor in the table, and the reader is told why.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

ranks=$(($(nproc) + 1))
expect_exit 0 run -s ring -s single "${small[@]}" --set cluster.ranks=$ranks
expect_out 'oversubscribed'
expect_not_out 'vs ring'
expect_not_out 'fastest'
expect_exit 0 run -s ring "${small[@]}" --set cluster.ranks=$ranks --json
expect_json 'all(x["timing"] == "oversubscribed" and x["speedup"] is None for x in s.values())'
