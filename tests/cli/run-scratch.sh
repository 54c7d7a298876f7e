#!/usr/bin/env bash
# run.scratch is where a run lies while it runs; it is empty afterwards, and a folder that will not do is named.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

mkdir mine
for output in '' '-o kept.db'; do
  # shellcheck disable=SC2086  # a flag and its value, or nothing
  expect_exit 0 run -s ring "${small[@]}" --set run.scratch=mine $output
  [ -z "$(ls mine)" ] || fail "scratch files are left"
  expect_no_scratch
done
expect_files kept.db mine
: >file
for place in missing file; do
  for output in '' '-o other.db'; do
    # shellcheck disable=SC2086
    expect_exit 2 run -s ring "${small[@]}" --set run.scratch=$place $output
    expect_err 'SPS-158' "$place" 'run.scratch (attach: --scratch)'
  done
done
expect_files file kept.db mine
