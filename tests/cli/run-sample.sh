#!/usr/bin/env bash
# The photo sample runs on 4 ranks, every output is verified, and exactly the figures of the table are printed.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "$samples/photo.toml"
expect_out 'wan-mini, 1,584 tokens' '4 ranks of this machine' 'ulysses u4' 'ring r4' 'usp u2 r2' 'dbsp u2 r2' 'cyclic u2 r2'
[ "$(grep -c ' ok [0-9]' "$out")" -eq 5 ] || fail "five strategies are not verified"
expect_no_files
expect_no_scratch
