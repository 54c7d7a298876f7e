#!/usr/bin/env bash
# A scratch folder that is full: the run stops by itself, says what is full, with bytes, and keeps what was committed.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

# A limit of the size of a file stands for a quota: SQLite meets the same failure of write().
run_within() {
  local limit=$1 # KiB
  shift
  code=0
  (
    ulimit -f "$limit"
    exec "$SPSCOPE" run -s ring "${small[@]}" --set cluster.ranks=3 --headless -o kept.db "$@"
  ) >"$out" 2>"$err" || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code, not 1"
  expect_err 'SPS-154' ' bytes' "$TMPDIR/spscope-kept-"
  expect_not_err 'SPS-200'
}

# The log of the events is the first that finds no room: what it holds becomes the output.
run_within 3000 --set run.repeats=100000 --set run.verify=off
expect_err 'kept.db'
expect_files kept.db
expect_no_scratch
expect_exit 0 doctor kept.db
expect_exit 0 sql kept.db "SELECT sum(sent) = sum(stored + dropped) AND sum(stored) > 0 AS balanced FROM ledger" --csv
[ "$(tail -n 1 "$out" | tr -d '\r')" = 1 ] || fail "the ledger does not balance"
rm kept.db

# The file that everything else goes to is: nothing can be made of it yet, and all stays where it is.
run_within 1500 --set run.layers=4 --set run.denoise_steps=10000
expect_err 'spscope recover' 'is kept in'
folder=$(echo "$TMPDIR"/spscope-kept-*)
for file in kept.db.collecting "$folder/kept.head.db" "$folder/kept.rank-0.db" "$folder/kept.rank-0.now"; do
  [ -e "$file" ] || fail "$file is not there"
done
