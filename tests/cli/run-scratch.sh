#!/usr/bin/env bash
# run.scratch is where an unkept run is written; a folder that cannot be used is named, and not needed when -o is given.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

mkdir mine
expect_exit 0 run -s ring "${small[@]}" --set run.scratch=mine
[ -z "$(ls mine)" ] || fail "scratch files are left"
expect_exit 2 run -s ring "${small[@]}" --set run.scratch=missing
expect_err 'SPS-158' 'missing' 'run.scratch'
expect_exit 0 run -s ring "${small[@]}" --set run.scratch=missing -o kept.db
