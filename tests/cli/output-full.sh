#!/usr/bin/env bash
# A result that cannot be printed, because the disk is full, is a failure and never lost in silence.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

# A reader that has gone is none: what it wanted to see it has seen.
code=0
{ sleep 0.3; "$SPSCOPE" run "${small[@]}" --set run.mode=simulate -s ring 2>"$err"; } | : || code=$?
[ "$code" -eq 0 ] || fail "a closed pipe ends with exit code $code"
! grep -q 'SPS-' "$err" || fail "a closed pipe is an error"

[ -e /dev/full ] || skip "there is no /dev/full"
for arguments in 'list models' 'list models --json' 'plan' 'plan --ops' 'doctor' 'mask generate dense'; do
  code=0
  # shellcheck disable=SC2086  # words of a command line
  "$SPSCOPE" $arguments >/dev/full 2>"$err" || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code, not 1: $arguments"
  expect_err 'SPS-154' 'standard output'
done
