#!/usr/bin/env bash
# Whatever ends a run early, what was recorded until then is kept, and the error says where: here a folder of --dump that
# can no longer be written. Where nothing was recorded, or nothing is to be kept, nothing is left.
. "$(dirname -- "$0")/common.inc"
mkdir dump

# failing_run BYTES ARGUMENT...: EACCES once so many bytes of the dump are written.
failing_run() {
  rm -rf -- dump/* kept.db
  export INJECT_ERRNO=13 INJECT_PATH=/dump/ INJECT_AFTER=$1
  shift
  code=0
  LD_PRELOAD=$INJECT "$SPSCOPE" run -s ring "${small[@]}" --set run.layers=3 --dump dump "$@" >"$out" 2>"$err" || code=$?
  unset INJECT_ERRNO INJECT_PATH INJECT_AFTER
  [ "$code" -eq 1 ] || [ "$code" -eq 2 ] || fail "exit code $code"
  expect_err 'Permission denied' '"dump/layer-'
  expect_no_scratch
}

failing_run 60000 -o kept.db
[ -e dump/layer-1 ] || fail "the run failed before its first layer"
expect_err 'kept.db'
expect_exit 0 doctor kept.db
expect_exit 0 sql kept.db "SELECT count(*) > 0 AND sum(stored) = (SELECT count(*) FROM event) FROM ledger" --csv
expect_out '1'
expect_exit 0 sql kept.db "SELECT message FROM incident"
expect_out 'Permission denied'

failing_run 0 -o kept.db
[ ! -e kept.db ] || fail "a file without events was left"
failing_run 60000
[ ! -e kept.db ] || fail "a file was left that nobody asked for"
