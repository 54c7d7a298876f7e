#!/usr/bin/env bash
# A scratch folder that is full: the run stops by itself, says what is full, with bytes, and keeps what was committed. A result
# that cannot be printed is a failure, too, and never lost in silence.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

# A limit of the size of a file stands for a quota of the scratch folder: SQLite meets the same failure of write().
run_within() {
  local limit=$1 # KiB
  shift
  # shellcheck disable=SC2016  # for that shell
  expect_code 1 bash -c 'ulimit -f "$0" && exec "$@"' "$limit" \
    "$SPSCOPE" run -s ring "${small[@]}" --set cluster.ranks=3 --headless -o kept.db "$@"
  expect_err 'SPS-154' ' bytes' "$TMPDIR/spscope-kept-" 'File too large'
  expect_not_err 'SPS-200'
}
# The log of the events is the first that finds no room: what it holds becomes the output.
run_within 3000 --set run.repeats=100000 --set run.verify=off
expect_err 'kept.db'
expect_files kept.db
expect_no_scratch
expect_exit 0 doctor kept.db
expect_sql kept.db 1 'SELECT sum(sent) = sum(stored + dropped) AND sum(stored) > 0 FROM ledger'
# shellcheck disable=SC2016  # for that shell: recover meets such a limit, too, and leaves no part of a file
expect_code 1 bash -c 'ulimit -f 16 && exec "$@"' - "$SPSCOPE" recover kept.db -o again.db
expect_err 'SPS-154'
expect_files kept.db
rm kept.db
# The file that everything else goes to is: nothing can be made of it yet, and all stays where it is.
run_within 1500 --set run.layers=4 --set run.denoise_steps=10000
expect_err 'spscope recover' 'is kept in'
folder=$(echo "$TMPDIR"/spscope-kept-*)
for file in kept.db.collecting "$folder"/kept.{head.db,rank-0.db,rank-0.now}; do
  [ -e "$file" ] || fail "$file is not there"
done

# A reader that has gone is no fault: what it wanted to see it has seen.
code=0
{ sleep 0.3; "$SPSCOPE" run "${small[@]}" --set run.mode=simulate -s ring 2>"$err"; } | : || code=$?
[ "$code" -eq 0 ] || fail "a closed pipe ends with exit code $code"
expect_not_err 'SPS-'
[ -e /dev/full ] || skip "there is no /dev/full"
for arguments in 'list models' 'list models --json' 'plan' 'plan --ops' 'doctor' 'mask generate dense'; do
  code=0
  # shellcheck disable=SC2086  # words of a command line
  "$SPSCOPE" $arguments >/dev/full 2>"$err" || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code, not 1: $arguments"
  expect_err 'SPS-154' 'standard output'
done
