#!/usr/bin/env bash
# -o keeps the run in one file and nothing else; without -o nothing is left behind.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run -s ring "${small[@]}"
expect_err 'nothing was kept'
expect_no_files
expect_exit 0 run -s ring "${small[@]}" -o kept.db
expect_not_err 'nothing was kept'
expect_files kept.db
expect_no_scratch
