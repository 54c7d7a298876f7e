#!/usr/bin/env bash
# An output that cannot be written fails before anything runs, with the reason, and nothing half-written is left.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

lines file 'not a folder'
for path in missing/run.db file/run.db /proc/run.db; do
  expect_exit 2 run -s ring "${small[@]}" -o "$path"
  expect_err 'SPS-158'
  expect_not_err 'SPS-200'
  [ ! -s "$out" ] || fail "a result was printed"
done
expect_files file
expect_no_scratch
