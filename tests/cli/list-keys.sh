#!/usr/bin/env bash
# list shows every key with its default and what it may be, parameters by the key that sets them.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 list keys
expect_out 'default 0.4, (0, 1]' 'default "execute", one of execute, project, simulate' 'mask.sparge.cdf' 'default 64, [1, 384] tokens'
expect_exit 0 list patterns
expect_out 'mask.sparge.cdf = 0.9'
expect_exit 0 list clusters
expect_out 'one node only'
expect_exit 0 list keys --json
expect_json 'any(r["name"] == "strategy.usp.ulysses" for r in d["keys"])'
