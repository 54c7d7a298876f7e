#!/usr/bin/env bash
# A mapped file that somebody cuts short ends a run with an error, and what was committed can be recovered; a SIGBUS that is
# sent ends it as it does any program.
. "$(dirname -- "$0")/common.inc"

start() {
  rm -rf -- "${TMPDIR:?}"/* kept.db.collecting
  "$SPSCOPE" run -s ring "${small[@]}" --set run.denoise_steps=10000 --headless -o kept.db >"$out" 2>"$err" &
  pid=$!
  wait_for_done 20 "$err"
}
finish() {
  code=0
  wait "$pid" || code=$?
  [ "$code" -eq "$1" ] || fail "exit code $code, not $1"
}

start
truncate -s 0 -- "$TMPDIR"/spscope-kept-*/*.now
finish 1
expect_err 'SPS-154' 'mapped into memory' 'spscope recover OUT -o FILE.db'
expect_exit 0 recover kept.db -o FILE.db

start
kill -BUS "$pid"
finish $((128 + 7))
expect_not_err 'SPS-'
