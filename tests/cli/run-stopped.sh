#!/usr/bin/env bash
# SIGINT and SIGTERM end a run soon with exit code 1: no output, no half-written file, no scratch folder, no process.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

stop_with() {
  local signal=$1 begin pid
  shift
  "$SPSCOPE" run -s ring --set model.grid=6,20,30 --set run.verify=off --set run.repeats=2000 --progress=json "$@" \
    >"$out" 2>"$err" &
  pid=$!
  wait_for grep -q '"phase":"run"' "$err"
  kill "-$signal" "$pid"
  begin=$SECONDS code=0
  wait "$pid" || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code after SIG$signal, not 1"
  [ $((SECONDS - begin)) -lt 30 ] || fail "SIG$signal took effect after $((SECONDS - begin)) s"
  expect_err 'SPS-123'
  [ ! -s "$out" ] || fail "a result was printed"
  [ ! -e "/proc/$pid" ] || fail "the process is still there"
  expect_no_files
  expect_no_scratch
}
stop_with INT -o kept.db
stop_with TERM -o kept.db
stop_with INT
