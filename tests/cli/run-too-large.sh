#!/usr/bin/env bash
# What a machine cannot hold is refused before anything is made: ranks, their memory, and the events of a run.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

expect_nothing() {
  expect_no_files
  expect_no_scratch
}

for mode in execute project simulate; do
  expect_refused 'cluster.ranks' '1000000' '[0, 65536]' -- run --set cluster.ranks=1000000 --set run.mode=$mode -o kept.db
  expect_nothing
done

# 4,000 threads with a ring of events each. AddressSanitizer itself reserves more than any limit.
if ! grep -q __asan_init "$SPSCOPE"; then
  code=0
  (
    ulimit -d 3000000
    exec "$SPSCOPE" run -s ring "${small[@]}" --set cluster.ranks=4000 -o kept.db
  ) >"$out" 2>"$err" || code=$?
  [ "$code" -eq 2 ] || fail "exit code $code for too many ranks"
  expect_err 'SPS-127' '4000 ranks need at least 5242880000 bytes of memory' '3072000000' 'ulimit -d' 'run.mode'
  expect_nothing
fi

# More than a petabyte of events. Without -o they go to the scratch folder all the same.
for keep in '' '-o kept.db'; do
  # shellcheck disable=SC2086 # a flag and its value, or nothing
  expect_refused "$TMPDIR/spscope-" ' events needs at least ' ' bytes in ' ' are free' -- run -s ring "${small[@]}" --progress none \
    --set run.mode=execute --set run.repeats=100000 --set run.denoise_steps=10000 --set model.layers=10000 --set run.layers=10000 --set run.verify=off $keep
  expect_nothing
done
expect_err 'SPS-158' "$PWD/kept.db"
