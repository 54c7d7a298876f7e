#!/usr/bin/env bash
# A dump folder that cannot be made ends the run with exit code 2, and no output is kept.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

lines file 'not a folder'
for folder in file /proc/dump; do
  expect_exit 2 run "${small[@]}" -s ring --dump "$folder" -o kept.db
  expect_err 'SPS-158' '--dump'
done
expect_files file
