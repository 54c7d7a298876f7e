#!/usr/bin/env bash
# A quota that is used up while OUT is merged: the run fails, names OUT, leaves no part of it, and keeps what was
# collected, of which recover makes the file once there is room.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

for errno in 122 28; do # EDQUOT, ENOSPC
  rm -rf -- kept.db kept.db.collecting "$TMPDIR"/spscope-*
  export INJECT_ERRNO=$errno INJECT_PATH=kept.db.tmp INJECT_AFTER=40000
  code=0
  LD_PRELOAD=$INJECT "$SPSCOPE" run -s ring "${small[@]}" --set run.layers=3 --headless -o kept.db >"$out" 2>"$err" || code=$?
  unset INJECT_ERRNO INJECT_PATH INJECT_AFTER
  [ "$code" -eq 1 ] || fail "exit code $code, not 1"
  expect_err 'SPS-154' 'kept.db' 'spscope recover'
  if [ -e kept.db ] || [ -e kept.db.tmp ]; then fail "a part of the file was left"; fi
  expect_exit 0 recover kept.db -o again.db
  expect_exit 0 sql again.db "SELECT CASE WHEN sum(sent) = sum(stored) AND sum(stored) > 0 THEN 'all of them' END FROM ledger"
  expect_out 'all of them'
  expect_exit 0 sql again.db "SELECT 'runs ' || count(*) FROM run WHERE finished"
  expect_out 'runs 3'
  rm again.db
done
