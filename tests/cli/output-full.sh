#!/usr/bin/env bash
# A result that cannot be printed, because the disk is full, is a failure and never lost in silence.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

[ -e /dev/full ] || skip "there is no /dev/full"
for arguments in 'list models' 'list models --json' 'plan' 'plan --ops' 'doctor' 'mask generate dense'; do
  code=0
  # shellcheck disable=SC2086  # words of a command line
  "$SPSCOPE" $arguments >/dev/full 2>"$err" || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code, not 1: $arguments"
  expect_err 'SPS-154' 'standard output'
done
